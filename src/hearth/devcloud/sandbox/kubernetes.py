#!/usr/bin/env python3
"""A stand-in for Kubernetes in sandbox servers: an API with nodes, pods and namespaces, and a node.

    hearth-kubernetes.py api --etcd URL [--port N] [--files FOLDER]
    hearth-kubernetes.py node --api URL --name NAME --address IP [--label NAME=VALUE …]

It is one file for the standard library and runs inside a server. The API keeps its objects in etcd.
With TLS, each call but those of PUBLIC needs a certificate of the cluster: the organisation
`system:masters` may do everything, `system:nodes` may write its own node, others may read. The node
reports that it is ready; the API shows it as not ready when it has been silent.
"""

from __future__ import annotations

import argparse
import base64
import datetime as dt
import json
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PUBLIC = ("/healthz", "/livez", "/readyz", "/version")
MASTERS, NODES = "system:masters", "system:nodes"
REPORT_S, SILENT_S = 5.0, 40.0
TIMEOUT_S = 10.0
BODY_MAX = 3 * 1024 * 1024  # bytes
ATTEMPTS = 20  # of a change that others overtake
RESOURCES = {"nodes": "Node", "pods": "Pod", "namespaces": "Namespace"}
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_PATH = re.compile(
    r"/api/v1(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<kind>nodes|pods|namespaces)"
    r"(?:/(?P<name>[^/]+)(?P<status>/status)?)?"
)

Object = dict[str, Any]


class Refused(Exception):
    """A call that is answered with an error."""

    def __init__(self, status: int, reason: str, words: str) -> None:
        super().__init__(words)
        self.status, self.reason = status, reason


# what is stored


class Etcd:
    """The objects in etcd, by its JSON gateway."""

    def __init__(self, url: str, context: ssl.SSLContext | None) -> None:
        self._url, self._context = url, context

    def call(self, path: str, body: Object) -> Object:
        """Return the answer to a call. Raises OSError."""
        asked = urllib.request.Request(self._url + path, json.dumps(body).encode())
        with urllib.request.urlopen(asked, timeout=TIMEOUT_S, context=self._context) as answer:
            found: Object = json.load(answer)
            return found

    def under(self, prefix: str) -> list[Object]:
        """Return the objects whose keys begin with a prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = self.call("/v3/kv/range", {"key": _b64(prefix), "range_end": _b64(end)})
        return [_object(one) for one in found.get("kvs", ())]

    def get(self, key: str) -> Object | None:
        """Return an object, or None."""
        found = self.call("/v3/kv/range", {"key": _b64(key)}).get("kvs")
        return _object(found[0]) if found else None

    def put(self, key: str, body: Object, revision: int) -> Object | None:
        """Store an object if its revision is still this one, 0 for none; None if it is not."""
        meta = {k: v for k, v in body["metadata"].items() if k != "resourceVersion"}
        value = json.dumps({**body, "metadata": meta})
        compared = {"key": _b64(key), "target": "MOD", "result": "EQUAL",
                    "mod_revision": str(revision)}  # fmt: skip
        put = {"request_put": {"key": _b64(key), "value": _b64(value)}}
        done = self.call("/v3/kv/txn", {"compare": [compared], "success": [put]})
        return self.get(key) if done.get("succeeded") else None

    def drop(self, key: str) -> None:
        """Delete an object."""
        self.call("/v3/kv/deleterange", {"key": _b64(key)})


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _object(row: Object) -> Object:
    body: Object = json.loads(base64.b64decode(row["value"]))
    body["metadata"]["resourceVersion"] = str(row["mod_revision"])
    return body


def merged(before: Any, change: Any) -> Any:
    """Return a value with a patch; lists of objects with a type are merged by the type."""
    if isinstance(before, dict) and isinstance(change, dict):
        found = dict(before)
        for name, value in change.items():
            if value is None:
                found.pop(name, None)
            else:
                found[name] = merged(found.get(name), value)
        return found
    if isinstance(before, list) and isinstance(change, list) and _typed(before + change):
        types = {one["type"]: one for one in before}
        types.update({one["type"]: merged(types.get(one["type"]), one) for one in change})
        return list(types.values())
    return change


def _typed(items: list[Any]) -> bool:
    return all(isinstance(one, dict) and "type" in one for one in items)


class Cluster:
    """The operations of the API on stored objects."""

    def __init__(self, etcd: Etcd) -> None:
        self.etcd = etcd

    def list(self, kind: str, namespace: str | None) -> list[Object]:
        """Return the objects of a kind, with the standing namespaces."""
        prefix = f"/registry/{kind}/" + (f"{namespace}/" if namespace else "")
        found = [shown(one) for one in self.etcd.under(prefix)]
        if kind == "namespaces":
            found += [_namespace(name) for name in NAMESPACES]
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))

    def get(self, kind: str, namespace: str | None, name: str) -> Object:
        """Return an object. Raises Refused."""
        if kind == "namespaces" and name in NAMESPACES:
            return _namespace(name)
        found = self.etcd.get(key(kind, namespace, name))
        if found is None:
            raise Refused(404, "NotFound", f'{kind} "{name}" not found')
        return shown(found)

    def create(self, kind: str, namespace: str | None, body: Object) -> Object:
        """Store a new object. Raises Refused."""
        meta = dict(body.get("metadata") or {})
        name = str(meta.get("name") or "")
        if not name:
            raise Refused(422, "Invalid", "metadata.name: a name is required")
        if namespace:
            meta["namespace"] = namespace
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=stamp())
        fresh = {**body, "kind": RESOURCES[kind], "apiVersion": "v1", "metadata": meta}
        made = self.etcd.put(key(kind, namespace, name), fresh, 0)
        if made is None:
            raise Refused(409, "AlreadyExists", f'{kind} "{name}" already exists')
        return made

    def change(
        self, kind: str, namespace: str | None, name: str, body: Object, *, whole: bool
    ) -> Object:
        """Store a changed object; with `whole` it replaces the old one. Raises Refused."""
        for _ in range(ATTEMPTS):
            before = self.etcd.get(key(kind, namespace, name))
            if before is None:
                raise Refused(404, "NotFound", f'{kind} "{name}" not found')
            after = body if whole else merged(before, body)
            after = {**after, "metadata": {**after.get("metadata", {}), "name": name}}
            kept = {k: before["metadata"][k] for k in ("uid", "creationTimestamp")}
            after["metadata"].update(kept)
            stored = self.etcd.put(
                key(kind, namespace, name), after, int(before["metadata"]["resourceVersion"])
            )
            if stored is not None:
                return shown(stored)
        raise Refused(409, "Conflict", f'{kind} "{name}" changes too often')

    def drop(self, kind: str, namespace: str | None, name: str) -> Object:
        """Delete an object. Raises Refused."""
        found = self.get(kind, namespace, name)
        self.etcd.drop(key(kind, namespace, name))
        return found


def key(kind: str, namespace: str | None, name: str) -> str:
    """Return the key of an object in etcd."""
    return f"/registry/{kind}/{namespace + '/' if namespace else ''}{name}"


def _namespace(name: str) -> Object:
    meta = {"name": name, "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
            "creationTimestamp": "2020-01-01T00:00:00Z", "resourceVersion": "1"}  # fmt: skip
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": meta,
            "status": {"phase": "Active"}}  # fmt: skip


def stamp(at: float | None = None) -> str:
    """Return a time as Kubernetes writes it."""
    now = time.time() if at is None else at
    return dt.datetime.fromtimestamp(now, dt.timezone.utc).strftime("%FT%TZ")


def seconds(text: str) -> float:
    """Return the time of a stamp."""
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def shown(body: Object) -> Object:
    """Return an object as the API shows it: a node that has been silent is not ready."""
    for condition in body.get("status", {}).get("conditions", ()):
        last = condition.get("lastHeartbeatTime")
        if condition["type"] == "Ready" and last and seconds(last) < time.time() - SILENT_S:
            condition.update(status="Unknown", reason="NodeStatusUnknown",
                             message="the node has stopped reporting")  # fmt: skip
    return body


# how it is shown


def table(kind: str, items: list[Object]) -> Object:
    """Return objects as the table that kubectl prints."""
    columns = {
        "nodes": ("Name", "Status", "Roles", "Age", "Version"),
        "pods": ("Name", "Ready", "Status", "Restarts", "Age"),
        "namespaces": ("Name", "Status", "Age"),
    }[kind]
    defined = [
        {"name": name, "type": "string", "format": "name" if name == "Name" else "",
         "description": name, "priority": 0}
        for name in columns
    ]  # fmt: skip
    rows = [
        {"cells": [_cell(name, one) for name in columns],
         "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                    "metadata": one["metadata"]}}
        for one in items
    ]  # fmt: skip
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "1"},
            "columnDefinitions": defined, "rows": rows}  # fmt: skip


def selected(one: Object, selector: str) -> bool:
    """Return whether the labels of an object fit a selector such as `a=b,c!=d,e,!f`."""
    labels = one["metadata"].get("labels") or {}
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


def _cell(column: str, one: Object) -> str:
    meta, status = one["metadata"], one.get("status", {})
    if column == "Name":
        return str(meta["name"])
    if column == "Age":
        return age(time.time() - seconds(meta["creationTimestamp"]))
    if column == "Version":
        return str(status.get("nodeInfo", {}).get("kubeletVersion", ""))
    if column == "Roles":
        prefix = "node-role.kubernetes.io/"
        roles = sorted(k[len(prefix) :] for k in meta.get("labels", {}) if k.startswith(prefix))
        return ",".join(roles) or "<none>"
    if column == "Status" and one["kind"] == "Node":
        ready = [c["status"] for c in status.get("conditions", ()) if c["type"] == "Ready"]
        return "Ready" if ready == ["True"] else "NotReady"
    return {"Status": str(status.get("phase", "")), "Ready": "0/0", "Restarts": "0"}[column]


def age(past_s: float) -> str:
    """Return a duration as kubectl writes it."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if past_s >= 2 * length:
            return f"{int(past_s // length)}{unit}"
    return f"{max(0, int(past_s))}s"


def discovery(path: str, version: str) -> Object | None:
    """Return the answer of a path that describes the API, or None."""
    major, _, minor = version.lstrip("v").partition(".")
    if path == "/version":
        return {"major": major, "minor": minor.partition(".")[0], "gitVersion": version,
                "platform": "linux/amd64"}  # fmt: skip
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
    if path == "/api/v1":
        verbs = ["create", "delete", "get", "list", "patch", "update"]
        found = [
            {"name": name, "singularName": name[:-1], "namespaced": name == "pods", "kind": kind,
             "verbs": verbs, "shortNames": [{"nodes": "no", "pods": "po"}.get(name, "ns")]}
            for name, kind in RESOURCES.items()
        ]  # fmt: skip
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1",
                "resources": found}  # fmt: skip
    return None


# the API


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    timeout = 120
    server: Server

    def setup(self) -> None:
        if self.server.context is not None:
            self.request.settimeout(TIMEOUT_S)
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        if self.server.context is not None:
            self.request.close()  # the server closes the socket without TLS only

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        sys.stderr.write(f"{stamp()} {self.address_string()} {format % args}\n")

    def _handle(self) -> None:
        try:
            status, body = self._answer()
        except Refused as refused:
            status, body = refused.status, {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": str(refused), "reason": refused.reason, "code": refused.status,
            }  # fmt: skip
        except (OSError, ValueError) as problem:
            status, body = 500, {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": str(problem), "reason": "InternalError", "code": 500,
            }  # fmt: skip
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        kind = "text/plain" if isinstance(body, str) else "application/json"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _answer(self) -> tuple[int, Object | str]:
        size = int(self.headers.get("Content-Length") or 0)
        if size > BODY_MAX:
            raise Refused(413, "RequestEntityTooLarge", "the body is too large")
        body = json.loads(self.rfile.read(size) or b"{}") if size else {}
        path, _, query = self.path.partition("?")
        path = path.rstrip("/") or "/"
        cluster = self.server.cluster
        if path in PUBLIC[:3]:
            cluster.etcd.get("/registry/nothing")
            return 200, "ok"
        who = self._caller(path)
        known = discovery(path, self.server.version)
        if known is not None:
            return 200, known
        found = _PATH.fullmatch(path)
        if found is None:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        kind, namespace, name = found["kind"], found["namespace"], found["name"]
        self._permit(who, kind, name or str((body.get("metadata") or {}).get("name")))
        if self.command == "GET":
            items = [cluster.get(kind, namespace, name)] if name else cluster.list(kind, namespace)
            selector = urllib.parse.parse_qs(query).get("labelSelector", [""])[0]
            items = [one for one in items if name or selected(one, selector)]
            if "as=Table" in self.headers.get("Accept", ""):
                return 200, table(kind, items)
            return 200, items[0] if name else _listed(kind, items)
        if self.command == "POST" and not name:
            return 201, cluster.create(kind, namespace, body)
        if self.command == "DELETE" and name:
            return 200, cluster.drop(kind, namespace, name)
        if self.command in ("PUT", "PATCH") and name:
            whole = self.command == "PUT" and not found["status"]
            return 200, cluster.change(kind, namespace, name, body, whole=whole)
        raise Refused(405, "MethodNotAllowed", "the server does not allow this method here")

    def _caller(self, path: str) -> Object | None:
        """Return name and organisations of the caller's certificate; None without TLS."""
        if self.server.context is None or path in PUBLIC:
            return None
        peer = self.connection.getpeercert()
        if not peer:
            raise Refused(401, "Unauthorized", "Unauthorized")
        fields: dict[str, list[str]] = {}
        for ((name, value),) in peer["subject"]:
            fields.setdefault(name, []).append(value)
        return {"name": fields.get("commonName", [""])[0],
                "groups": fields.get("organizationName", [])}  # fmt: skip

    def _permit(self, who: Object | None, kind: str, name: str) -> None:
        if who is None or MASTERS in who["groups"] or self.command == "GET":
            return
        own = who["name"] == f"system:node:{name}" and kind == "nodes"
        if NODES in who["groups"] and own and self.command != "DELETE":
            return
        raise Refused(403, "Forbidden", f'User "{who["name"]}" cannot write {kind} "{name}"')


def _listed(kind: str, items: list[Object]) -> Object:
    return {"kind": f"{RESOURCES[kind]}List", "apiVersion": "v1",
            "metadata": {"resourceVersion": "1"}, "items": items}  # fmt: skip


class Server(ThreadingHTTPServer):
    """The API of one control plane node."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], etcd: Etcd, context: ssl.SSLContext | None, version: str
    ) -> None:
        super().__init__(address, Handler)
        self.cluster, self.context, self.version = Cluster(etcd), context, version

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write a line: a client that does not speak TLS is no fault of the server."""
        sys.stderr.write(f"{stamp()} {client_address[0]}: {sys.exc_info()[1]}\n")


def server_context(files: str) -> ssl.SSLContext:
    """Return TLS for clients with a certificate of the cluster; they may also have none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(f"{files}/apiserver.crt", f"{files}/apiserver.key")
    context.load_verify_locations(f"{files}/ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def client_context(ca: str, certificate: str, private_key: str) -> ssl.SSLContext:
    """Return TLS for a client with a certificate."""
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, private_key)
    return context


# the node


def report(given: Any, context: ssl.SSLContext | None) -> None:
    """Register the node, or report that it is alive. Raises OSError."""
    labels = dict(one.partition("=")[::2] for one in given.label)
    labels["kubernetes.io/hostname"] = given.name
    now = stamp()
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady",
             "message": "the stand-in reports ready", "lastHeartbeatTime": now}  # fmt: skip
    addresses = [{"type": "InternalIP", "address": given.address},
                 {"type": "Hostname", "address": given.name}]  # fmt: skip
    body = {
        "metadata": {"name": given.name, "labels": labels},
        "spec": {"taints": [_taint(one) for one in given.taint]},
        "status": {
            "conditions": [ready], "addresses": addresses,
            "nodeInfo": {"kubeletVersion": given.version, "machineID": given.machine,
                         "osImage": "sandbox server", "architecture": "amd64"},
            "capacity": {"cpu": str(os.cpu_count() or 1), "pods": "0"},
        },
    }  # fmt: skip
    try:
        _send(given.api, "PATCH", f"/api/v1/nodes/{given.name}", body, context)
    except urllib.error.HTTPError as problem:
        if problem.code != 404:
            raise
        _send(given.api, "POST", "/api/v1/nodes", body, context)


def _taint(text: str) -> Object:
    named, _, effect = text.partition(":")
    name, _, value = named.partition("=")
    return {"key": name, "value": value, "effect": effect}


def _send(url: str, method: str, path: str, body: Object, context: ssl.SSLContext | None) -> None:
    headers = {"Content-Type": "application/merge-patch+json"}
    asked = urllib.request.Request(url + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(asked, timeout=TIMEOUT_S, context=context) as answer:
        answer.read()


def main() -> None:
    """Run one of the two parts until it is stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["api", "node"])
    parser.add_argument("--version", default="v1.31.0")
    parser.add_argument("--files", default="/etc/kubernetes/pki")
    parser.add_argument("--plain", action="store_true", help="without TLS")
    parser.add_argument("--host", default="0.0.0.0")  # noqa: S104 - reached by its networks
    parser.add_argument("--port", type=int, default=6443)
    parser.add_argument("--etcd", default="https://127.0.0.1:2379")
    parser.add_argument("--api", default="https://127.0.0.1:6443")
    parser.add_argument("--name", default="")
    parser.add_argument("--address", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--taint", action="append", default=[])
    given = parser.parse_args()
    files = given.files
    if given.part == "api":
        own = (f"{files}/etcd/ca.crt", f"{files}/apiserver-etcd-client.crt",
               f"{files}/apiserver-etcd-client.key")  # fmt: skip
        etcd = Etcd(given.etcd, None if given.plain else client_context(*own))
        context = None if given.plain else server_context(files)
        Server((given.host, given.port), etcd, context, given.version).serve_forever()
    while True:
        try:
            kubelet = (f"{files}/ca.crt", f"{files}/kubelet.crt", f"{files}/kubelet.key")
            report(given, None if given.plain else client_context(*kubelet))
        except (OSError, ValueError) as problem:
            sys.stderr.write(f"{stamp()} no report: {problem}\n")
        time.sleep(REPORT_S)


if __name__ == "__main__":
    main()
