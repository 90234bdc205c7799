"""The settings of the middleware in front of the APIs. They can change while a process runs."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from msgspec import Struct, field

from hearth.model.option import Network, Option, networks_of

CHECKS = ("database", "disable_by_file", "disable_by_files_ports", "enable_by_files")

_cors = partial(Option, group="cors", live=True)
_health = partial(Option, group="healthcheck", live=True)
_hearth = partial(Option, group="hearth", live=True, hearth_only=True)
_proxies = partial(Option, group="oslo_middleware", live=True)


def _checks(names: Sequence[str]) -> Sequence[str]:
    if unknown := set(names) - set(CHECKS):
        raise ValueError(f"expected {', '.join(CHECKS)}; got {', '.join(sorted(unknown))}")
    return names


def _origins(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(origin.rstrip("/") for origin in texts)


def _methods(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(method.upper() for method in texts)


def _by_port(entries: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return (port, file) for each entry PORT:FILE. Raises ValueError."""
    pairs = []
    for entry in entries:
        port, colon, path = entry.partition(":")
        if not colon or not port.isdecimal():
            raise ValueError(f"expected PORT:FILE, got {entry}")
        pairs.append((int(port), path))
    return tuple(pairs)


# fmt: off
class Cors(Struct, frozen=True):
    """Which web pages may call the API, and what they may send and read."""

    allowed_origin: Annotated[tuple[str, ...], _cors("Origins of web pages that can call the API; *: all.", convert=_origins)] = ()
    allow_credentials: Annotated[bool, _cors("true: web pages can send credentials such as cookies.")] = True
    expose_headers: Annotated[tuple[str, ...], _cors("Headers of answers that web pages can read.")] = ("X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-OpenStack-Request-ID")
    max_age_s: Annotated[int, _cors("Time for which browsers cache the answer to a preflight request, in seconds.", name="max_age", minimum=0)] = 3600
    allow_methods: Annotated[tuple[str, ...], _cors("HTTP methods that web pages can use.", convert=_methods)] = ("GET", "PUT", "POST", "DELETE", "PATCH")
    allow_headers: Annotated[tuple[str, ...], _cors("Headers that web pages can send, in addition to those that CORS always allows.")] = ("X-Auth-Token", "X-Identity-Status", "X-Roles", "X-Service-Catalog", "X-User-Id", "X-Tenant-Id", "X-OpenStack-Request-ID")


class Health(Struct, frozen=True):
    """The settings of the health check, and the clients that may use it."""

    path: Annotated[str, _health("Path of the health check.")] = "/healthcheck"
    detailed: Annotated[bool, _health("true: the answer has the result of each check. Do not publish it.")] = False
    backends: Annotated[tuple[str, ...], _health(f"Checks: {', '.join(CHECKS)}.", convert=_checks)] = ("database",)
    allowed_source_ranges: Annotated[tuple[Network, ...], _health("Networks from which requests are allowed; empty: all.", convert=networks_of)] = ()
    ignore_proxied_requests: Annotated[bool, _health("true: requests through a proxy are refused.")] = False
    disable_by_file_path: Annotated[str | None, _health("The check disable_by_file fails while this file exists.")] = None
    disable_by_file_paths: Annotated[tuple[tuple[int, str], ...], _health("Entries PORT:FILE for the check disable_by_files_ports, which fails on a port while the file of the port exists.", convert=_by_port)] = ()
    enable_by_file_paths: Annotated[tuple[str, ...], _health("Files for the check enable_by_files, which fails while one of them is missing.")] = ()


class FrontSettings(Struct, frozen=True):
    """The settings of all middleware in front of an API."""

    enable_proxy_headers_parsing: Annotated[bool, _proxies("true: Hearth trusts Forwarded and X-Forwarded-Proto, -Host, -Port, -Prefix and -For.", differs="the default is that of Heat, but Heat also trusts X-Forwarded-Proto without it (`secure_proxy_ssl_header`)")] = False
    max_request_body_size: Annotated[int | None, _proxies("Maximum size of every request body in bytes, in addition to max_json_body_size.", minimum=1, differs="the default pipeline of Heat has no such limit")] = None
    requests_per_second: Annotated[float, _hearth("Average number of requests of a project per second; 0: no limit.", minimum=0)] = 0
    requests_burst: Annotated[int, _hearth("Number of requests that a project can send at once before requests_per_second applies.", minimum=1)] = 50
    requests_at_once: Annotated[int, _hearth("Number of requests that a process handles at the same time; further requests get the status 503 with Retry-After. 0: no limit.", minimum=0, differs="Heat has no such limit")] = 1000
    guest_requests_per_second: Annotated[float, _hearth("Average number of requests of one user of a stack (a server that signals) per second; 0: no limit.", minimum=0, differs="Heat has no such limit")] = 20
    guest_requests_burst: Annotated[int, _hearth("Number of requests that one user of a stack can send at once before guest_requests_per_second applies.", minimum=1)] = 1000
    cors: Cors = field(default_factory=Cors)
    health: Health = field(default_factory=Health)
# fmt: on
