"""The demo as a newcomer runs it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.devcloud.sandbox.machines import need_namespaces, until
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
COMMAND = [sys.executable, "-m", "hearth.cli.main", "demo"]
REFUSED = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'


def keepers(folder: Path) -> set[str]:
    """The processes of keepers whose demo has its temporary files in a folder."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (
                b"hearth_devcloud.sandbox.keeper" in (path / "cmdline").read_bytes()
                and f"TMPDIR={folder}\0".encode() in (path / "environ").read_bytes()
            ):
                found.add(path.name)
    return found


def alive(group: int) -> bool:
    """Whether a group of processes has any left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_demo_runs_a_script_on_a_server_and_leaves_nothing(tmp_path: Path):
    need_namespaces()
    before = Path("/proc/self/mounts").read_text()
    done = subprocess.run(
        [*COMMAND, "--transcript"], env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert re.search(r"said_by_web +release 1\.1 of web runs on shop-web-\S+, in", done.stdout)
    assert "the server of db signals" not in done.stdout, "its server does"
    assert "$ hearth agent --user-data >shop/agent.sh" in done.stdout
    assert "The cloud is empty" in done.stdout
    assert list(tmp_path.iterdir()) == []
    until(lambda: not keepers(tmp_path))
    assert Path("/proc/self/mounts").read_text() == before


def test_the_demo_says_why_its_servers_do_not_run_and_ends_with_an_empty_cloud(tmp_path: Path):
    need_namespaces()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["unshare", "-r", "sh", "-c", REFUSED, "sh", *COMMAND, "--transcript"],
        env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith(
        "The servers of this demo do not run and execute no scripts: no namespaces: "
    )
    account = re.search(r"The cloud is empty: (\d+) creates, (\d+) deletes", done.stdout)
    assert account is not None
    assert account[1] == account[2]
    assert int(account[1]) >= 15
    assert "app.server               CREATE_COMPLETE" in done.stdout
    assert "web was changed in place" in done.stdout
    assert "$ openstack stack create -t shop/three_tier.yaml -e shop/env.yaml" in done.stdout
    commands = re.findall(r"(?m)^\$ (.*)$", done.stdout)
    source = next(words.split()[2] for words in commands if words.startswith("cp -r "))
    assert (Path(source) / "three_tier.yaml").exists(), "the templates stay there"
    assert not any(str(tmp_path) in words for words in commands), "what goes with the demo"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["network", "web.deployment"])
def test_an_interrupted_demo_leaves_nothing(tmp_path: Path, word: str):
    need_namespaces()
    before = Path("/proc/self/mounts").read_text()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as demo:  # fmt: skip
        assert demo.stdout is not None
        for line in demo.stdout:
            if word in line:
                break
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does it
        _, said = demo.communicate(timeout=30)
    assert demo.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    until(lambda: not alive(demo.pid))
    until(lambda: not keepers(tmp_path))
    assert Path("/proc/self/mounts").read_text() == before
