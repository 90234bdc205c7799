"""`hearth serve`: a Keystone and a database that are there already, told by a configuration."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.clients.dev import HEARTH
from tests.devcloud.running import Served

CONFIG = """
[DEFAULT]
auth_encryption_key = 0123456789abcdef0123456789abcdef
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = secret
stack_user_domain_name = {domain}
max_stacks_per_tenant = {stacks}

[heat_api]
bind_host = 127.0.0.1

[database]
connection = {database}

[keystone_authtoken]
auth_url = {auth_url}
username = hearth
password = {password}
"""


@pytest.fixture(scope="module")
def cloud() -> Iterator[Served]:
    with Served() as running:
        yield running


class Site:
    """A configuration that works, and what happens with one value of it changed."""

    def __init__(self, cloud: Served, folder: Path) -> None:
        self.path = folder / "hearth.conf"
        self.values = {
            "domain": "heat",
            "stacks": "5",
            "database": f"sqlite:///{folder}/hearth.db",
            "auth_url": f"{cloud.url}/identity/v3",
            "password": "secret",
        }

    def command(self, **changed: str) -> list[str]:
        self.path.write_text(CONFIG.format(**{**self.values, **changed}))
        return [*HEARTH, "serve", "--port", "0", "--config", str(self.path)]

    def refused(self, **changed: str) -> str:
        done = subprocess.run(
            self.command(**changed), capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith("hearth: ")
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr


@pytest.fixture
def site(cloud: Served, tmp_path: Path) -> Site:
    return Site(cloud, tmp_path)


@pytest.mark.slow
def test_it_serves_an_existing_cloud(cloud: Served, site: Site):
    with subprocess.Popen(site.command(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("hearth is ready: all http://127.0.0.1:")
            url = line.split()[4]
            token = cloud.token()
            project = cloud.call("GET", "/identity/v3/auth/tokens", headers={
                "X-Subject-Token": token}).json()["token"]["project"]["id"]  # fmt: skip
            listed = requests.get(
                f"{url}/{project}/stacks", headers={"X-Auth-Token": token}, timeout=10
            )
            assert listed.json() == {"stacks": []}
        finally:
            process.terminate()
        assert process.wait(20) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"stacks": "many"}, "max_stacks_per_tenant"),
        ({"database": "nonsense"}, "[database] connection"),
        ({"database": "sqlite:////nowhere/hearth.db"}, "/nowhere/hearth.db"),
        ({"database": "mysql+pymysql://a:b@127.0.0.1:1/x"}, "the database cannot be used"),
        ({"database": ""}, "not set: [database] connection"),
        ({"domain": "nodomain"}, "Keystone has no domain nodomain"),
        ({"auth_url": "http://127.0.0.1:1/v3"}, "Keystone at http://127.0.0.1:1/v3"),
        ({"password": "wrong"}, "requires authentication"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(site: Site, changed: dict[str, str], told: str):
    assert told in site.refused(**changed)


def test_a_configuration_that_is_not_there_is_told(tmp_path: Path):
    command = [*HEARTH, "serve", "--config", str(tmp_path / "none.conf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "there is no such file" in done.stderr
