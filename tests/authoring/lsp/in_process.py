"""An editor in the process of the server, which measures what each request costs."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.editor import CAPABILITIES

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.lsp.linter import run_linter
from hearth.authoring.lsp.linter_process import NoAnswer
from hearth.authoring.lsp.server import HearthServer
from hearth.authoring.lsp.text import Text


class Linter:
    """The linter in this process, asked and answering in JSON as the other process does."""

    async def ask(self, question: Mapping[str, Any]) -> list[Finding]:
        result = json.loads(json.dumps(run_linter(json.loads(json.dumps(question)))))
        if result["failed"]:
            raise NoAnswer(result["failed"])
        return [
            Finding(**{**one, "severity": Severity(one["severity"])}) for one in result["findings"]
        ]

    async def close(self) -> None:
        pass


class InProcess:
    """An editor with a server. `spent` is the processor time of each request, in seconds; `wrong`
    is what the server failed at.
    """

    def __init__(self, folder: Path) -> None:
        self.server = HearthServer()
        self.server.diagnosis.linter = Linter()  # type: ignore[assignment]
        self.server.protocol.set_writer(self, include_headers=False)  # type: ignore[arg-type]
        self.server.report_server_error = self._failed  # type: ignore[method-assign]
        self.spent: list[tuple[str, float]] = []
        self.wrong: list[str] = []
        self.published: Counter[str] = Counter()
        self._answers: dict[int, Any] = {}
        self._number = 0
        self.ask("initialize", {
            "processId": None, "rootUri": folder.as_uri(), "capabilities": CAPABILITIES,
        })  # fmt: skip
        self.spent.clear()

    # -- messages -------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Take a message of the server."""
        message = json.loads(data)
        if "error" in message:
            self.wrong.append(f"error: {json.dumps(message['error'])}")
        if message.get("method") == "window/logMessage":
            self.wrong.append(f"log: {message['params']['message']}")
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published[message["params"]["uri"]] += 1
        if "id" in message:
            self._answers[message["id"]] = message.get("result")

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """Return the result of a request."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._measured(method.rpartition("/")[2], lambda: self._send(message))
        if self._number not in self._answers:
            self.wrong.append(f"no answer to {method}")
        return self._answers.pop(self._number, None)

    def _send(self, message: Any) -> None:
        protocol = self.server.protocol
        body = json.dumps(message)
        protocol.handle_message(json.loads(body, object_hook=protocol.structure_message))

    def _failed(self, error: Exception, source: type[Exception]) -> None:
        self.wrong.append(f"{source.__name__}: {error!r}")

    def _measured(self, name: str, act: Callable[[], None]) -> None:
        begun = time.process_time()
        act()
        self.spent.append((name, time.process_time() - begun))

    # -- what editors do ------------------------------------------------------------------------

    async def open(self, path: Path, text: str) -> None:
        """Open a text, and wait until it is parsed and its diagnostics are there."""
        item = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        begun = time.process_time()
        self.tell("textDocument/didOpen", {"textDocument": item})
        await asyncio.gather(*self.server.reading)
        parsed = time.process_time()
        self.spent.append(("open", parsed - begun))
        if (work := self.server.diagnosis._work) is not None:
            await work
        self.spent.append(("diagnostics", time.process_time() - parsed))

    def at(self, feature: str, path: Path, text: str, offset: int) -> Any:
        """Return the answer of a feature at an offset of a text."""
        line, column = Text(text).position(offset)
        position = {"line": line, "character": column}
        about = {"textDocument": {"uri": path.as_uri()}, "position": position}
        return self.ask(f"textDocument/{feature}", about)

    def close(self, path: Path) -> None:
        """Close a text."""
        self.tell("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
