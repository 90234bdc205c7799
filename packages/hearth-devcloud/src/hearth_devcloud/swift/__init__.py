"""The emulated object store (Swift): objects in containers in accounts."""

from __future__ import annotations

from collections.abc import Mapping

from hearth_devcloud.http import Call, Handler, Refusal, Reply, Route, Router, Service
from hearth_devcloud.swift import access, containers, objects


def _refusal(call: Call, fault: Refusal) -> Reply:
    text = f"<html><h1>{fault.message}</h1></html>"
    headers = {"Content-Type": "text/html; charset=UTF-8", **fault.headers}
    return Reply(fault.status, text, headers)


def _unauthorized(call: Call) -> Reply:
    challenge = {"Www-Authenticate": 'Swift realm="unknown"'}
    return _refusal(call, Refusal(401, message="Unauthorized", headers=challenge))


def _info(call: Call) -> Reply:
    return Reply(
        200,
        {
            "swift": {
                "version": "2.35.0",
                "account_listing_limit": containers.LISTING_MAX,
                "container_listing_limit": containers.LISTING_MAX,
                "max_file_size": 5368709122,
                "max_object_name_length": 1024,
                "max_container_name_length": 256,
                "max_account_name_length": 256,
                "max_meta_count": 90,
                "max_meta_name_length": 128,
                "max_meta_value_length": 256,
            },
            "tempurl": {
                "methods": ["GET", "HEAD", "PUT", "POST", "DELETE"],
                "allowed_digests": ["sha1", "sha256", "sha512"],
            },
            "versioned_writes": {"allowed_flags": ["x-versions-location", "x-history-location"]},
        },
    )


def _finish(call: Call, reply: Reply) -> None:
    reply.headers.setdefault("X-Trans-Id", f"tx{call.cloud.store.new_hex()}")
    reply.headers["X-Openstack-Request-Id"] = reply.headers["X-Trans-Id"]


def _account_or_object(call: Call) -> Reply:
    """Pass a call to the handler for its account, container or object.

    The name of an object may contain slashes.
    """
    path = call.path.removeprefix("/v1/")
    parts = access.split(path)
    access.allow(call, parts)
    match parts:
        case (_, None, None):
            return containers.account(call, parts[0])
        case (_, container, None):
            assert container is not None
            return containers.container(call, parts[0], container)
        case (_, container, name):
            assert container is not None
            assert name is not None
            return objects.act(call, parts[0], container, name)
    raise AssertionError(parts)


class _Paths(Router):
    """A router for paths of objects, whose names may contain slashes."""

    def find(self, segments: list[str]) -> tuple[Mapping[str, Handler], tuple[str, ...]] | None:
        """Find the handlers of a path; all segments after the container are the object's name."""
        return super().find(segments[:4])


_ROUTES: list[Route] = [
    ("GET", "/info", _info),
    *((method, "/v1/{}", _account_or_object) for method in ("GET", "POST")),
    *((method, "/v1/{}/{}", _account_or_object) for method in ("GET", "PUT", "POST", "DELETE")),
    *(
        (method, "/v1/{}/{}/{}", _account_or_object)
        for method in ("GET", "PUT", "POST", "DELETE", "COPY")
    ),
]

SERVICE = Service(
    name="object-store",
    router=_Paths(_ROUTES),
    refusal=_refusal,
    open=access.is_open,
    finish=_finish,
    unauthorized=_unauthorized,
)
