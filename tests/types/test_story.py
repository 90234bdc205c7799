"""What a story does beside its requests to Hearth."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.types.story import Orchestration

TRACE = "traceparent"


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that takes objects; yields its URL and the headers of the requests."""
    taken: list[dict[str, str]] = []

    class Taker(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            taken.append({name.lower(): value for name, value in self.headers.items()})
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Taker) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/object", taken
        finally:
            server.shutdown()
            thread.join()


def test_what_a_guest_does_belongs_to_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as (url, taken):
        handle = {
            "physical_resource_id": "handle", "resource_status": "CREATE_COMPLETE",
            "resource_type": "OS::Heat::SwiftSignalHandle", "attributes": {"endpoint": url},
        }  # fmt: skip
        monkeypatch.setattr(Orchestration, "resource", lambda *_: handle)
        heat = Orchestration("http://127.0.0.1", "p", str, 1).of({"signal": {"handle": [{}, {}]}})
        heat.http.headers[TRACE] = f"00-{'1' * 32}-{'1' * 16}-01"
        heat.signal("/stacks/s/1")
    assert [TRACE in headers for headers in taken] == [False, False]
