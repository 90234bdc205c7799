"""A web server that remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Heard:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Listener:
    """Its address, and what came; `statuses` are for the next answers, then it is 200."""

    url: str
    heard: list[Heard] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    @property
    def bodies(self) -> list[Any]:
        """What was sent, oldest first."""
        return [one.body for one in self.heard]

    def wait(self, count: int, timeout_s: float = 20) -> list[Heard]:
        """The requests once there are so many."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.heard) >= count, timeout_s), self.heard
            return list(self.heard)


@contextmanager
def listening() -> Iterator[Listener]:
    """A listener on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = raw.decode()
            with listener.came:
                headers = {name.lower(): value for name, value in self.headers.items()}
                listener.heard.append(Heard(self.command, self.path, headers, body))
                status = listener.statuses.pop(0) if listener.statuses else 200
                listener.came.notify_all()
            data = json.dumps({"heard": len(listener.heard)}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer  # noqa: N815

        def log_message(self, *args: Any) -> None:
            """Be silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener = Listener(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
