"""Odd answers, as data: what routers, caches and damaged services have been seen to send."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.odd_clouds.proxy import Answer, Exchange, Oddness

HTML = {"Content-Type": "text/html"}
JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
ELSEWHERE = "00000000-1111-4222-8333-444444444444"


@dataclass(frozen=True)
class Odd:
    """An odd answer. `words` must be in the reason of a stack that fails because of it.

    `refusal`: it says that the call was refused, so a write that fails with it is right.
    """

    name: str
    oddness: Oddness
    words: str
    refusal: bool = False


def instead(status: int, body: Any = b"", headers: Mapping[str, str] | None = None) -> Oddness:
    """Answer in place of the service, which does not get the call; bytes are sent as HTML."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {**(HTML if isinstance(body, bytes) else JSON), **(headers or {})}

    async def oddness(exchange: Exchange) -> Answer | None:
        return Answer(status, raw, sent)

    return oddness


def afterwards(oddness: Oddness) -> Oddness:
    """Let the service carry out the call, then answer oddly."""

    async def carried_out(exchange: Exchange) -> Answer | None:
        await exchange.real()
        return await oddness(exchange)

    return carried_out


def changed(change: Callable[[Answer], Answer | None]) -> Oddness:
    """Change the answer of the service."""

    async def oddness(exchange: Exchange) -> Answer | None:
        return change(await exchange.real())

    return oddness


async def cut(exchange: Exchange) -> Answer | None:
    """Close the connection; the service does not get the call."""
    return None


def page(status: int) -> Oddness:
    """Return the error page of a router."""
    return instead(status, f"<html><h1>{status} the router says so</h1></html>".encode())


def in_json(change: Callable[[Any], Any]) -> Oddness:
    """Change the JSON of the answer."""

    def altered(answer: Answer) -> Answer:
        return replace(answer, body=json.dumps(change(json.loads(answer.body))).encode())

    return changed(altered)


def inner(**fields: Any) -> Oddness:
    """Change fields of the object that the answer shows."""

    def change(body: Any) -> Any:
        return {key: {**one, **fields} for key, one in body.items()}

    return in_json(change)


def _half(answer: Answer) -> Answer:
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def _broken(answer: Answer) -> Answer:
    return replace(_half(answer), broken=True)


STATED = {"error": {"code": 500, "title": "Internal Server Error", "message": "a deadlock"}}
NEUTRON = {"NeutronError": {"type": "RetryRequest", "message": "a deadlock", "detail": ""}}
KONG = {"message": "no Route matched with those values"}

UNANSWERED = (
    Odd("page 408", page(408), "408"),
    Odd("page 500", page(500), "Internal Server Error"),
    Odd("page 502", page(502), "Bad Gateway"),
    Odd("page 503", page(503), "Service Unavailable"),
    Odd("page 504", page(504), "Gateway Timeout"),
    *(Odd(f"page {n}", page(n), str(n)) for n in (520, 521, 522, 523, 524, 525, 527, 529)),
    Odd("500 of the service", instead(500, STATED), "a deadlock"),
    Odd("500 of the network service", instead(500, NEUTRON), "a deadlock"),
    Odd("503 with Retry-After", instead(503, b"", {"Retry-After": "1"}), "Service Unavailable"),
    Odd("429 with Retry-After", instead(429, b"", {"Retry-After": "1"}), "Too Many Requests"),
    Odd("429 without a time", instead(429), "Too Many Requests"),
    Odd("404 of an ingress", instead(404, b"default backend - 404", TEXT), "default backend"),
    Odd("404 page of a router", page(404), "404"),
    Odd("404 of a gateway in JSON", instead(404, KONG), "no Route matched"),
    Odd("404 without a body", instead(404), "404"),
    Odd("404 with {}", instead(404, {}), "404"),
    Odd("401 once", instead(401, {"error": {"code": 401, "message": "not now"}}), "not now"),
    Odd("connection cut", cut, "no answer"),
)
"""Answers that say nothing about the object, and after which the call may have had no effect."""

UNREADABLE = (
    Odd("200 with {}", instead(200, {}), "does not show"),
    Odd("200 with null", instead(200, b"null", JSON), "does not show"),
    Odd("200 with a list", instead(200, []), "does not show"),
    Odd("200 with a text in JSON", instead(200, "fine"), "does not show"),
    Odd("200 page", page(200), "not valid JSON"),
    Odd("200 without a body", instead(200), "does not show"),
    Odd("204 without a body", instead(204), "does not show"),
    Odd("half of the JSON", changed(_half), "not valid JSON"),
    Odd("body cut", changed(_broken), "no answer"),
    Odd("wrong Content-Encoding",
        changed(lambda one: replace(one, headers={**one.headers, "Content-Encoding": "gzip"})),
        "Content-Encoding"),
)  # fmt: skip
"""Answers to calls that the service may have carried out, but that do not show the result."""

REFUSALS = (
    Odd(
        "302 to a login",
        instead(302, b"", {"Location": "http://login.example/"}),
        "login.example",
        True,
    ),
    Odd("307", instead(307, b"", {"Location": "http://other.example/"}), "other.example", True),
    Odd("300", instead(300, {"choices": []}), "300", True),
    Odd("403 page", page(403), "Forbidden", True),
    Odd("400 page", page(400), "Bad Request", True),
    Odd("405 page", page(405), "Method Not Allowed", True),
    Odd("418 page", page(418), "418", True),
    Odd("413 with Retry-After", instead(413, b"", {"Retry-After": "1"}), "overLimit", True),
)
"""Answers that refuse the call, though not in the form of the service."""

PAUSES = ("0", "-5", "nan", "inf", "1e400", "999999999", "words", "Thu, 01 Jan 1970 00:00:00 GMT",
          "Fri, 31 Dec 9999 23:59:59 GMT", "", "0x10", "1, 2", "٣")  # fmt: skip
"""Values of Retry-After."""


def paused(value: str, status: int = 429) -> Odd:
    """Return the refusal of an overloaded service with this Retry-After."""
    headers = {"Retry-After": value.encode().decode("latin-1")}
    return Odd(f"{status}, Retry-After {value!r}", instead(status, b"", headers), str(status))
