"""The settings of the middleware in front of the APIs. They can change while a process runs."""

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from typing import ClassVar

from msgspec import Struct, field


class Cors(Struct, frozen=True):
    """The origins whose web pages may call the API (`*`: all), and the methods and headers that
    these pages may use.

    `expose` are the response headers that pages may read. If `credentials` is true, browsers may
    send cookies and the like. Browsers may remember a preflight for `max_age_s` seconds.
    """

    origins: frozenset[str] = frozenset()
    credentials: bool = True
    expose: tuple[str, ...] = ()
    max_age_s: int = 3600
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


class Rate(Struct, frozen=True):
    """A rate limit: the requests per second (0: no limit), and in `burst` the maximum number of
    requests at once.
    """

    per_second: float = 0.0
    burst: int = 50


class Health(Struct, frozen=True):
    """The settings of the health check, and the clients that may use it.

    `checks` are the names of the checks, out of CHECKS. `sources` are the networks of the clients;
    if it is empty, all may use it. The check fails if the file `disabled_by` exists, or one of the
    files `enabled_by` is missing. `disabled_by_port` maps a port to the file that disables the
    check on that port. If `detailed` is true, responses name the checks.
    """

    CHECKS: ClassVar = frozenset(
        {"database", "disable_by_file", "disable_by_files_ports", "enable_by_files"}
    )
    path: str = "/healthcheck"
    detailed: bool = False
    checks: tuple[str, ...] = ("database",)
    sources: tuple[IPv4Network | IPv6Network, ...] = ()
    unproxied: bool = False  # only requests without headers of proxies
    disabled_by: str | None = None
    disabled_by_port: Mapping[int, str] = field(default_factory=dict)
    enabled_by: tuple[str, ...] = ()


class FrontSettings(Struct, frozen=True):
    """The settings of all middleware in front of an API."""

    proxies: bool = False  # whether the headers of proxies are trusted
    body_bytes: int | None = None  # in addition to the limit of each API
    requests_at_once: int = 1000  # in progress in one process; 0: no limit
    cors: Cors = field(default_factory=Cors)
    rate: Rate = field(default_factory=Rate)
    guest_rate: Rate = Rate(20.0, 1000)  # of one user of a stack
    health: Health = field(default_factory=Health)
