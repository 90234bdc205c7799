"""Writes of a response are joined, in order, and never lost."""

import asyncio
from typing import Any

from hearth.process.http.joined_writes import JoinedWrites


class Transport:
    """Remembers what is called."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def write(self, data: bytes) -> None:
        self.calls.append(data)

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")

    def is_closing(self) -> bool:
        return "close" in self.calls


async def joined() -> tuple[JoinedWrites, list[Any]]:
    transport = Transport()
    return JoinedWrites(transport, asyncio.get_running_loop(), lambda: None), transport.calls  # type: ignore[arg-type]


def test_head_and_body_are_one_write() -> None:
    async def scenario() -> None:
        transport, calls = await joined()
        transport.write(b"head")
        transport.write(b"body")
        assert calls == [b"headbody"]
        await asyncio.sleep(0)
        assert calls == [b"headbody"]

    asyncio.run(scenario())


def test_a_head_whose_body_comes_later_is_sent_at_once() -> None:
    async def scenario() -> None:
        transport, calls = await joined()
        transport.write(b"head")
        assert calls == []
        await asyncio.sleep(0)
        assert calls == [b"head"]
        transport.write(b"1")
        transport.write(b"2")
        transport.write(b"3")
        await asyncio.sleep(0)
        assert calls == [b"head", b"12", b"3"]

    asyncio.run(scenario())


def test_a_close_sends_what_is_held_back_before() -> None:
    async def scenario() -> None:
        transport, calls = await joined()
        transport.write(b"head")
        transport.close()
        await asyncio.sleep(0)
        assert calls == [b"head", "close"]
        assert transport.is_closing()

    asyncio.run(scenario())


def test_an_abort_sends_nothing_afterwards() -> None:
    async def scenario() -> None:
        transport, calls = await joined()
        transport.write(b"head")
        transport.abort()
        await asyncio.sleep(0)
        assert calls == ["abort"]

    asyncio.run(scenario())
