"""Polls that are answered before the routes, and those that are not."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy.exc import OperationalError

from hearth.api import door
from hearth.api.access_rules import ApiCall
from hearth.api.door import Door
from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.fault import CloudFault
from hearth.service.caller import Caller

GUEST = Caller("u", "u", "p", roles=frozenset({STACK_USER_ROLE}))
PATH = "/v1/p/stacks/web/{stack}/resources/{name}/metadata"


@dataclass
class Place:
    """A door before routes that count what reaches them."""

    rows: dict[Any, int] = field(default_factory=dict)  # fingerprints
    body: bytes = b'{"metadata": 1}'
    status: int = 200
    caller: Caller | None = GUEST
    allowed: bool = True
    wait_s: float = 0.0
    broken: bool = False
    passed: int = 0
    read: int = 0

    def __post_init__(self) -> None:
        services: Any = SimpleNamespace(
            store=SimpleNamespace(read=self._read),
            policy=SimpleNamespace(allows=lambda rule, caller: self.allowed),
        )
        tokens: Any = SimpleNamespace(caller=self._caller)
        rates: Any = SimpleNamespace(wait_s=lambda caller: self.wait_s)
        polls: Any = SimpleNamespace(caller=lambda poll: None)
        self.door = Door(self._routes, services, polls, tokens, rates)

    async def _caller(self, token: str, call: ApiCall) -> Caller | None:
        if token == "unchecked":
            raise CloudFault("identity", 503, "x", "y")
        return None if self.caller is None else replace(self.caller, token=token)

    async def _read(self, fn: Any) -> Any:
        self.read += 1
        await asyncio.sleep(0)
        if self.broken:
            raise OperationalError("select", {}, Exception("no database"))
        return fn(self)

    async def _routes(self, scope: Any, receive: Any, send: Any) -> None:
        self.passed += 1
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": self.body[:3], "more_body": True})
        await send({"type": "http.response.body", "body": self.body[3:]})

    async def poll(
        self, stack: str = "s", name: str = "server", token: str = "t", **more: Any
    ) -> bytes:
        path = PATH.format(stack=stack, name=name)
        scope = {
            "type": "http", "method": "GET", "path": path, "query_string": b"",
            "raw_path": path.encode(), "headers": [(b"x-auth-token", token.encode())], **more,
        }  # fmt: skip
        finding = self.door.find(scope) if scope["method"] == "GET" else None
        if finding is not None and (known := await finding) is not None:
            return known.body
        said: list[bytes] = []

        async def send(message: Any) -> None:
            said.append(message.get("body", b""))

        await self.door(scope, None, send)  # type: ignore[arg-type]
        return b"".join(said)


@pytest.fixture(autouse=True)
def fingerprints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        door.reads,
        "fingerprints",
        lambda place, keys: [place.rows.setdefault(key, 1) for key in keys],
    )


def told(place: Place, *steps: Any) -> list[tuple[bytes, int]]:
    """Poll once, and once after each step; what was answered, and how often the routes did it."""

    async def story() -> list[tuple[bytes, int]]:
        found = [(await place.poll(), place.passed)]
        for step in steps:
            step(place)
            found.append((await place.poll(), place.passed))
        return found

    return asyncio.run(story())


def changing(**values: Any) -> Any:
    return lambda place: [setattr(place, name, value) for name, value in values.items()]


def test_the_routes_answer_once_until_a_row_changes() -> None:
    place = Place()

    def change(place: Place) -> None:
        place.rows["s", "server"], place.body = 2, b'{"metadata": 2}'

    assert told(place, changing(), change, changing()) == [
        (b'{"metadata": 1}', 1), (b'{"metadata": 1}', 1), (b'{"metadata": 2}', 2),
        (b'{"metadata": 2}', 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "step",
    [
        changing(caller=replace(GUEST, user_id="another")),
        changing(caller=replace(GUEST, roles=frozenset({"member"}))),
        changing(caller=None),
        changing(allowed=False),
        changing(wait_s=1.0),
        changing(broken=True),
    ],
    ids=["another user", "no guest", "no valid token", "not allowed", "too often", "no database"],
)
def test_the_routes_decide_about_everything_else(step: Any) -> None:
    place = Place()
    assert [passed for _, passed in told(place, changing(), step)] == [1, 1, 2]


def test_an_error_is_not_kept() -> None:
    assert [passed for _, passed in told(Place(status=403), changing())] == [1, 2]


@pytest.mark.parametrize(
    "more",
    [
        {"name": "a\0b"},
        {"stack": "a\0b"},
        {"method": "PUT"},
        {"type": "websocket"},
        {"token": ""},
        {"token": "unchecked"},
        {"headers": [(b"x-auth-token", b"t"), (b"x-service-token", b"t")]},
        {"path": "/v1/p/stacks/web/s/resources/server/metadata/more"},
        {"path": "/cfn/v1/", "query_string": b"Action=ListStacks"},
        {"path": "/cfn/v1/", "query_string": b"a=%ff&" * 200},
    ],
    ids=str,
)
def test_what_is_no_poll_passes_without_a_read(more: dict[str, Any]) -> None:
    place = Place()
    asyncio.run(place.poll(**more))
    assert (place.passed, place.read) == (1, 0)


def test_polls_at_the_same_time_share_a_read() -> None:
    place = Place()

    async def story() -> None:
        for _ in range(2):
            await asyncio.gather(*(place.poll(name=f"n{n}", token=f"t{n}") for n in range(40)))

    asyncio.run(story())
    assert place.passed == 40
    assert place.read == 2


def test_answers_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "ANSWERS_BYTES_MAX", 40)
    place = Place()

    async def story() -> None:
        for _ in range(2):
            for number in range(3):  # two answers of 15 bytes have room
                await place.poll(name=f"n{number}")

    asyncio.run(story())
    assert place.passed == 6
    place.body = b"x" * 41  # larger than the cache: kept until the next one
    assert [passed for _, passed in told(place, changing())] == [7, 7]
    asyncio.run(place.poll(name="another"))
    assert [passed for _, passed in told(place)] == [9]
