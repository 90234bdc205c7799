"""An API process and engines as processes of their own, on the database of a server."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import requests

from benchmarks.databases import fresh
from benchmarks.machine import cpu_s
from benchmarks.served import (
    CONFIG,
    HEARTH,
    PASSWORD,
    Client,
    begun,
    cloud_for,
    free_port,
    line,
    sign_in,
    url_in,
)

COUNTED = re.compile(r"^hearth_database_statements_total ([0-9.e+]+)$", re.MULTILINE)


@dataclass
class Several:
    """The running processes, and a client of the API."""

    client: Client
    api: "subprocess.Popen[str]"
    engines: list["subprocess.Popen[str]"] = field(default_factory=list)
    monitoring: list[str] = field(default_factory=list)  # addresses of the API and the engines

    def cpu_s(self) -> float:
        """Processor time of all engines."""
        return sum(cpu_s(one.pid) for one in self.engines)

    def statements(self) -> float:
        """Statements that the API and the engines have sent to the database."""
        pages = [requests.get(f"{url}/metrics", timeout=30).text for url in self.monitoring]
        return sum(float(found[1]) for page in pages if (found := COUNTED.search(page)))


@contextlib.contextmanager
def several(folder: Path, kind: str, engines: int, broker: str = "") -> Iterator[Several]:
    """Start the cloud, an API process and engines; without a broker the database wakes them."""
    with contextlib.ExitStack() as all_of_it:
        begin = partial(begun, all_of_it)
        database, port = all_of_it.enter_context(fresh(kind)), free_port()
        assert database is not None
        _, started = cloud_for(begin, port)
        values = {"password": PASSWORD, "auth_url": started["auth_url"], "port": port}
        text = CONFIG.format(database="", **values).replace(
            "sqlite:///", database.replace("%", "%%")
        )
        if broker:
            text = text.replace("[DEFAULT]", f"[DEFAULT]\ntransport_url = {broker}")
        monitoring: list[str] = []

        def start(role: str) -> "subprocess.Popen[str]":
            """Start a process with a port of its own for its metrics."""
            config, own = folder / f"{role}{len(monitoring)}.conf", free_port()
            config.write_text(f"{text}\n[hearth]\nmonitoring_port = {own}\n")
            monitoring.append(f"http://127.0.0.1:{own}")
            return begin(HEARTH, "serve", "--config", config, "--role", role)

        api = start("api")
        url = url_in(line(api))
        started_engines = [start("engine") for _ in range(engines)]
        for one in started_engines:
            line(one)
        token, project = sign_in(started["auth_url"])
        client = all_of_it.enter_context(contextlib.closing(Client(f"{url}/{project}", token)))
        yield Several(client, api, started_engines, monitoring)
