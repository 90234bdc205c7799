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


class _Everything(Router):
    """A router that returns the same handler for every path, because names contain slashes."""

    def find(self, segments: list[str]) -> tuple[Mapping[str, Handler], tuple[str, ...]] | None:
        """Return the only handler, for any path and method."""
        if segments[:1] == ["v1"] and len(segments) > 1:
            methods = ("GET", "HEAD", "PUT", "POST", "DELETE", "COPY", "OPTIONS")
            return dict.fromkeys(methods, _account_or_object), ()
        return super().find(segments)


_ROUTES: list[Route] = [("GET", "/info", _info)]

SERVICE = Service(
    name="object-store",
    router=_Everything(_ROUTES),
    refusal=_refusal,
    open=access.is_open,
    finish=_finish,
    unauthorized=_unauthorized,
)
