"""`hearth dev --servers sandbox` as a process: its servers, and what is left when it ends."""

import base64
import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hearth_devcloud.sandbox import fabric, haproxy
from tests.clients.dev import Dev, hearth_dev
from tests.devcloud.sandbox.machines import haproxies, keepers, need_namespaces, until
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

SCRIPT = "#!/bin/sh\necho hello from $(hostname), mode $(stat -c %a /etc)\nexec sleep 4712.5\n"


@pytest.fixture(autouse=True)
def _on_linux() -> None:
    need_namespaces()


def booted(dev: Dev) -> str:
    """A server whose script has spoken."""
    with dev.sdk() as cloud:
        image = next(iter(cloud.image.images()))
        data = base64.b64encode(SCRIPT.encode()).decode()
        server = cloud.compute.create_server(
            name="box", flavor_id="1", image_id=image.id, user_data=data, networks="auto"
        )
        server = cloud.compute.wait_for_server(server, interval=0.05, wait=20)
        until(lambda: "hello" in cloud.compute.get_server_console_output(server)["output"])
        return str(server.id)


def sleeping() -> list[str]:
    """Processes of the script."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if "4712.5" in path.read_text():
                found.append(path.parent.name)
    return found


def cloud_of(dev: Dev) -> int:
    """The process of the embedded cloud."""
    pid = dev.process.pid
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def test_a_server_runs_its_script_and_the_command_shows_its_console(tmp_path: Path):
    with hearth_dev(tmp_path, "--servers", "sandbox") as dev:
        server = booted(dev)
        assert "hello from box, mode 755" in dev.shell("console", "log", "show", server)


def test_no_process_is_left_after_a_stop(tmp_path: Path):
    with hearth_dev(tmp_path, "--servers", "sandbox") as dev:
        booted(dev)
        cloud = cloud_of(dev)
        assert len(keepers(cloud)) >= 3
    assert keepers(cloud) == set()


def test_no_process_and_no_mount_is_left_after_a_kill(tmp_path: Path):
    mounts = Path("/proc/self/mounts").read_text()
    with hearth_dev(tmp_path, "--servers", "sandbox") as dev:
        booted(dev)
        cloud = cloud_of(dev)
        assert len(keepers(cloud)) >= 3
        assert sleeping() != []
        dev.process.send_signal(signal.SIGKILL)
        until(lambda: keepers(cloud) == set())
    assert Path("/proc/self/mounts").read_text() == mounts
    assert sleeping() == []
    assert list((tmp_path / "volumes").iterdir()) == []


def test_no_load_balancer_is_left_after_a_kill(tmp_path: Path):
    if haproxy.program() is None or fabric.programs()[0] is None:
        pytest.skip("needs haproxy and ip")
    with hearth_dev(tmp_path, "--servers", "sandbox") as dev, dev.sdk() as cloud:
        subnet = cloud.network.find_subnet("private-subnet")
        balancer = cloud.load_balancer.create_load_balancer(vip_subnet_id=subnet.id)
        cloud.load_balancer.wait_for_load_balancer(balancer.id, interval=0.05)
        cloud.load_balancer.create_listener(
            load_balancer_id=balancer.id, protocol="TCP", protocol_port=80
        )
        process = cloud_of(dev)
        (running,) = until(lambda: haproxies(process))
        dev.process.send_signal(signal.SIGKILL)
        until(lambda: not Path(f"/proc/{running}").exists())


def test_servers_that_ran_are_off_after_a_restart_and_boot_again(tmp_path: Path):
    with hearth_dev(tmp_path, "--servers", "sandbox") as dev:
        server = booted(dev)
    with hearth_dev(tmp_path, "--servers", "sandbox") as dev, dev.sdk() as cloud:
        assert cloud.compute.get_server(server).status == "SHUTOFF"
        cloud.compute.start_server(server)
        until(lambda: "hello" in cloud.compute.get_server_console_output(server)["output"])


def test_a_server_of_a_stack_configures_another(tmp_path: Path):
    template = Path(__file__).with_name("two-servers.yaml").read_text()
    with hearth_dev(tmp_path, "--servers", "sandbox") as dev, dev.heat() as heat:
        heat.stacks.create(stack_name="two", template=template)
        until(lambda: heat.stacks.get("two").stack_status != "CREATE_IN_PROGRESS", 60)
        stack = heat.stacks.get("two")
        assert stack.stack_status == "CREATE_COMPLETE", stack.stack_status_reason
        outputs = {one["output_key"]: one["output_value"] for one in stack.outputs}
        assert list(json.loads(outputs["said"]).values()) == [outputs["password"]]
        cloud = cloud_of(dev)
        assert len(keepers(cloud)) > 2
        heat.stacks.delete("two")
        until(lambda: len(keepers(cloud)) == 2)  # the keeper itself


@pytest.mark.parametrize("api", ["http://192.0.2.1:8004/v1", "http://heat.example/v1"])
def test_it_is_refused_while_the_api_listens_elsewhere(api: str):
    command = [sys.executable, "-m", "hearth_devcloud", "--servers", "sandbox"]
    done = subprocess.run(
        [*command, "--orchestration-url", api],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "sandbox servers need an API on a loopback address" in done.stderr
    assert done.stdout == ""


def test_it_says_that_it_is_no_security_boundary(tmp_path: Path):
    command = [sys.executable, "-m", "hearth.cli.main", "dev", "--port", "0"]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path), "--servers", "sandbox"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.terminate()
        assert "not a security boundary" in process.stderr.read()
