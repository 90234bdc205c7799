"""Settings for the reception of requests. They can change while a process runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import ClassVar


@dataclass(frozen=True)
class Cors:
    """The pages that may call the API from a browser; the origin `*` means all of them."""

    origins: frozenset[str] = frozenset()
    credentials: bool = True
    expose: tuple[str, ...] = ()
    max_age_s: int = 3600
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rate:
    """The rate limit of a project: requests per second (0: no limit); `burst` at once."""

    per_second: float = 0.0
    burst: int = 50


@dataclass(frozen=True)
class Health:
    """The health check and its clients. `disabled_by_port` is {port: path of a file}."""

    CHECKS: ClassVar = frozenset(
        {"database", "disable_by_file", "disable_by_files_ports", "enable_by_files"}
    )
    path: str = "/healthcheck"
    detailed: bool = False
    checks: tuple[str, ...] = ()
    sources: tuple[IPv4Network | IPv6Network, ...] = ()
    unproxied: bool = False  # only without a proxy between
    disabled_by: str | None = None
    disabled_by_port: Mapping[int, str] = field(default_factory=dict)
    enabled_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class FrontSettings:
    """How requests are received."""

    proxies: bool = False  # whether the headers of proxies are trusted
    body_bytes: int | None = None  # besides what each API allows
    cors: Cors = field(default_factory=Cors)
    rate: Rate = field(default_factory=Rate)
    guest_rate: Rate = Rate(20.0, 1000)  # of one user of a stack
    health: Health = field(default_factory=Health)


class Front:
    """The current settings; each request reads them again."""

    def __init__(self, settings: FrontSettings | None = None) -> None:
        self.settings = settings or FrontSettings()
