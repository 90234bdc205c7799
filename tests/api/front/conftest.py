"""`hearth serve` as an operator has it, its configuration to be changed while it runs."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clients.dev import wait_for
from tests.config.test_configuration import put
from tests.devcloud.running import Served
from tests.forked import Forked


class Site:
    """A running process and its configuration."""

    def __init__(self, cloud: Served, folder: Path) -> None:
        self.cloud = cloud
        self.folder = folder
        self.log = folder / "hearth.log"
        self.url = ""
        self.cfn_url = ""
        self.process: Forked | None = None

    def write(self, *more: str, **sections: dict[str, str]) -> Path:
        """The configuration of this place, with other values."""
        usual: dict[str, dict[str, str]] = {
            "DEFAULT": {
                "stack_domain_admin": "heat_domain_admin",
                "stack_domain_admin_password": "secret",
                "stack_user_domain_name": "heat",
                "log_file": str(self.log),
            },
            "database": {"connection": f"sqlite:///{self.folder}/hearth.db"},
            "heat_api": {"bind_host": "127.0.0.1"},
            "heat_api_cfn": {"bind_host": "127.0.0.1", "bind_port": "0"},
            "keystone_authtoken": {
                "auth_url": f"{self.cloud.url}/identity/v3",
                "username": "hearth",
                "password": "secret",
            },
        }
        for name, values in sections.items():
            usual[name] = {**usual.get(name, {}), **values}
        return put(self.folder, *more, **usual)

    def start(self, *options: str) -> None:
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()
        command = ["serve", "--port", "0", "--config", str(self.folder / "heat.conf")]
        self.process = Forked([*command, *options], env={**os.environ, "HEARTH_LOG": "INFO"})
        words = self.process.stdout.readline().split()
        assert words[:3] == ["hearth", "is", "ready:"], words
        self.url = words[4].rstrip("/").removesuffix("/v1")
        self.cfn_url = words[-1].removesuffix("/v1/")

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            assert self.process.stdout is not None
            self.process.stdout.close()

    def reload(self, *more: str, **sections: dict[str, str]) -> str:
        """Another configuration, and SIGHUP; what the log says of it."""
        assert self.process is not None
        self.write(*more, **sections)
        before = len(self.log.read_text())
        self.process.send_signal(signal.SIGHUP)

        def look() -> str | None:
            said = self.log.read_text()[before:]
            return (
                said
                if "the settings were reloaded" in said or "settings remain unchanged" in said
                else None
            )

        return str(wait_for(look, "the answer to SIGHUP", 20))

    def told(self, word: str) -> str:
        """The newest line of the log that holds a word, once there is one."""

        def look() -> str | None:
            lines = [one for one in self.log.read_text().splitlines() if word in one]
            return lines[-1] if lines else None

        return str(wait_for(look, f"{word} in the log", 20))

    def token(self, user: str = "demo") -> dict[str, str]:
        return {"X-Auth-Token": self.cloud.token(user)}

    def project(self, user: str = "demo") -> str:
        found = self.cloud.cloud.store.where("identity.projects", name=user)[0]
        return str(found.id)

    def stacks(self, user: str = "demo", **headers: str) -> requests.Response:
        """The list of stacks."""
        return self.call("GET", f"/v1/{self.project(user)}/stacks", user=user, headers=headers)

    def call(self, method: str, path: str, *, user: str = "demo", **more: Any) -> requests.Response:
        headers = {**self.token(user), **more.pop("headers", {})}
        return requests.request(
            method, f"{self.url}{path}", headers=headers, timeout=20, allow_redirects=False, **more
        )


@contextlib.contextmanager
def served(folder: Path, *options: str, **sections: dict[str, str]) -> Iterator[Site]:
    """A cloud, and Hearth with a configuration of its own."""
    with Served() as cloud:
        one = Site(cloud, folder)
        one.write(**sections)
        one.start(*options)
        try:
            yield one
        finally:
            assert one.process is not None
            if one.process.poll() is None:
                one.stop()
            elif one.process.stdout is not None:
                one.process.stdout.close()


@pytest.fixture(scope="module")
def hearth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests of a module, with nothing special set."""
    with served(tmp_path_factory.mktemp("served")) as one:
        yield one
