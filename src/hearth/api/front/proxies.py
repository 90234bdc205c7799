"""Headers of proxies, which contain the scheme, host, path prefix and address that the client used.

They are used only if the operator enables this, because any client can send such headers.
"""

import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api.front.front import Front
from hearth.api.front.scope import state

HEADERS = (
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-prefix",
)
RAW_HEADERS = frozenset(name.encode() for name in HEADERS)
HOST = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?", re.ASCII)
PREFIX = re.compile(r"(/[\w.~-]+)+", re.ASCII)
ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}")
USUAL_PORTS = {"http": "80", "https": "443"}


class ProxyHeaders:
    """Middleware that restores the request as the client sent it to the first proxy.

    `front` says whether proxies are trusted; if they are not, requests pass unchanged. Invalid
    values in the headers are ignored.
    """

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app = app
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = as_sent(scope, self._front)
        await self._app(scope, receive, send)


def as_sent(scope: Scope, front: Front) -> Scope:
    """Return a request as the client sent it to the first proxy.

    It is unchanged if `front` does not trust proxies. Its state `proxied` shows whether the request
    has headers of proxies.
    """
    proxied = any(name in RAW_HEADERS for name, _ in scope["headers"])
    state(scope)["proxied"] = proxied
    if proxied and front.settings.enable_proxy_headers_parsing:
        return _restored(scope, forwarded(Headers(scope=scope)))
    return scope


def forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the values that the first proxy sent: proto, host, for and prefix.

    The header `Forwarded` takes precedence over the `X-Forwarded-` headers, except for the prefix.
    Values that are missing or invalid are left out.
    """
    values = {
        name: headers.get(f"x-forwarded-{name}", "").partition(",")[0].strip()
        for name in ("proto", "host", "for", "port", "prefix")
    }
    if "forwarded" in headers:
        first = headers["forwarded"].partition(",")[0]
        pairs = (part.partition("=") for part in first.split(";"))
        fields = {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
        values |= {name: fields.get(name, "") for name in ("proto", "host", "for")} | {"port": ""}
    return _checked(values)


def _checked(values: Mapping[str, str]) -> dict[str, str]:
    proto, host, prefix = values["proto"].lower(), values["host"], values["prefix"].rstrip("/")
    address = values["for"]
    if address.startswith("["):
        address = address[1:].partition("]")[0]
    elif address.count(":") == 1:  # an IPv4 address and a port
        address = address.partition(":")[0]
    good: dict[str, str] = {}
    if proto in USUAL_PORTS:
        good["proto"] = proto
    if HOST.fullmatch(host):
        port = values["port"]
        bare = host.rpartition("]")[2].count(":") == 0
        if bare and port.isdecimal() and port != USUAL_PORTS.get(proto or "http"):
            host = f"{host}:{port}"
        good["host"] = host
    if PREFIX.fullmatch(prefix) and ".." not in prefix.split("/"):
        good["prefix"] = prefix
    if ADDRESS.fullmatch(address):
        good["for"] = address
    return good


def _restored(scope: Scope, values: Mapping[str, str]) -> Scope:
    restored = dict(scope)
    if "proto" in values:
        restored["scheme"] = values["proto"]
    if "host" in values:
        other_headers = [pair for pair in scope["headers"] if pair[0] != b"host"]
        restored["headers"] = [(b"host", values["host"].encode()), *other_headers]
    if "for" in values:
        restored["client"] = (values["for"], 0)
    if "prefix" in values:
        prefix = values["prefix"]
        restored["root_path"] = prefix
        restored["path"] = prefix + scope["path"]
        restored["raw_path"] = prefix.encode() + (scope.get("raw_path") or scope["path"].encode())
    return restored
