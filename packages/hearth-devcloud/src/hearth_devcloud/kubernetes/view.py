"""The formats of responses: lists, tables for kubectl and API discovery; and selectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .objects import NAMESPACED, RESOURCES, ApiError, ready, seconds

COLUMNS = {
    "nodes": ("Name", "Status", "Roles", "Age", "Version"),
    "pods": ("Name", "Ready", "Status", "Restarts", "Age", "Node"),
    "namespaces": ("Name", "Status", "Age"),
    "daemonsets": ("Name", "Age"),
}
WIDE = ("Node",)  # the columns that `kubectl get -o wide` shows
SHORT = {"nodes": "no", "pods": "po", "namespaces": "ns", "daemonsets": "ds"}
FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.unschedulable",
    "status.phase",
)
ROLE = "node-role.kubernetes.io/"

Object = dict[str, Any]


def listed(resource: str, items: list[Object]) -> Object:
    """Return the objects of a resource as a Kubernetes list object, such as a PodList."""
    kind, version = RESOURCES[resource]
    return {
        "kind": f"{kind}List",
        "apiVersion": version,
        "metadata": {"resourceVersion": "1"},
        "items": items,
    }


def table(resource: str, items: list[Object]) -> Object:
    """Return the objects of a resource as a Kubernetes `Table` object, which kubectl prints."""
    columns = COLUMNS[resource]
    defined = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": name,
            "priority": int(name in WIDE),
        }
        for name in columns
    ]
    rows = [
        {
            "cells": [_cell(name, row) for name in columns],
            "object": {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": row["metadata"],
            },
        }
        for row in items
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "1"},
        "columnDefinitions": defined,
        "rows": rows,
    }


def _cell(column: str, document: Object) -> str:
    meta, spec, status = (
        document["metadata"],
        document.get("spec") or {},
        document.get("status") or {},
    )
    if column == "Name":
        return str(meta["name"])
    if column == "Age":
        return age(time.time() - seconds(meta["creationTimestamp"]))
    if column == "Version":
        return str((status.get("nodeInfo") or {}).get("kubeletVersion", ""))
    if column == "Node":
        return str(spec.get("nodeName") or "<none>")
    if column == "Roles":
        labels = meta.get("labels") or {}
        roles = sorted(name[len(ROLE) :] for name in labels if name.startswith(ROLE))
        return ",".join(roles) or "<none>"
    if column == "Status" and document["kind"] == "Node":
        text = "Ready" if ready(document) == "True" else "NotReady"
        return text + (",SchedulingDisabled" if spec.get("unschedulable") else "")
    runs = "1/1" if status.get("phase") == "Running" else "0/1"
    return {"Status": str(status.get("phase", "")), "Ready": runs, "Restarts": "0"}[column]


def age(past_s: float) -> str:
    """Return a duration in seconds as text in kubectl's short format, such as `5m`."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if past_s >= 2 * length:
            return f"{int(past_s // length)}{unit}"
    return f"{max(0, int(past_s))}s"


def by_labels(document: Object, selector: str) -> bool:
    """Return whether the labels of an object match a selector such as `a=b,c!=d,e,!f`."""
    labels = document["metadata"].get("labels") or {}
    for word in filter(None, selector.replace("==", "=").split(",")):
        name, equals, value = word.partition("=")
        if name.endswith("!"):
            fits = labels.get(name[:-1]) != value
        elif equals:
            fits = labels.get(name) == value
        else:
            fits = (name.lstrip("!") in labels) != name.startswith("!")
        if not fits:
            return False
    return True


def by_fields(selector: str) -> Callable[[Object], bool]:
    """Return a function that tests whether an object matches a field selector.

    An example is `spec.nodeName=n-1,status.phase!=Failed`. Raises ApiError for a field that is not
    in FIELDS.
    """
    conditions = []
    for word in filter(None, selector.replace("==", "=").split(",")):
        name, equals, value = word.partition("=")
        field = name.rstrip("!")
        if not equals or field not in FIELDS:
            raise ApiError(400, "BadRequest", f"field label not supported: {field}")
        conditions.append((field, value, name.endswith("!")))
    return lambda document: all(
        (_field(document, field) == value) != unlike for field, value, unlike in conditions
    )


def _field(document: Object, name: str) -> str:
    part, _, field = name.partition(".")
    field_value = (document.get(part) or {}).get(field)
    return str(bool(field_value)).lower() if field == "unschedulable" else str(field_value or "")


def discovery(path: str, version: str) -> Object | None:
    """Return the response body for a path of API discovery, or None for other paths.

    `version` is the Kubernetes version, such as `v1.31.0`.
    """
    major, _, minor = version.lstrip("v").partition(".")
    if path == "/version":
        return {
            "major": major,
            "minor": minor.partition(".")[0],
            "gitVersion": version,
            "platform": "linux/amd64",
        }
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        groups = [_group(name) for name in ("apps", "policy")]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if path == "/openapi/v3":  # without a schema, kubectl does not validate objects
        return {"paths": {}}
    if path in ("/apis/apps", "/apis/policy"):
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(path.rpartition("/")[2])}
    for prefix, group in (("/api/", "v1"), ("/apis/", "apps/v1"), ("/apis/", "policy/v1")):
        if path == prefix + group:
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": group,
                "resources": _resources(group),
            }
    return None


def _group(name: str) -> Object:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resources(group: str) -> list[Object]:
    resources: list[Object] = [
        {
            "name": name,
            "singularName": name[:-1],
            "namespaced": name in NAMESPACED,
            "kind": kind,
            "verbs": ["create", "delete", "get", "list", "patch", "update"],
            "shortNames": [SHORT[name]],
        }
        for name, (kind, version) in RESOURCES.items()
        if version == group
    ]
    if group == "policy/v1":  # kubectl drain needs the group, and takes an empty one as an error
        resources.append(
            {
                "name": "poddisruptionbudgets",
                "singularName": "poddisruptionbudget",
                "namespaced": True,
                "kind": "PodDisruptionBudget",
                "verbs": [],
            }
        )
    if group == "v1":
        resources.append(
            {
                "name": "pods/eviction",
                "singularName": "",
                "namespaced": True,
                "group": "policy",
                "version": "v1",
                "kind": "Eviction",
                "verbs": ["create"],
            }
        )
    return resources
