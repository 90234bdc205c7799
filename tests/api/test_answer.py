"""Long lists are sent in parts, which are read one after the other."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.responses import Response

from hearth.api.answer import InPieces, JSONResponse, Streamed, json_pieces, listing
from hearth.api.cfn import xml
from hearth.engine.programs.compute.compute import Gone, departed


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
        if not isinstance(answer, Streamed):
            return bytes(answer.body), False
        text = b""
        async for piece in answer.pieces:
            seen.append(read)
            text += piece
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


ODD = {"a": 1 << 70, "b": [1, {"c": None}], "d": {"e": {"f": {"g": [1] * 40}}}, "h": []}


@pytest.mark.parametrize(
    "value",
    [
        None, [], {}, "x", 1 << 70, ODD, [ODD] * 50, {"one": [ODD] * 50, "two": {}},
        {"x" * 300: "ü\u2028\x00" * 5}, {1: "a", "b": {2: "c"}}, list(range(100)),
    ],
)  # fmt: skip
def test_pieces_are_the_text_of_the_whole(value: Any):
    text = b"".join(json_pieces(value))
    assert json.loads(text) == json.loads(json.dumps(value))
    assert bytes(JSONResponse(value).body) == text


def sent(
    answer: Response, gone_after: int | None = None
) -> tuple[list[dict[str, Any]], list[int], BaseException | None]:
    """The messages, after how many rounds of the event loop each came, and what ended it early."""
    messages: list[dict[str, Any]] = []
    moments: list[int] = []
    rounds = 0

    async def send(message: Any) -> None:
        messages.append(message)
        moments.append(rounds)
        if gone_after == len(messages):
            gone.set_result(None)

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def story() -> BaseException | None:
        nonlocal gone
        gone = asyncio.get_running_loop().create_future()
        departed.set(gone)
        counting = asyncio.create_task(count())
        try:
            unused: Any = None
            await answer({"type": "http"}, unused, send)
        except Gone as error:
            return error
        finally:
            counting.cancel()
        return None

    gone: asyncio.Future[None]
    return messages, moments, asyncio.run(story())


LONG = {"outputs": [{"key": n, "value": "x" * 50_000} for n in range(100)]}


@pytest.mark.parametrize(
    "answer",
    [lambda: JSONResponse(LONG), lambda: InPieces(xml.pieces("a", LONG))],
)
def test_a_long_answer_is_made_and_sent_in_pieces(answer: Callable[[], Response]):
    messages, moments, _ = sent(answer())
    start, *bodies = messages
    assert [value for name, value in start["headers"] if name == b"content-length"] == []
    assert b"".join(one["body"] for one in bodies).count(b"x" * 50_000) == 100
    assert len(bodies) > 5
    assert (
        max(len(one["body"]) for one in bodies) < 1_100_000
    )  # of the few that are encoded at once
    assert [one["more_body"] for one in bodies] == [True] * (len(bodies) - 1) + [False]
    assert len(set(moments)) > len(bodies) - 4  # others ran between them


def test_a_short_answer_has_its_length():
    (start, body), _, _ = sent(JSONResponse({"a": 1}, 201, headers={"Location": "/x"}))
    assert start["status"] == 201
    assert dict(start["headers"]) == {
        b"content-length": b"7", b"content-type": b"application/json", b"location": b"/x",
    }  # fmt: skip
    assert body["body"] == b'{"a":1}'


def test_nothing_more_is_made_for_somebody_who_has_gone():
    messages, _, error = sent(JSONResponse(LONG), gone_after=3)
    assert len(messages) == 3
    assert isinstance(error, Gone)
