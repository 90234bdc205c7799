"""`hearth dev` as a process of the tests' own, and the unmodified clients against it."""

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import requests

from tests import hurry
from tests.clients.covered import note_command
from tests.forked import Forked

LOOK_S = 0.1
"""Between two looks of a client that waits inside this process; it takes up to five seconds."""

OF_THE_SDK = ("openstack.utils", "openstack.orchestration.util.event_utils")
OF_THE_COMMAND = ("heatclient.common.event_utils", "heatclient.osc.v1.event", "osc_lib.utils")
"""The modules in which they sleep."""

READY = re.compile(
    r"^hearth is ready: orchestration (?P<url>\S+)/v1, cloud (?P<cloud>\S+), "
    r"identity (?P<identity>[^\s,;]+)(?:, metrics (?P<metrics>\S+)/metrics)?; "
    r"clients: \. (?P<openrc>.+)\n$"
)


def environment_of(folder: Path) -> dict[str, str]:
    """Variables of a user whose clouds are in `folder`; `coe cluster config` asks for the shell."""
    return {"OS_CLIENT_CONFIG_FILE": str(folder.resolve() / "clouds.yaml"), "SHELL": "/bin/sh"}


OPENSTACK = Path(sys.executable).with_name("openstack")
HEARTH = [sys.executable, "-m", "hearth.cli.main"]


class CommandFailed(Exception):
    """The command's exit status was not zero; the message is what it said."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(said)
        self.status = status


@dataclass
class Dev:
    """A running `hearth dev`."""

    process: Forked
    url: str
    cloud_url: str
    auth_url: str
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    metrics_url: str | None = None

    def openstack(self, *arguments: str, cloud: str = "hearth") -> str:
        """The real command, in a process of its own; what it printed. Raises CommandFailed."""
        note_command(arguments)
        done = subprocess.run(
            [OPENSTACK, "--os-cloud", cloud, *arguments],
            env={**os.environ, **self.environment, "PYTHONWARNINGS": "ignore", "COLUMNS": "200"},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise CommandFailed(done.stdout + done.stderr, done.returncode)
        return done.stdout

    def shell(self, *arguments: str, cloud: str = "hearth") -> str:
        """The same command inside this process: a second less per call."""
        note_command(arguments)
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, self.environment),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            _logging_as_before(),
        ):
            warnings.simplefilter("ignore")
            from openstackclient.shell import OpenStackShell

            _forget_clients()
            with looking_often((*OF_THE_COMMAND, *OF_THE_SDK)):
                status = OpenStackShell().run(["--os-cloud", cloud, *arguments])
        if status != 0:
            raise CommandFailed(out.getvalue() + err.getvalue(), status)
        return out.getvalue()

    def json(self, *arguments: str, cloud: str = "hearth") -> Any:
        """What the command printed as JSON."""
        return json.loads(self.shell(*arguments, "-f", "json", cloud=cloud))

    @contextlib.contextmanager
    def sdk(self, cloud: str = "hearth") -> Iterator[Any]:
        """A connection of openstacksdk. Its file is named, as other threads have other clouds."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from openstack.config import OpenStackConfig
            from openstack.connection import Connection

            files = [self.environment["OS_CLIENT_CONFIG_FILE"]]
            settings = OpenStackConfig(config_files=files, load_envvars=False)
            connection = Connection(config=settings.get_one(cloud))
            try:
                with looking_often(OF_THE_SDK):
                    yield connection
            finally:
                connection.close()

    @contextlib.contextmanager
    def heat(self, cloud: str = "hearth") -> Iterator[Any]:
        """python-heatclient, with the session of a connection."""
        with self.sdk(cloud) as connection:
            from heatclient.client import Client

            yield Client("1", session=connection.session, region_name="RegionOne")

    def mark(self) -> None:
        """A fresh account in the cloud's ledger."""
        requests.post(f"{self.cloud_url}/devcloud/ledger/mark", timeout=10)

    def ledger(self) -> list[dict[str, Any]]:
        """Everything made since the mark that somebody asked for."""
        view = requests.get(f"{self.cloud_url}/devcloud/ledger", timeout=10).json()
        return [entry for entry in view["objects"] if not entry["implicit"]]

    def left_over(self) -> list[str]:
        """What of that is still there."""
        return [
            f"{entry['service']} {entry['collection']} {entry['name']}"
            for entry in self.ledger()
            if entry["deleted"] is None
        ]


@contextlib.contextmanager
def looking_often(modules: Iterable[str]) -> Iterator[None]:
    """Clients that wait in these modules look again after a moment, whatever they would do."""
    clock = SimpleNamespace(**{**vars(time), "sleep": lambda s: time.sleep(min(s, LOOK_S))})
    with contextlib.ExitStack() as patched:
        for name in modules:
            patched.enter_context(mock.patch.object(import_module(name), "time", clock))
        yield


def _forget_clients() -> None:
    """The client keeps its connections in its class: those of the last cloud would be used."""
    from openstackclient.common.clientmanager import ClientManager
    from osc_lib.clientmanager import ClientCache

    for kind in ClientManager.__mro__:
        for kept in vars(kind).values():
            if isinstance(kept, ClientCache):
                kept._handle = None


@contextlib.contextmanager
def _logging_as_before() -> Iterator[None]:
    """The client sets up the root logger for itself; take that back."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


@contextlib.contextmanager
def hearth_dev(folder: Path, *options: str, in_a_hurry: bool = False) -> Iterator[Dev]:
    """Start it on a free port with its data in a folder; stop it in the end.

    `in_a_hurry`: what it waits for takes less; its cloud takes as long as ever.
    """
    if not (folder / "password").exists():  # a folder's own would be drawn
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "password").write_text("secret")
    command = ["dev", "--port", "0", "--data", str(folder), *options]
    with Forked(command, speed=hurry.WITH_OTHERS if in_a_hurry else None) as process:
        try:
            line = process.stdout.readline()
            found = READY.match(line)
            assert found is not None, f"no ready line: {line!r}"
            urls = (found["url"], found["cloud"], found["identity"])
            yield Dev(process, *urls, folder, environment_of(folder), found["metrics"])
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def wait_for(look: Callable[[], Any], what: str, timeout_s: float = 60) -> Any:
    """The first answer that is not None; what takes longer is looked at less often."""
    began = time.monotonic()
    while (waited_s := time.monotonic() - began) < timeout_s:
        found = look()
        if found is not None:
            return found
        time.sleep(min(0.05 + waited_s / 10, 0.3))
    raise AssertionError(f"{what}: not within {timeout_s} s")


def settled(heat: Any, stack_id: str, action: str) -> Any:
    """The stack once the action has ended."""

    def look() -> Any:
        stack = heat.stacks.get(stack_id, resolve_outputs=False)
        state = stack.stack_status
        return stack if state in {f"{action}_COMPLETE", f"{action}_FAILED"} else None

    return wait_for(look, f"{action} of {stack_id}", 180)
