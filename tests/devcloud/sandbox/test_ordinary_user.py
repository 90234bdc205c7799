"""The keeper of an ordinary user: servers without any privilege."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hearth_devcloud
from tests.conftest import lacking
from tests.devcloud.sandbox.machines import need_namespaces

pytestmark = pytest.mark.slow

NOBODY = 65534
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
CHECK = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import ctypes"], check=True)
sys.exit(sys.version_info < (3, 11))
"""
PROGRAM = """
import base64, json, os, socket, subprocess, sys
from hearth_devcloud.sandbox import wire

here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
keeper = subprocess.Popen(
    [sys.executable, "-m", "hearth_devcloud.sandbox.keeper", str(there.fileno()),
     "--volumes=" + sys.argv[1]],
    pass_fds=[there.fileno()],
)
there.close()
here.settimeout(20)
wire.receive(here)
script = (
    "#!/bin/sh\\necho I am $(id -u) $$ on $(hostname)\\n"
    "echo x >> /usr/bin/env || echo refused\\ncat /etc/shadow\\n"
    "cat /mnt/vdb/note && rm /mnt/vdb/note\\nip -o addr show eth0\\n"
    "python3 -c 'import socket; socket.create_connection((\\"169.254.169.254\\", 80), 2)' "
    "&& echo metadata address: in use\\n"
    "ip addr add 10.9.0.1/24 dev eth0 || echo the address is kept\\n"
)
part = {"type": "text/x-shellscript", "name": "script", "note": "",
        "data": base64.b64encode(script.encode()).decode()}
plan = {"cloud_init": False, "instance_id": "i", "hostname": "mine", "notes": [],
        "user_data": "", "parts": [part], "bootcmd": "", "runcmd": "", "write_files": [],
        "authorized_keys": [], "etc": {}, "drive": {}, "changes_network": False}
console, file = os.memfd_create("console"), os.memfd_create("plan")
os.write(file, json.dumps(plan).encode())
os.lseek(file, 0, os.SEEK_SET)
network = os.memfd_create("document")
port = {"name": "eth0", "network": "net", "mac": "fa:16:3e:00:00:01", "mtu": 1450,
        "addresses": ["10.9.0.7/24"]}
os.write(network, json.dumps({"networks": ["net"], "volumes": ["v"], "balancers": {}, "places": {
    "s": {"ports": {"p": port}, "routes": [], "rules": "",
          "volumes": {"vdb": "v"}}}}).encode())
os.lseek(network, 0, os.SEEK_SET)


def ask(files=(), **message):
    wire.send(here, {"number": 1, **message}, files)
    answer, opened = wire.receive(here)
    assert "error" not in answer, answer
    return opened


ask([console, file], do="start", id="s", image=None, fresh=True, disk_mb=64, memory_mb=64,
    hostname="mine", listen=[["169.254.169.254", 80]])
ask([network], do="fabric")
ask(do="go", id="s")
for _ in range(200):
    text = os.pread(console, 65536, 0).decode()
    if "boot finished" in text:
        break
    import time
    time.sleep(0.05)
print(text)
here.close()
keeper.wait(10)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of an ordinary user, with a copy of the keeper that everybody may read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    source, copy = Path(hearth_devcloud.__file__).parent, folder / "hearth_devcloud"
    copy.mkdir()
    shutil.copy(source / "__init__.py", copy)
    for name in ("images", "sandbox"):
        shutil.copytree(source / name, copy / name)
    (folder / "volumes" / "v").mkdir(parents=True)
    (folder / "volumes" / "v" / "note").write_text("NOTE\n")
    if os.geteuid() == 0:
        for path in (folder / "volumes", folder / "volumes" / "v"):
            os.chown(path, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def _user() -> tuple[list[str], str]:
    """The command that changes to an ordinary user, and a Python that this user can run."""
    if os.geteuid() != 0:
        return [], sys.executable
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run(
            [*change, python, "-c", CHECK], capture_output=True, check=False, cwd="/"
        )
        if done.returncode == 0:
            return change, python
    lacking("a Python 3.11 that an ordinary user can run")
    raise AssertionError


WITHOUT_PROGRAMS = 'for p in $(which -a ip nft); do mount --bind /dev/null $p; done; exec "$@"'


@pytest.mark.parametrize("programs", [True, False], ids=["with ip", "without ip"])
def test_an_ordinary_user_has_servers_too(place: Path, *, programs: bool):
    need_namespaces()
    change, python = _user()
    if not programs:
        change += ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", WITHOUT_PROGRAMS]
        change.append("sh")
    done = subprocess.run(
        [*change, python, "-c", PROGRAM, str(place / "volumes")],
        env={"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", "PATH": PATH},
        capture_output=True, text=True, timeout=60, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("I am 0 ") and line.endswith(" on mine") for line in lines)
    assert "refused" in lines
    assert "the address is kept" in lines
    assert "root:*:19000:0:99999:7:::" in lines
    assert "NOTE" in lines
    assert not (place / "volumes" / "v" / "note").exists()
    assert any("inet 10.9.0.7/24" in line for line in lines) == programs
    assert "metadata address: in use" in lines
    assert ("hearth-init: /usr is read-only: the machine has mounts below it" in lines) != programs
