"""The Kubernetes API without networking: it turns a request into a response.

With TLS, each request to a path that is not in PUBLIC needs a client certificate of the cluster. A
client of the group `system:masters` may do everything, one of `system:nodes` may read everything
and write its own node, and all others may only read.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Mapping
from typing import Any, NamedTuple, Union

from .objects import NAMESPACED, ApiError, Cluster
from .patches import BadPatch, change_of
from .view import by_fields, by_labels, discovery, listed, table

PUBLIC = ("/healthz", "/livez", "/readyz", "/version")
MASTERS, NODES = "system:masters", "system:nodes"
BODY_MAX = 3 * 1024 * 1024  # bytes
_PATH = re.compile(
    r"/(?:api/v1(?:/namespaces/(?P<core>[^/]+)(?=/))?/(?P<kind>nodes|pods|namespaces)"
    r"|apis/apps/v1(?:/namespaces/(?P<apps>[^/]+)(?=/))?/(?P<more>daemonsets))"
    r"(?:/(?P<name>[^/]+)(?P<part>/status|/eviction)?)?"
)

Object = dict[str, Any]
Body = Union[Object, str]


class Client(NamedTuple):
    """The sender of a request: name and groups from the subject of the client certificate."""

    name: str
    groups: tuple[str, ...]


class Request(NamedTuple):
    """An HTTP request. The names of its headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    raw: bytes


class Answer(NamedTuple):
    """An HTTP response: status, content type and body."""

    status: int
    content_type: str
    data: bytes


def failure(status: int, reason: str, message: str) -> Object:
    """Return the body of an error response: a Kubernetes `Status` object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": status,
    }


def caller_of(certificate: Mapping[str, Any] | None) -> Client | None:
    """Return the caller that a client certificate identifies, or None without a certificate.

    The certificate has the format of `SSLSocket.getpeercert`.
    """
    if not certificate:
        return None
    fields: dict[str, list[str]] = {}
    for part in certificate.get("subject", ()):
        for name, value in part:
            fields.setdefault(name, []).append(value)
    groups = tuple(fields.get("organizationName", ()))
    return Client(fields.get("commonName", [""])[0], groups)


class Api:
    """The Kubernetes API of a cluster. Without TLS, every caller may do everything."""

    def __init__(self, cluster: Cluster, version: str, *, tls: bool) -> None:
        self.cluster, self._version, self._tls = cluster, version, tls

    def answer(self, request: Request, caller: Client | None) -> Answer:
        """Carry out a request and return the response."""
        body: Body
        try:
            status, body = self._answer(request, caller)
        except ApiError as refused:
            status, body = refused.status, failure(refused.status, refused.reason, str(refused))
        except BadPatch as problem:
            status, body = 400, failure(400, "BadRequest", str(problem))
        except (OSError, ValueError) as problem:
            status, body = 500, failure(500, "InternalError", str(problem))
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return Answer(status, "text/plain" if isinstance(body, str) else "application/json", data)

    def _answer(self, request: Request, caller: Client | None) -> tuple[int, Body]:
        if len(request.raw) > BODY_MAX:
            message = f"the body has more than {BODY_MAX} bytes"
            raise ApiError(413, "RequestEntityTooLarge", message)
        path, _, text = request.target.partition("?")
        path = path.rstrip("/") or "/"
        if path in PUBLIC[:3]:
            self.cluster.storage.get("/registry/nothing")
            return 200, "ok"
        if self._tls and caller is None and path not in PUBLIC:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        if path == "/openapi/v2":  # an empty protobuf message: no schemas
            return 200, ""
        document = discovery(path, self._version)
        if document is not None:
            return 200, document
        match = _PATH.fullmatch(path)
        if match is None:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        query = {name: values[0] for name, values in urllib.parse.parse_qs(text).items()}
        resource = match["kind"] or match["more"]
        location = resource, match["core"] or match["apps"], match["name"]
        if request.method == "GET":
            return 200, self._read(request, query, *location)
        if "dryRun" in query:
            raise ApiError(400, "BadRequest", "dryRun: not supported")
        return self._write(request, caller, match["part"] or "", *location)

    def _read(
        self,
        request: Request,
        query: Mapping[str, str],
        resource: str,
        namespace: str | None,
        name: str | None,
    ) -> Object:
        if query.get("watch", "").lower() in ("1", "true"):
            raise ApiError(405, "MethodNotAllowed", "watch: not supported")
        if name:
            items = [self.cluster.get(resource, namespace, name)]
        else:
            fits, labels = by_fields(query.get("fieldSelector", "")), query.get("labelSelector", "")
            objects = self.cluster.list(resource, namespace)
            items = [
                candidate
                for candidate in objects
                if fits(candidate) and by_labels(candidate, labels)
            ]
        if "as=Table" in request.headers.get("accept", ""):
            return table(resource, items)
        return items[0] if name else listed(resource, items)

    def _write(
        self,
        request: Request,
        caller: Client | None,
        part: str,
        resource: str,
        namespace: str | None,
        name: str | None,
    ) -> tuple[int, Body]:
        body = _json(request.raw)
        about = name or str(_map(_map(body).get("metadata")).get("name"))
        self._permit(request.method, caller, resource, about)
        cluster, method = self.cluster, request.method
        if name and resource in NAMESPACED and not namespace:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if part == "/eviction":
            if resource != "pods" or method != "POST" or not name or not namespace:
                raise ApiError(
                    405, "MethodNotAllowed", "evictions are only supported as POST for a pod"
                )
            cluster.evict(namespace, name)
            return 201, {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "code": 201,
            }
        if method == "POST" and not name:
            return 201, cluster.create(resource, namespace, _object(body))
        if method == "DELETE" and name:
            return 200, cluster.drop(resource, namespace, name)
        if method == "PATCH" and name:
            change = change_of(request.headers.get("content-type", ""), body)
            return 200, cluster.change(resource, namespace, name, change)
        if method == "PUT" and name:
            document, status = _object(body), part == "/status"
            return 200, cluster.change(
                resource,
                namespace,
                name,
                lambda before: {**before, "status": document.get("status")} if status else document,
            )
        message = f"the server does not allow {method} for this path"
        raise ApiError(405, "MethodNotAllowed", message)

    def _permit(self, method: str, caller: Client | None, resource: str, name: str) -> None:
        if not self._tls or caller is None or MASTERS in caller.groups:
            return
        is_own = caller.name == f"system:node:{name}" and resource == "nodes"
        if NODES in caller.groups and is_own and method != "DELETE":
            return
        message = f'User "{caller.name}" cannot write {resource} "{name}"'
        raise ApiError(403, "Forbidden", message)


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        raise ApiError(400, "BadRequest", "the body is not JSON") from None


def _object(body: Any) -> Object:
    if not isinstance(body, dict):
        raise ApiError(400, "BadRequest", "the body is not a JSON object")
    return body


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
