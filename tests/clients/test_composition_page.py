"""The commands of docs/composition.md are run as they stand there, and print what it shows."""

import json
import re
import shlex
import shutil
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from heatclient.common import event_utils

from tests.clients.dev import CommandFailed, Dev
from tests.conftest import lacking

pytestmark = pytest.mark.slow
PAGE = Path(__file__).resolve().parents[2] / "docs" / "composition.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- end of a block --"
LOOK_S = 0.1  # between two looks of a client that waits; it takes five seconds itself
LIMIT_S = 90

CALL = """
import json, socket, sys
with socket.socket(socket.AF_UNIX) as other:
    other.connect(sys.argv[1])
    other.sendall(json.dumps(sys.argv[2:]).encode() + b"\\n")
    said, status = json.loads(other.makefile().read())
sys.stdout.write(said)
sys.exit(status)
"""


def blocks() -> list[tuple[str, str | None]]:
    """The commands, block by block, each with what it prints where the page shows that."""
    found: list[tuple[str, str | None]] = []
    for kind, text in BLOCK.findall(PAGE.read_text()):
        if kind == "sh":
            found.append((text, None))
        else:
            found[-1] = (found[-1][0], text)
    return found


def shown(text: str) -> str:
    """An expression for what is shown; `…` is anything."""
    return ".*?".join(re.escape(part) for part in text.strip().split("…"))


def trimmed(printed: str) -> str:
    """What is printed, without the blanks at its edges."""
    return "\n".join(line.rstrip() for line in printed.strip().splitlines())


@contextmanager
def commands(dev: Dev, path: Path) -> Iterator[None]:
    """The `openstack` command in this process, for others that call it by a socket."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                answer = (dev.shell(*json.loads(self.rfile.readline())), 0)
            except CommandFailed as failed:
                answer = (str(failed), failed.status)
            self.wfile.write(json.dumps(answer).encode())

    with socketserver.UnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def test_the_commands_work_and_print_what_the_page_shows(
    dev: Dev, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if shutil.which("curl") is None:
        lacking("curl")
    monkeypatch.chdir(tmp_path)
    clock = SimpleNamespace(sleep=lambda _: time.sleep(LOOK_S))
    monkeypatch.setattr(event_utils, "time", clock)
    door = tmp_path / "door"
    call = shlex.join([sys.executable, "-S", "-I", "-c", CALL, str(door)])
    script = f'openstack() {{ {call} "$@"; }}\nsleep() {{ command sleep {LOOK_S}; }}\n'
    script += f"CLOUD='{dev.cloud_url}'\n"
    script += "".join(f"{text}echo\necho '{MARK}'\n" for text, _ in blocks())
    dev.mark()
    with commands(dev, door):
        done = subprocess.run(
            ["sh", "-e"], input=script, cwd=tmp_path,
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    said = done.stdout.split(f"{MARK}\n")
    told = [(text, printed) for (_, text), printed in zip(blocks(), said, strict=False) if text]
    assert len(told) >= 10
    assert [
        one for one in told if not re.fullmatch(shown(one[0]), trimmed(one[1]), re.DOTALL)
    ] == []
    assert dev.left_over() == []
