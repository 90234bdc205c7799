"""Replay a recorded walk through a real service and compare statuses and shapes of bodies."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.devcloud.running import Served

FACTS = Path(__file__).parents[1] / "facts" / "cloud"
_MARK = re.compile(r"\{[a-z][a-z_-]*(?::\w+)?\}")
_BYTES = re.compile(r"^\((\d+) bytes\)$")
ROOTS = {
    "{identity}": "/identity",
    "{compute}": "/compute",
    "{network}": "/network",
    "{image}": "/image",
    "{block-storage}": "/volume",
    "{dns}": "/dns",
    "{key-manager}": "/key-manager",
    "{load-balancer}": "/load-balancer",
}


class Replay:
    """One walk; `known` are the placeholders whose values are known already."""

    def __init__(
        self,
        served: Served,
        service: str,
        root: str,
        known: dict[str, str],
        ids: str = "uuid",
        rename: dict[str, str] | None = None,
    ) -> None:
        self.served = served
        self.root = root
        self.ids = ids
        self.before: dict[str, Callable[[Replay], None]] = {}
        self.known = {"{password}": "secret", "{blob}": "blob", **known}
        self.known |= {key: served.url + path for key, path in ROOTS.items()}
        text = (FACTS / f"{service}.json").read_text()
        for word, other in (rename or {}).items():
            text = text.replace(word, other)
        self.exchanges = json.loads(text)["exchanges"]

    def run(self) -> dict[str, str]:
        """Every case; gives what went wrong by case, empty for nothing."""
        wrong: dict[str, str] = {}
        for exchange in self.exchanges:
            if prepare := self.before.get(exchange["case"]):
                prepare(self)
            problem = self._one(exchange)
            if problem:
                wrong[exchange["case"]] = problem
        return wrong

    def _one(self, exchange: dict[str, Any]) -> str:
        request, expected = exchange["request"], exchange["response"]
        path = request["path"]
        path = path if path.startswith("{") else self.root + path
        headers = {"Accept": "application/json"}
        headers |= {k: str(self._fill(v)) for k, v in request.get("headers", {}).items()}
        if exchange["caller"] != "nobody":
            headers.setdefault("X-Auth-Token", self.served.token(exchange["caller"]))
        data = None
        if "body" in request and request["body"] is not None:
            body = self._fill(request["body"])
            if exchange["case"] == "token: wrong password":
                body = json.loads(json.dumps(body).replace('"secret"', '"wrong"'))
            raw = _BYTES.match(body) if isinstance(body, str) else None
            data = b"x" * int(raw[1]) if raw else json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        url = str(self._fill(path))
        if url.startswith("/"):
            url = self.served.url + url
        reply = self.served.session.request(
            request["method"], url, headers=headers, data=data, allow_redirects=False, timeout=10
        )
        self._learn_headers(exchange["case"], reply.headers)
        found: Any = None
        if reply.content:
            kind = reply.headers.get("Content-Type", "")
            found = reply.json() if "json" in kind else reply.text
        self._learn(expected.get("body"), found)
        if reply.status_code != expected["status"]:
            return f"status {reply.status_code}, not {expected['status']}: {reply.text[:300]}"
        return differs(expected.get("body"), found)

    def _fill(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._fill(key): self._fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._fill(item) for item in value]
        if isinstance(value, str):
            return _MARK.sub(lambda m: self._value(m[0]), value)
        return value

    def _value(self, mark: str) -> str:
        if mark not in self.known:
            found = uuid.uuid4()
            self.known[mark] = found.hex if self.ids == "hex" else str(found)
        return self.known[mark]

    def _learn_headers(self, case: str, headers: Any) -> None:
        token = headers.get("X-Subject-Token")
        if token and "{token}" not in self.known:
            self.known["{token}"] = token.removeprefix("gAAAA")

    def _learn(self, expected: Any, found: Any) -> None:
        if isinstance(expected, str) and isinstance(found, str) and "/v1/" in expected:
            expected, found = expected.rpartition("/")[2], found.rpartition("/")[2]
        if isinstance(expected, dict) and isinstance(found, dict):
            for key, value in expected.items():
                self._learn(value, found.get(key))
        elif isinstance(expected, list) and isinstance(found, list):
            for value, item in zip(expected, found, strict=False):
                self._learn(value, item)
        elif (
            isinstance(expected, str)
            and isinstance(found, str)
            and _MARK.fullmatch(expected)
            and expected not in self.known
        ):
            self.known[expected] = found
            if expected == "{access}":
                self.known["{access:1}"] = found


def differs(expected: Any, found: Any, where: str = "body") -> str:
    """How the shape of a body differs: keys, JSON types, empty or not. Empty when it does not."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if set(expected) != set(found):
            lacks = sorted(set(expected) - set(found))
            more = sorted(set(found) - set(expected))
            return f"{where}: lacks {lacks}, has more {more}"
        for key, value in expected.items():
            if problem := differs(value, found[key], f"{where}.{key}"):
                return problem
        return ""
    if isinstance(expected, list) and isinstance(found, list):
        if bool(expected) != bool(found):
            return f"{where}: {len(found)} items, not {len(expected)}"
        for index, item in enumerate(found):
            problems = [differs(value, item, f"{where}[{index}]") for value in expected]
            if problems and all(problems):
                return problems[0]
        return ""
    if kind(expected) != kind(found):
        return f"{where}: {kind(found)}, not {kind(expected)}"
    return ""


def kind(value: Any) -> str:
    """The JSON type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
