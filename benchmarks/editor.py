"""An editor as a script: the protocol by hand, over pipes or a socket."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

ANSWER_S_MAX = 60.0
COMMAND = (sys.executable, "-m", "hearth.cli.main", "lsp")
CAPABILITIES = {
    "textDocument": {
        "completion": {"completionItem": {"snippetSupport": True}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "rename": {"prepareSupport": True},
    }
}
Message = dict[str, Any]


class Failed(Exception):
    """The server has answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Client:
    """One editor with one server."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        command: Sequence[str] = COMMAND,
        capabilities: Mapping[str, Any] = CAPABILITIES,
        options: Mapping[str, Any] | None = None,
        tcp: bool = False,
    ) -> None:
        self.folder = folder
        self.capabilities = capabilities
        self.options = options
        self.process = subprocess.Popen(
            [*command, *(("--tcp", "0") if tcp else ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._out: IO[bytes] = self.process.stdin
        self._in: IO[bytes] = self.process.stdout
        self._pipes = [self.process.stdin, self.process.stdout, self.process.stderr]
        if tcp:
            host, _, port = self.process.stderr.readline().decode().split()[-1].rpartition(":")
            with socket.create_connection((host, int(port)), 10) as line:
                self._in, self._out = line.makefile("rb"), line.makefile("wb")
            self._pipes += [self._in, self._out]
        self.errors: list[str] = []
        self._messages: queue.Queue[Message | None] = queue.Queue()
        self._kept: list[Message] = []
        self._number = 0
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Client:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # -- a life ---------------------------------------------------------------------------------

    def start(self) -> Message:
        """Introduce ourselves; what the server can."""
        answer: Message = self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": self.folder.as_uri() if self.folder else None,
                "capabilities": self.capabilities,
                "initializationOptions": self.options,
            },
        )
        self.tell("initialized", {})
        return answer

    def stop(self) -> int:
        """Shut the server down; its exit status."""
        if self.process.poll() is None:
            with suppress(OSError, Failed):
                self.ask("shutdown", None)
                self.tell("exit", None)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        for reader in self._readers:
            reader.join(5)
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        return status

    # -- messages -------------------------------------------------------------------------------

    def send(self, body: bytes) -> None:
        """Any bytes as a message."""
        self._out.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._out.flush()

    def tell(self, method: str, params: Any) -> None:
        """A notification."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request. Raises Failed."""
        self._number += 1
        number = self._number
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message).encode())
        answer = self.await_(lambda one: one.get("id") == number and "method" not in one)
        if answer.get("error"):
            raise Failed(answer["error"])
        return answer.get("result")

    def error(self, body: bytes) -> tuple[Any, int]:
        """The id and code of the error with which a message is answered."""
        self.send(body)
        answer = self.await_(lambda one: "error" in one)
        return answer.get("id"), answer["error"]["code"]

    def await_(self, fits: Callable[[Message], bool]) -> Message:
        """The first message that fits, of those that have come and those that will."""
        for message in self._kept:
            if fits(message):
                self._kept.remove(message)
                return message
        while True:
            received = self._messages.get(timeout=ANSWER_S_MAX)
            if received is None:
                raise EOFError("the server has ended: " + "".join(self.errors))
            if fits(received):
                return received
            self._kept.append(received)

    def kept(self, method: str, uri: str) -> list[Message]:
        """The notifications about a URI that have come and that nobody has asked for yet."""
        return [
            one for one in self._kept if one.get("method") == method and one["params"]["uri"] == uri
        ]

    def hang_up(self) -> None:
        """Say nothing any more."""
        self._out.close()

    def _read(self) -> None:
        while True:
            length = 0
            while (line := self._in.readline()).strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not line:
                self._messages.put(None)
                return
            self._messages.put(json.loads(self._in.read(length)))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace"))

    # -- what editors do ------------------------------------------------------------------------

    def open(self, uri: str, text: str, version: int = 1) -> None:
        """Open a text."""
        item = {"uri": uri, "languageId": "yaml", "version": version, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, *changes: Mapping[str, Any]) -> None:
        """Change an open text."""
        about = {"uri": uri, "version": version}
        params = {"textDocument": about, "contentChanges": list(changes)}
        self.tell("textDocument/didChange", params)

    def close(self, uri: str) -> None:
        """Close a text."""
        self.tell("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int | None = None) -> list[Message]:
        """What is told next to be wrong with a text, or with one version of it."""

        def fits(message: Message) -> bool:
            params = message.get("params") or {}
            return (
                message.get("method") == "textDocument/publishDiagnostics"
                and params["uri"] == uri
                and (version is None or params.get("version") == version)
            )

        found: list[Message] = self.await_(fits)["params"]["diagnostics"]
        return found

    def at(self, feature: str, uri: str, line: int, column: int, **more: Any) -> Any:
        """What a feature has to say of a place."""
        params = {
            "textDocument": {"uri": uri},
            "position": {"line": line, "character": column},
            **more,
        }
        return self.ask(f"textDocument/{feature}", params)


def marked(text: str, mark: str = "|") -> tuple[str, int, int]:
    """A text without its mark, and line and column (in UTF-16) of the mark."""
    before, _, after = text.partition(mark)
    line = before.count("\n")
    column = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
    return before + after, line, column
