"""Servers that run: what is inside, what they may touch, what is left of them."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest

from tests.devcloud.sandbox.machines import Machines, keepers, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines() as cloud:
        yield cloud


def output(machines: Machines, script: str) -> str:
    """What a script says in a server of its own."""
    server = machines.boot("#!/bin/sh\n" + script)
    machines.reaches(server, "ACTIVE")
    text = machines.said(server)
    machines.delete(server)
    return text


def test_a_server_has_its_own_processes_and_name(machines: Machines):
    text = output(machines, "echo pid $$ of $(hostname); ls /proc | grep -c '^[0-9]'; id -u\n")
    lines = text.splitlines()
    (first,) = [line for line in lines if line.startswith("pid ")]
    pid, name = int(first.split()[1]), first.split()[3]
    assert pid < 20
    assert name == "box"
    assert int(lines[lines.index(first) + 1]) < 10
    assert "0" in lines


def test_every_namespace_is_another(machines: Machines):
    servers = [machines.boot("#!/bin/sh\nreadlink /proc/1/ns/*\n") for _ in range(2)]
    ours = {os.readlink(path) for path in Path("/proc/self/ns").iterdir()}
    one, other = (
        {line for line in machines.said(server).splitlines() if ":[" in line} for server in servers
    )
    for theirs in (one - ours - other, other - ours - one):
        kinds = {line.partition(":")[0] for line in theirs}
        assert {"user", "mnt", "pid", "net", "uts", "ipc"} <= kinds
    for server in servers:
        machines.delete(server)


def test_it_boots_in_less_than_a_second(machines: Machines):
    machines.delete(machines.boot())  # the first imports what all need
    began = time.monotonic()
    server = machines.boot("#!/bin/sh\necho up\n")
    machines.said(server)
    assert time.monotonic() - began < 1
    machines.delete(server)


def test_files_of_the_machine_cannot_be_written(machines: Machines):
    mark = Path("/usr/bin/env").stat()
    text = output(
        machines,
        "echo x >> /usr/bin/env; rm -f /usr/bin/env && echo removed; echo y > /usr/bin/env\n"
        "echo x > /usr/new && cat /usr/new; echo 0 > /proc/sys/kernel/panic || echo refused\n"
        "echo x > /dev/kmsg; mknod /tmp/disk b 254 0 && cat /tmp/disk\n",
    )
    assert "removed" in text  # in the server
    assert "refused" in text
    after = Path("/usr/bin/env").stat()
    assert (after.st_size, after.st_mtime, after.st_ino) == (
        mark.st_size,
        mark.st_mtime,
        mark.st_ino,
    )
    assert not Path("/usr/new").exists()


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that every account of the machine may read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_secrets_and_homes_of_the_machine_are_hidden(machines: Machines, readable: Path):
    secret = readable / "secret"
    secret.write_text("the data of Hearth")
    secret.chmod(0o644)
    files = " ".join(map(str, [secret, Path(__file__), *Path.home().glob(".*rc")]))
    seen = f"for f in {files}; do [ -e $f ] && echo there $f; done\n"
    text = output(
        machines,
        seen + "cat /etc/shadow; ls /home /root /srv /mnt | sed 's/^/found /'\n"
        "find /etc /home -name 'ssh_host*' -o -name '*.key' -o -name 'sudoers'\n",
    )
    assert "there" not in text
    shadow = [line for line in text.splitlines() if line.count(":") == 8]
    assert shadow == ["root:*:19000:0:99999:7:::"]
    assert "ssh_host" not in text
    assert "sudoers" not in text


def test_the_environment_of_the_cloud_is_hidden(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OS_PASSWORD", "not for servers")
    with Machines() as cloud:
        text = output(cloud, "tr '\\0' '\\n' < /proc/1/environ; env\n")
    assert "product_name=OpenStack Nova" in text
    assert "OS_PASSWORD" not in text


KEYCTL = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 250, "ppc64le": 271, "s390x": 280}.get(__import__("os").uname().machine, 219)
SEARCH, READ, SESSION = 10, 11, ctypes.c_long(-3)
found = libc.syscall(number, SEARCH, SESSION, b"user", NAME, 0)
data = ctypes.create_string_buffer(100)
size = libc.syscall(number, READ, ctypes.c_long(found), data, 100) if found > 0 else 0
print("key", data.raw[:size].decode() or "missing")
"""
ADD = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
machine = __import__("os").uname().machine
join = {"x86_64": 250, "ppc64le": 271, "s390x": 280}.get(machine, 219)
add = {"x86_64": 248, "ppc64le": 269, "s390x": 278}.get(machine, 217)
session = ctypes.c_long(-3)
joined = libc.syscall(join, 1, None)
if joined < 0 or libc.syscall(add, b"user", NAME, b"secret of the user", 18, session) < 0:
    sys.exit(f"no keys here: {ctypes.get_errno()}")
"""


def test_the_keys_of_whoever_starts_the_cloud_are_hidden():
    name = f"NAME = b'hearth-test-{os.getpid()}'\n"
    there = f"python3 - <<'END'\n{name}{KEYCTL}END\n"
    program = (
        f"{name}{ADD}exec({KEYCTL!r})\n"
        "from tests.devcloud.sandbox.machines import Machines\n"
        "from tests.devcloud.sandbox.test_servers import output\n"
        f"with Machines() as cloud:\n    print(output(cloud, {there!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    if "no keys here" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("key ")]
    assert said == ["key secret of the user", "key missing"]


def test_what_is_in_memory_and_the_processes_are_limited(machines: Machines):
    text = output(
        machines,
        "grep 'Max processes' /proc/self/limits\n"
        "df -m /run /dev/shm /dev | awk '{print \"size\", $6, $2}'\n"
        "head -c 300M /dev/zero >/dev/shm/big || echo full\nhead -c 300M /dev/zero >/run/big\n"
        "du -m /dev/shm/big /run/big\n",
    )
    (processes,) = [line for line in text.splitlines() if line.startswith("Max processes")]
    assert processes.split()[2:4] == ["8192", "8192"]
    assert {"size /run 256", "size /dev/shm 256", "size /dev 1"} <= set(text.splitlines())
    assert "full" in text
    assert {"256\t/dev/shm/big", "256\t/run/big"} <= set(text.splitlines())


def test_a_server_uses_the_cloud_but_not_its_admin_api(machines: Machines):
    script = """python3 - <<'END'
import urllib.error, urllib.request
for call in ("GET /identity/v3", "GET /devcloud/objects", "POST /devcloud/knobs",
             "DELETE /devcloud/objects/any"):
    method, path = call.split()
    asked = urllib.request.Request("URL" + path, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=5) as reply:
            print("@", method, path, reply.status)
    except urllib.error.HTTPError as error:
        print("@", method, path, error.code)
END
"""
    text = output(machines, script.replace("URL", machines.url))
    assert [line for line in text.splitlines() if line.startswith("@")] == [
        "@ GET /identity/v3 200",
        "@ GET /devcloud/objects 403",
        "@ POST /devcloud/knobs 403",
        "@ DELETE /devcloud/objects/any 403",
    ]


def test_output_of_each_kind_is_on_the_console_and_in_the_log(machines: Machines):
    text = output(
        machines,
        "echo out; echo err >&2; echo direct > /dev/console\n"
        "sleep 0.1; grep -c -E '^(out|err|direct)$' /var/log/cloud-init-output.log\nexit 3\n",
    )
    assert {"out", "err", "direct", "3"} <= set(text.splitlines())
    assert "part-001 failed with status 3" in text


HANDLER = """#part-handler
import os
def list_types():
    return ["text/x-mine"]
def handle_part(data, ctype, filename, payload):
    print("HANDLER", ctype, filename, (payload or "").strip())
"""
CONFIG = """#cloud-config
hostname: renamed
packages: [nginx]
bootcmd: ["echo BOOTCMD; ls /etc/wanted 2>/dev/null"]
write_files: [{path: /etc/wanted, content: "WRITTEN\\n", permissions: "0640"}]
runcmd: ["echo RUNCMD $(cat /etc/wanted) $(stat -c %a /etc/wanted)"]
"""


def test_a_multipart_is_carried_out_in_the_order_of_cloud_init(machines: Machines):
    message = MIMEMultipart()
    for kind, name, text in (
        ("x-shellscript", "zz-last", "#!/bin/sh\necho SCRIPT zz $(hostname)\n"),
        ("cloud-config", "config", CONFIG),
        ("part-handler", "handler.py", HANDLER),
        ("x-mine", "own", "PAYLOAD"),
        ("cloud-boothook", "hook", "#cloud-boothook\n#!/bin/sh\necho BOOTHOOK $INSTANCE_ID\n"),
        ("x-shellscript", "aa-first", "#!/bin/sh\necho SCRIPT aa\n"),
    ):
        part = MIMEText(text, kind)
        part.add_header("Content-Disposition", "attachment", filename=name)
        message.attach(part)
    server = machines.boot(gzip.compress(message.as_bytes()))
    words = ("HANDLER", "BOOT", "RUNCMD", "SCRIPT", "WRITTEN", "hearth-init: cloud")
    text = machines.said(server)
    found = [line for line in text.splitlines() if line.startswith(words)]
    assert found == [
        "hearth-init: cloud-config: packages is ignored in a sandbox server",
        "HANDLER __begin__ None ",
        "HANDLER text/x-mine own PAYLOAD",
        f"BOOTHOOK {server}",
        "HANDLER __end__ None ",
        "BOOTCMD",
        "SCRIPT aa",
        "RUNCMD WRITTEN 640",
        "SCRIPT zz renamed",
    ]
    machines.delete(server)


def test_stop_start_reboot_and_rebuild(machines: Machines):
    hook = "#cloud-boothook\n#!/bin/sh\nls /kept 2>/dev/null && echo AGAIN\ntouch /kept\n"
    server = machines.boot(hook)
    machines.said(server)
    machines.act(server, "os-stop")
    machines.reaches(server, "SHUTOFF")
    machines.act(server, "os-start")
    machines.reaches(server, "ACTIVE")
    assert "AGAIN" in machines.said(server, times=2)
    machines.act(server, "reboot", {"type": "SOFT"})
    assert machines.said(server, times=3).count("AGAIN") == 2
    machines.reaches(server, "ACTIVE")
    machines.act(server, "reboot", {"type": "HARD"})
    assert machines.said(server, times=4).count("AGAIN") == 3
    machines.reaches(server, "ACTIVE")
    image = machines.show(server)["image"]["id"]
    machines.act(server, "rebuild", {"imageRef": image})
    machines.reaches(server, "ACTIVE")
    assert "AGAIN" not in machines.said(server)
    machines.delete(server)


def test_a_script_runs_at_the_first_boot_only(machines: Machines):
    server = machines.boot("#!/bin/sh\necho ONCE\n")
    machines.said(server)
    machines.act(server, "reboot", {"type": "HARD"})
    assert machines.said(server, times=2).count("ONCE") == 1
    machines.delete(server)


TICKS = """#!/bin/sh
(n=0; while true; do n=$((n+1)); echo tick $n; sleep 0.1; done) &
"""


@pytest.mark.parametrize(("verb", "back"), [("suspend", "resume"), ("pause", "unpause")])
def test_what_user_data_started_goes_on_after_a_pause(machines: Machines, verb: str, back: str):
    server = machines.boot(TICKS)
    machines.reaches(server, "ACTIVE")
    machines.said(server, "tick 3")
    machines.act(server, verb)
    machines.reaches(server, "SUSPENDED" if verb == "suspend" else "PAUSED")
    before = machines.console(server)
    time.sleep(0.5)
    assert machines.console(server) == before
    last = int(before.rpartition("tick ")[2].split()[0])
    machines.act(server, back)
    machines.reaches(server, "ACTIVE")
    text = machines.said(server, f"tick {last + 3}")
    assert text.count("tick 1\n") == 1
    assert text.count("boot finished") == 1
    machines.act(server, verb)
    machines.reaches(server, "SUSPENDED" if verb == "suspend" else "PAUSED")
    machines.delete(server)


def test_a_suspended_server_reboots_anew(machines: Machines):
    server = machines.boot(TICKS)
    machines.reaches(server, "ACTIVE")
    machines.said(server)
    machines.act(server, "suspend")
    machines.reaches(server, "SUSPENDED")
    machines.act(server, "reboot", {"type": "HARD"})
    machines.reaches(server, "ACTIVE")
    machines.said(server, times=2)
    machines.delete(server)


def test_a_server_that_ends_by_itself_is_off(machines: Machines):
    server = machines.boot("#!/bin/sh\nsleep 1\nkill -TERM 1\n")
    machines.reaches(server, "ACTIVE")
    machines.reaches(server, "SHUTOFF")
    machines.act(server, "os-start")
    machines.reaches(server, "ACTIVE")
    machines.delete(server)


def test_a_server_that_cannot_start_says_why(machines: Machines):
    def broken(server: object) -> dict[str, object]:
        return {"hostname": "h" * 100}

    running = machines.running.sandbox
    assert running is not None
    before, running._plan = running._plan, broken  # type: ignore[method-assign,assignment]
    try:
        server = machines.boot()
        shown = machines.reaches(server, "ERROR")
    finally:
        running._plan = before  # type: ignore[method-assign]
    assert "task of the server failed" in shown["fault"]["message"]
    machines.delete(server)


def test_a_delete_ends_all_processes_of_a_server(machines: Machines):
    before = keepers()
    server = machines.boot("#!/bin/sh\n(trap '' TERM; exec sleep 4711.5) &\nsleep 0.1\n")
    machines.said(server)
    assert len(keepers()) > len(before)

    def sleeping() -> bool:
        return any(b"4711.5" in _command(path) for path in Path("/proc").glob("[0-9]*"))

    assert sleeping()
    machines.delete(server)
    assert not sleeping()
    assert keepers() == before


def _command(path: Path) -> bytes:
    try:
        return (path / "cmdline").read_bytes()
    except OSError:
        return b""


def test_twenty_at_once_and_nothing_left_at_the_end():
    before, mounts = keepers(), Path("/proc/self/mounts").read_text()
    with Machines(quotas=False) as cloud:
        servers = [cloud.boot("#!/bin/sh\necho up $(hostname)\n") for _ in range(20)]
        for server in servers:
            assert "up box" in cloud.said(server)
        assert {cloud.show(server)["status"] for server in servers} == {"ACTIVE"}
        for server in servers[:10]:
            cloud.delete(server)
    until(lambda: keepers() == before)
    assert Path("/proc/self/mounts").read_text() == mounts
