"""Long lists are sent in parts, which are read one after the other."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.responses import StreamingResponse

from hearth.api.answer import listing


def answered(parts: list[list[Any]]) -> tuple[Any, bool, list[int]]:
    """The body, whether it was sent in parts, and how many parts were read when one was sent."""
    read, seen = 0, []

    async def given() -> AsyncIterator[list[Any]]:
        nonlocal read
        for part in parts:
            read += 1
            yield part

    async def story() -> tuple[bytes, bool]:
        answer = await listing("all", given())
        if not isinstance(answer, StreamingResponse):
            return bytes(answer.body), False
        text = b""
        async for piece in answer.body_iterator:
            seen.append(read)
            text += piece if isinstance(piece, bytes) else str(piece).encode()
        return text, True

    text, streamed = asyncio.run(story())
    return json.loads(text), streamed, seen


@pytest.mark.parametrize(
    "parts",
    [[], [[]], [[1]], [[1, 2], [3]], [[], [1]], [[1], []], [[], [], [2]], [[1], [], ["a", {}], []]],
)
def test_a_list_is_whole_however_it_is_read(parts: list[list[Any]]):
    body, streamed, _ = answered(parts)
    assert body == {"all": [one for part in parts for one in part]}
    assert streamed == (len(parts) > 1)


def test_only_the_parts_that_are_sent_are_read():
    _, streamed, seen = answered([[number] for number in range(6)])
    assert streamed
    assert seen == [2, 2, 3, 4, 5, 6, 6]
