"""`hearth serve`: Hearth for an existing Keystone and database, configured by a heat.conf."""

import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.cli.configuration import Configuration, read
from hearth.cli.process import (
    WrongSetting,
    allow_descriptors,
    listening,
    log_to_stderr,
    no_collections,
    run_until_complete,
)

if TYPE_CHECKING:
    from hearth.cli.settings import Settings

log = logging.getLogger(__name__)


def run(configs: Sequence[Path], port: int | None, role: str) -> int:
    """Run until stopped; return the exit status."""
    no_collections()
    allow_descriptors()
    log_to_stderr()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the configuration is loaded
    try:
        told = read(configs)
        from hearth.cli.logs import open_log

        open_log(told.conf)
        told.tell()
        return run_until_complete(_run(told, configs, port, role))
    except WrongSetting as problem:
        print(f"hearth: {problem}", file=sys.stderr)
        return 1


async def _run(told: Configuration, configs: Sequence[Path], port: int | None, role: str) -> int:
    from hearth.cli.from_conf import settings as settings_of
    from hearth.cli.lifetime import Sockets, until_stopped
    from hearth.cli.reloading import Reloading
    from hearth.cli.wiring import wired
    from hearth.service.policy import WrongRules

    conf = told.conf
    sockets = Sockets()
    at, cfn, clusters_at = conf.heat_api, conf.heat_api_cfn, conf.api
    clusters = role == "cluster" or (role == "all" and conf.hearth.clusters)
    if role in ("all", "api"):
        sockets.main.append(listening(at.bind_host, at.bind_port if port is None else port))
        chosen_by = "[heat_api_cfn] bind_port"
        sockets.cfn.append(listening(cfn.bind_host, cfn.bind_port, chosen_by))
    if clusters:
        number = port if role == "cluster" and port is not None else clusters_at.port
        sockets.clusters.append(listening(clusters_at.host, number, "[api] port"))
    if (watched := conf.hearth.monitoring_port) is not None:
        host, chosen_by = conf.hearth.monitoring_host, "[hearth] monitoring_port"
        sockets.monitoring.append(listening(host, watched, chosen_by))
    url = address(at.bind_host, at.bind_port, sockets.main)
    cfn_url = address(cfn.bind_host, cfn.bind_port, sockets.cfn)
    cluster_url = address(clusters_at.host, clusters_at.port, sockets.clusters)
    settings = settings_of(conf, url, cfn_url, cluster_url)

    def again() -> "tuple[Configuration, Settings]":
        found = read(configs)
        return found, settings_of(found.conf, url, cfn_url, cluster_url)

    at_url = f" {url}/v1" if sockets.main else ""
    ready = f"hearth is ready: {role}{at_url} (pid {os.getpid()})"
    if sockets.cfn:
        ready += f", cloudformation {cfn_url}/v1/"
    if sockets.clusters:
        ready += f", clusters {cluster_url}/v1"
    if sockets.monitoring:
        ready += f", metrics {address(host, 0, sockets.monitoring)}/metrics"
    async with wired(settings) as running:
        if role != "engine":
            try:
                running.services.policy.load()
                running.services.cluster_policy.load()
            except WrongRules as problem:
                raise WrongSetting(str(problem)) from None
        tell_of_readable(told.files)
        return await until_stopped(
            running,
            sockets,
            work=role in ("all", "engine"),
            clusters=clusters,
            ready=lambda: print(ready, flush=True),
            role=role,
            reload=Reloading(told, running, again),
        )


def tell_of_readable(files: Sequence[str]) -> None:
    """Warn about configuration files that every user of this machine can read, because they contain
    secrets.
    """
    for file in files:
        if Path(file).stat().st_mode & stat.S_IROTH:
            log.warning("all users of this machine can read %s, which contains keys", file)


def address(host: str, port: int, sockets: Sequence[socket.socket] = ()) -> str:
    """Return the URL of an API; its host is this machine if the API listens on all addresses. The
    port of a socket, if given, replaces the port of the configuration.
    """
    number = sockets[0].getsockname()[1] if sockets else port
    shown = "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104
    return f"http://{shown}:{number}"
