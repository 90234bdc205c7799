"""`hearth dev` as a process: what it says, what it writes, how it ends."""

import contextlib
import os
import platform
import random
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import requests
import yaml
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from hearth.cli.dev import _password, _prepare
from tests.clients.dev import HEARTH, READY, Dev, hearth_dev, wait_for
from tests.selection import one_first

HEAP = 64 * 1024 * 1024

pytestmark = [pytest.mark.slow, one_first]


def refused(*arguments: str) -> str:
    """What it says when it does not start: one line."""
    done = subprocess.run(
        [*HEARTH, "dev", *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def answers(dev: Dev) -> bool:
    try:
        requests.get(dev.cloud_url, timeout=5)
    except requests.ConnectionError:
        return False
    return True


def test_the_files_for_clients_are_written(tmp_path: Path):
    with hearth_dev(tmp_path / "data") as dev:
        clouds = yaml.safe_load((dev.folder / "clouds.yaml").read_text())["clouds"]
        assert set(clouds) == {"hearth", "hearth-admin"}
        assert clouds["hearth"]["auth"]["auth_url"] == dev.auth_url
        shell = subprocess.run(
            ["sh", "-c", f". '{dev.folder}/openrc' && echo $OS_CLOUD $OS_CLIENT_CONFIG_FILE"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert shell.stdout == f"hearth {dev.folder.resolve()}/clouds.yaml\n"


@pytest.mark.parametrize("user", ["demo", "admin"])
def test_clients_without_clouds_yaml_find_the_usual_variables(tmp_path: Path, user: str):
    with hearth_dev(tmp_path / "data") as dev:
        script = dev.folder / "openrc"
        before = subprocess.run(
            ["sh", "-c", f". '{script}' && . '{dev.folder}/{user}-openrc.sh' && env"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        found = dict(line.partition("=")[::2] for line in before.splitlines())
        assert "OS_CLOUD" not in found
        assert found["OS_AUTH_URL"] == dev.auth_url
        password = v3.Password(
            found["OS_AUTH_URL"], username=found["OS_USERNAME"], password=found["OS_PASSWORD"],
            project_name=found["OS_PROJECT_NAME"],
            user_domain_name=found["OS_USER_DOMAIN_NAME"],
            project_domain_name=found["OS_PROJECT_DOMAIN_NAME"],
        )  # fmt: skip
        access = password.get_access(Session())
        assert (access.username, access.project_name) == (user, user)


def test_other_users_cannot_read_the_data_folder(tmp_path: Path):
    data = tmp_path / "data"
    with started("--data", str(data)):
        assert data.stat().st_mode & 0o077 == 0
        readable = [one.name for one in data.rglob("*") if one.stat().st_mode & 0o077]
        assert readable == []
        password = (data / "password").read_text()
        assert len(password) >= 16
        clouds = yaml.safe_load((data / "clouds.yaml").read_text())["clouds"]
        assert {one["auth"]["password"] for one in clouds.values()} == {password}


def test_a_folder_from_before_keeps_its_password_and_loses_its_readers(tmp_path: Path):
    with started("--data", str(tmp_path)):
        pass
    (tmp_path / "password").unlink()
    (tmp_path / "hearth.db").chmod(0o644)
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "notes").chmod(0o644)
    assert _password(tmp_path) == "secret"
    _prepare(tmp_path)
    assert (tmp_path / "hearth.db").stat().st_mode & 0o077 == 0
    assert (tmp_path / "notes").stat().st_mode & 0o077 == 0o044


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[None]:
    with subprocess.Popen(
        [*HEARTH, "dev", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert READY.match(process.stdout.readline())
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_it_ends_on_sigterm_with_its_cloud(tmp_path: Path):
    with hearth_dev(tmp_path) as dev:
        assert answers(dev)
        dev.process.send_signal(signal.SIGTERM)
        assert dev.process.wait(20) == 0
        assert not answers(dev)
        assert dev.process.stdout is not None
        assert dev.process.stdout.read() == ""  # the ready line was all


def heaps_of_threads(pid: int) -> list[str]:
    """The heaps that glibc has made for threads: it reserves 64 MiB for each, on that boundary."""
    regions = [
        (*(int(end, 16) for end in line.split()[0].split("-")), line.split()[1])
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
    ]
    return [
        hex(start)
        for (start, end, use), (after, last, rest) in pairwise(regions)
        if not start % HEAP and use == "rw-p" and rest == "---p" and end == after
        if last - start == HEAP
    ]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have other heaps")
def test_all_threads_share_one_heap(tmp_path: Path):
    with hearth_dev(tmp_path) as dev, dev.heat() as heat:
        list(heat.stacks.list())
        assert len(list(Path(f"/proc/{dev.process.pid}/task").iterdir())) > 3
        assert heaps_of_threads(dev.process.pid) == []


def test_the_cloud_dies_with_it(tmp_path: Path):
    with hearth_dev(tmp_path) as dev:
        dev.process.kill()
        dev.process.wait(10)
        wait_for(lambda: True if not answers(dev) else None, "the end of the cloud", 10)


def test_what_was_made_is_there_after_a_restart(tmp_path: Path):
    template = "heat_template_version: 2021-04-16\nresources: {n: {type: OS::Neutron::Net}}\n"
    with hearth_dev(tmp_path) as dev, dev.heat() as heat:
        heat.stacks.create(stack_name="kept", template=template)
        wait_for(
            lambda: True if heat.stacks.get("kept").stack_status == "CREATE_COMPLETE" else None,
            "the stack",
        )
    with hearth_dev(tmp_path) as dev, dev.heat() as heat, dev.sdk() as cloud:
        assert heat.stacks.get("kept").stack_status == "CREATE_COMPLETE"
        (resource,) = heat.resources.list("kept")
        assert cloud.get_network(resource.physical_resource_id) is not None


def test_an_ephemeral_one_leaves_nothing(tmp_path: Path):
    with subprocess.Popen(
        [*HEARTH, "dev", "--ephemeral", "--port", "0"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert READY.match(process.stdout.readline())
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in {0, 130}
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_told(tmp_path: Path):
    port, taken = a_free_port_before_a_taken_one()
    with taken:
        own = refused("--port", str(port + 1), "--data", str(tmp_path))
        clouds = refused("--port", str(port), "--data", str(tmp_path))
    said = rf"port {port + 1} on .* cannot be used: Address already in use"
    assert re.search(said, own)
    assert re.search(said, clouds)
    assert "choose another with --port; make dev PORT=0 uses any free one" in own


def a_free_port_before_a_taken_one() -> tuple[int, socket.socket]:
    """The cloud listens on the port after the API's: one of such a pair is taken, the other free.

    Ports below the range that the kernel hands out, so that no client of another test gets the
    free one in between.
    """
    for port in range(random.randrange(20000, 30000, 2), 32000, 2):
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port, socket.create_server(("127.0.0.1", port + 1))
        except OSError:
            continue
    raise AssertionError("no two ports beside each other are free")


def test_a_folder_that_cannot_be_written_is_told():
    said = refused("--port", "0", "--data", "/proc/nowhere")
    assert said.startswith("hearth: /proc/nowhere cannot be written to")


def test_a_folder_in_use_is_left_alone(tmp_path: Path):
    with hearth_dev(tmp_path) as dev:
        before = (tmp_path / "clouds.yaml").read_text()
        said = refused("--port", "0", "--data", str(tmp_path))
        assert "in use by another Hearth process" in said
        assert (tmp_path / "clouds.yaml").read_text() == before
        assert answers(dev)
