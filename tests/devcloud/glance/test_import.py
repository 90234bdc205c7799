"""Images whose data come from elsewhere."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hearth_devcloud.glance import web
from tests.devcloud.running import Served


def new(served: Served) -> str:
    fields = {"name": "new", "disk_format": "raw", "container_format": "bare"}
    made: str = served.call("POST", "/image/v2/images", fields).json()["id"]
    return made


def fetch(served: Served, ident: str, uri: object) -> int:
    body = {"method": {"name": "web-download", "uri": uri}}
    return int(served.call("POST", f"/image/v2/images/{ident}/import", body).status_code)


def ended(served: Served, ident: str) -> Any:
    """The image when its import is over."""
    deadline = time.monotonic() + 20
    while (image := served.call("GET", f"/image/v2/images/{ident}").json()) is not None:
        if image["status"] != "importing":
            return image
        assert time.monotonic() < deadline
        time.sleep(0.05)
    raise AssertionError


@pytest.mark.parametrize(
    "uri",
    [
        None,
        "ftp://example.org/x",
        "http://",
        "http://example.org:22/x",
        "http://example.org:port/x",
        "http://localhost/x",
        "http://127.0.0.1/x",
        "http://[::1]/x",
    ],
)
def test_not_everything_may_be_imported(served: Served, uri: object) -> None:
    assert fetch(served, new(served), uri) == 400


def test_the_mirror_has_the_images_that_are_there_from_the_start(fresh: Served) -> None:
    ident = new(fresh)
    assert fetch(fresh, ident, "http://images.devcloud.test/cirros") == 202
    image = ended(fresh, ident)
    assert (image["status"], image["size"]) == ("active", 4096)
    assert image["os_glance_failed_import"] == ""
    assert fetch(fresh, ident, "http://images.devcloud.test/cirros") == 409


@pytest.mark.parametrize("uri", ["http://images.devcloud.test/none", "http://nowhere.invalid/x"])
def test_an_image_that_cannot_be_had_is_queued_again_and_says_so(fresh: Served, uri: str) -> None:
    ident = new(fresh)
    assert fetch(fresh, ident, uri) == 202
    image = ended(fresh, ident)
    assert (image["status"], image["os_glance_failed_import"]) == ("queued", "fs")
    assert fetch(fresh, ident, "http://images.devcloud.test/cirros") == 202
    assert ended(fresh, ident)["status"] == "active"


class Files(http.server.BaseHTTPRequestHandler):
    """One file, `/image`."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/image" else 404)
        self.end_headers()
        self.wfile.write(b"data")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def files() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_web_gives_data_or_nothing(files: str) -> None:
    assert web.begin(f"{files}/image").result(10) == b"data"
    assert web.begin(f"{files}/other").result(10) is None
