"""The shortcut to cached responses."""

import asyncio
import logging
from typing import Any

import pytest

from hearth.api.front.front import Front
from hearth.api.front.shortcut import Answering, KnownAnswer, Shortcut


async def known(scope: Any) -> KnownAnswer | None:
    if scope["path"] == "/broken":
        raise ValueError("it cannot be read")
    return KnownAnswer(b"known", b"text/plain") if scope["path"] == "/known" else None


def find(scope: Any) -> Any:
    return None if scope["path"] == "/never" else known(scope)


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"from the application"})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/known", b"known"),
        ("/unknown", b"from the application"),
        ("/never", b"from the application"),
        ("/broken", b"from the application"),
    ],
)
def test_the_application_responds_to_all_else(
    path: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    front = Front()
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "root_path": "", "query_string": b"", "headers": [], "client": ("192.0.2.1", 1),
        "scheme": "http", "server": ("192.0.2.2", 80), "http_version": "1.1",
    }  # fmt: skip
    middleware = Answering(app, Shortcut(find, front), front)
    with caplog.at_level(logging.ERROR):
        asyncio.run(middleware(scope, None, send))  # type: ignore[arg-type]
    assert sent[-1]["body"] == body
    assert ["could not be read" in one.message for one in caplog.records] == [True] * (
        path == "/broken"
    )
