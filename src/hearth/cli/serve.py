"""`hearth serve`: runs Hearth with an existing Keystone and database, configured by heat.conf."""

import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.config.configuration import Configuration, read
from hearth.config.wrong import WrongSetting
from hearth.model import collector
from hearth.process.logs import log_to_stderr
from hearth.process.memory import few_heaps
from hearth.process.prepare import allow_descriptors, run_until_complete
from hearth.process.sockets import listening

if TYPE_CHECKING:
    from hearth.config.settings import Settings

log = logging.getLogger(__name__)


def run(configs: Sequence[Path], port: int | None, role: str, workers: int = 1) -> int:
    """Run until stopped, in this process or, if `workers` is not 1, in that many child processes.

    `role` is "all", "api", "engine" or "cluster". If `port` is given, it replaces the configured
    port of the main API, or with the role cluster of the cluster API. Return the exit status.
    """
    collector.off()
    few_heaps()  # before the first thread
    allow_descriptors()
    log_to_stderr()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the configuration is loaded
    try:
        configuration = read(configs)
        from hearth.process.logs import open_log

        open_log(configuration.conf)
        configuration.tell()
        plan = _ServePlan(configuration, configs, role, port)
        if workers == 1:
            return run_until_complete(_run(plan, ready=lambda: print(plan.ready, flush=True)))
        return _supervised(plan, workers)
    except WrongSetting as problem:
        print(f"hearth: {problem}", file=sys.stderr)
        return 1


def _supervised(plan: "_ServePlan", count: int) -> int:
    """Run `count` child processes that share the sockets; return the exit status.

    Raises WrongSetting if the database is SQLite.
    """
    database = plan.settings().database
    if database.startswith("sqlite"):
        raise WrongSetting(
            "--workers: expected 1 with SQLite; more processes need PostgreSQL or MariaDB"
        )
    from hearth.process.workers import Workers

    _import_shared(apis=plan.api or plan.clusters)
    collector.parent()

    def run_one(number: int, ready: Callable[[], None]) -> int:
        try:
            return run_until_complete(_run(plan, ready=ready, number=number))
        except WrongSetting as problem:
            print(f"hearth: {problem}", file=sys.stderr)
            return 1

    ready = f"{plan.ready}, {count} processes"
    return Workers(count, run_one, lambda: print(ready, flush=True)).supervise()


def _import_shared(*, apis: bool) -> None:
    """Import what every process needs, and with `apis` what those with an API need.

    Before the fork, it is imported once and its memory shared.
    """
    from hearth.process import lifetime, wiring  # noqa: F401

    if apis:
        import uvicorn  # noqa: F401

        from hearth.api import app  # noqa: F401
        from hearth.api.cfn import app as cfn_app  # noqa: F401
        from hearth.api.clusters import app as clusters_app  # noqa: F401
        from hearth.process.http import connection, polled  # noqa: F401


class _ServePlan:
    """What a process serves: its configuration, its role, and the sockets on which it listens."""

    def __init__(
        self, configuration: Configuration, configs: Sequence[Path], role: str, port: int | None
    ) -> None:
        from hearth.process.sockets import Sockets

        conf = configuration.conf
        self.configuration, self.configs, self.role = configuration, configs, role
        at, cfn, clusters_at = conf.heat_api, conf.heat_api_cfn, conf.api
        self.api = role in ("all", "api")
        self.work = role in ("all", "engine")
        self.clusters = role == "cluster" or (role == "all" and conf.hearth.clusters)
        self.sockets = sockets = Sockets()
        if self.api:
            sockets.main.append(listening(at.bind_host, at.bind_port if port is None else port))
            chosen_by = "[heat_api_cfn] bind_port"
            sockets.cfn.append(listening(cfn.bind_host, cfn.bind_port, chosen_by))
        if self.clusters:
            number = port if role == "cluster" and port is not None else clusters_at.port
            sockets.clusters.append(listening(clusters_at.host, number, "[api] port"))
        self.url = address(at.bind_host, at.bind_port, sockets.main)
        self.cfn_url = address(cfn.bind_host, cfn.bind_port, sockets.cfn)
        self.cluster_url = address(clusters_at.host, clusters_at.port, sockets.clusters)

    def settings(self) -> "Settings":
        """Return the settings of the process. Raises WrongSetting."""
        return self._settings_of(self.configuration)

    def again(self) -> "tuple[Configuration, Settings]":
        """Read the configuration again. Raises WrongSetting."""
        configuration = read(self.configs)
        return configuration, self._settings_of(configuration)

    def _settings_of(self, configuration: Configuration) -> "Settings":
        from hearth.config.from_conf import settings

        return settings(configuration.conf, self.url, self.cfn_url, self.cluster_url)

    def listen_for_operators(self, number: int) -> None:
        """Open the port for metrics, if one is configured.

        Each process has its own port: the configured port plus the number of the process.
        """
        conf = self.configuration.conf.hearth
        if (port := conf.monitoring_port) is not None:
            chosen = port + number if port else 0
            chosen_by = "[hearth] monitoring_port"
            bound = listening(conf.monitoring_host, chosen, chosen_by)
            self.sockets.monitoring.append(bound)

    @property
    def ready(self) -> str:
        """The line that is printed when the process is ready."""
        at_url = f" {self.url}/v1" if self.sockets.main else ""
        ready = f"hearth is ready: {self.role}{at_url} (pid {os.getpid()})"
        if self.sockets.cfn:
            ready += f", cloudformation {self.cfn_url}/v1/"
        if self.sockets.clusters:
            ready += f", clusters {self.cluster_url}/v1"
        if self.sockets.monitoring:
            host = self.configuration.conf.hearth.monitoring_host
            ready += f", metrics {address(host, 0, self.sockets.monitoring)}/metrics"
        return ready


async def _run(plan: _ServePlan, *, ready: Callable[[], None], number: int = 0) -> int:
    """Serve until stopped, and return the exit status; `number` is that of the process. Raises
    WrongSetting.
    """
    from hearth.process.lifetime import until_stopped
    from hearth.process.reloading import Reloading
    from hearth.process.wiring import wired
    from hearth.service.policy import WrongRules

    plan.listen_for_operators(number)
    async with wired(plan.settings()) as running:
        if plan.role != "engine":
            try:
                running.services.policy.load()
                running.services.cluster_policy.load()
            except WrongRules as problem:
                raise WrongSetting(str(problem)) from None
        tell_of_readable(plan.configuration.files)
        return await until_stopped(
            running,
            plan.sockets,
            work=plan.work,
            clusters=plan.clusters,
            ready=ready,
            role=plan.role,
            reload=Reloading(plan.configuration, running, plan.again),
        )


def tell_of_readable(files: Sequence[str]) -> None:
    """Warn about configuration files that all users of this machine can read; they contain
    secrets.
    """
    for file in files:
        if Path(file).stat().st_mode & stat.S_IROTH:
            log.warning("all users of this machine can read %s, which contains keys", file)


def address(host: str, port: int, sockets: Sequence[socket.socket] = ()) -> str:
    """Return the URL of an API that listens at `host` and `port`.

    For an API that listens on all addresses, the host in the URL is 127.0.0.1. If `sockets` is not
    empty, the port is that of the first socket.
    """
    number = sockets[0].getsockname()[1] if sockets else port
    url_host = "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104
    return f"http://{url_host}:{number}"
