"""Pages whose commands are run as they stand there: their blocks, and how they are run.

A block ```sh is run; a block ```text after it is what it prints, where `…` is anything.
"""

import json
import re
import shlex
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.dev import LOOK_S, OPENSTACK, CommandFailed, Dev

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- end of a block --"
LIMIT_S = 600

CALL = """
import json, socket, sys
with socket.socket(socket.AF_UNIX) as other:
    other.connect(sys.argv[1])
    other.sendall(json.dumps(sys.argv[2:]).encode() + b"\\n")
    said, status = json.loads(other.makefile().read())
sys.stdout.write(said)
sys.exit(status)
"""


def blocks(page: Path) -> list[tuple[str, str | None]]:
    """The commands, block by block, each with what it prints where the page shows that."""
    found: list[tuple[str, str | None]] = []
    for kind, text in BLOCK.findall(page.read_text()):
        if kind == "sh":
            found.append((text, None))
        else:
            found[-1] = (found[-1][0], text)
    return found


def differing(
    page: Path, dev: Dev, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, str]]:
    """Run a page's commands in a folder; (what is shown, what was printed) where they differ."""
    script = f"CLOUD='{dev.cloud_url}'\n"
    script += "".join(f"{text}echo\necho '{MARK}'\n" for text, _ in blocks(page))
    script = script.replace(". .hearth/openrc", f". '{dev.folder}/openrc'")
    script = script.replace("$PWD/.venv/bin", str(OPENSTACK.parent))
    said = printed(script, dev, folder, monkeypatch).split(f"{MARK}\n")
    told = [(text, words) for (_, text), words in zip(blocks(page), said, strict=False) if text]
    return [
        (text, words)
        for text, words in told
        if not re.fullmatch(_shown(text), _trimmed(words), re.DOTALL)
    ]


def printed(script: str, dev: Dev, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a script of the shell prints, whose `openstack` commands are run in this process."""
    monkeypatch.chdir(folder)
    door = folder / "door"
    call = shlex.join([sys.executable, "-S", "-I", "-c", CALL, str(door)])
    before = f'openstack() {{ {call} "$@"; }}\nsleep() {{ command sleep {LOOK_S}; }}\n'
    with _commands(dev, door):
        try:
            done = subprocess.run(
                ["sh", "-e"], input=before + script, cwd=folder,
                capture_output=True, text=True, timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{LIMIT_S} s are over: {late.stdout!r}") from None
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout


def _shown(text: str) -> str:
    """An expression for what is shown."""
    return ".*?".join(re.escape(part) for part in text.strip().split("…"))


def _trimmed(printed: str) -> str:
    """What is printed, without the blanks at its edges."""
    return "\n".join(line.rstrip() for line in printed.strip().splitlines())


@contextmanager
def _commands(dev: Dev, path: Path) -> Iterator[None]:
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
