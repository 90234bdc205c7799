"""The node agent: it registers a node once and then reports regularly that it is alive."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, NamedTuple

from .objects import stamp
from .patches import STRATEGIC
from .storage import TIMEOUT_S

Object = dict[str, Any]


class Facts(NamedTuple):
    """The properties of a node. Labels have the form NAME=VALUE, taints NAME=VALUE:EFFECT."""

    name: str
    address: str
    version: str
    machine: str = ""
    labels: Sequence[str] = ()
    taints: Sequence[str] = ()
    image: str = "sandbox server"


def node(facts: Facts) -> Object:
    """Return the Kubernetes object of a node, which is sent to register the node."""
    labels = dict(label.partition("=")[::2] for label in facts.labels)
    labels["kubernetes.io/hostname"] = facts.name
    spec = {"taints": [_taint(taint) for taint in facts.taints]} if facts.taints else {}
    return {
        "metadata": {"name": facts.name, "labels": labels},
        "spec": spec,
        "status": status(facts),
    }


def status(facts: Facts) -> Object:
    """Return the field `status` of a node's object: the node is ready and has just reported."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "the stand-in reports ready",
        "lastHeartbeatTime": stamp(),
    }
    addresses = [
        {"type": "InternalIP", "address": facts.address},
        {"type": "Hostname", "address": facts.name},
    ]
    return {
        "conditions": [ready],
        "addresses": addresses,
        "nodeInfo": {
            "kubeletVersion": facts.version,
            "machineID": facts.machine,
            "osImage": facts.image,
            "architecture": "amd64",
        },
        "capacity": {"cpu": str(os.cpu_count() or 1), "pods": "110"},
    }


def register(url: str, facts: Facts, context: ssl.SSLContext | None) -> None:
    """Register a node at the API: create its object. Raises OSError.

    If the object exists already, update its metadata and status; its taints stay.
    """
    desired = node(facts)
    try:
        _send(url, "POST", "/api/v1/nodes", desired, context)
    except urllib.error.HTTPError as problem:
        if problem.code != 409:
            raise
        present = {"metadata": desired["metadata"], "status": desired["status"]}
        _send(url, "PATCH", f"/api/v1/nodes/{facts.name}", present, context)


def report(url: str, facts: Facts, context: ssl.SSLContext | None) -> bool:
    """Report the status of a node; return False if its object has been deleted. Raises OSError."""
    body = {"status": status(facts)}
    try:
        _send(url, "PATCH", f"/api/v1/nodes/{facts.name}/status", body, context)
    except urllib.error.HTTPError as problem:
        if problem.code != 404:
            raise
        return False
    return True


def _taint(text: str) -> Object:
    key_text, _, effect = text.partition(":")
    name, _, value = key_text.partition("=")
    return {"key": name, "value": value, "effect": effect}


def _send(url: str, method: str, path: str, body: Object, context: ssl.SSLContext | None) -> None:
    headers = {"Content-Type": STRATEGIC}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:
        answer.read()
