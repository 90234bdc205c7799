"""Real exchanges for the API reference: those of the route walk, the same each time.

`python -m tests.walk routes --write` puts them where the reference takes them from.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from hearth.api.openapi import operation_id
from tests.walk.routes import Step

PLACE = Path(__file__).with_name("exchanges.json")
ITEMS_MAX = 3
TEXT_MAX = 200
UUID = re.compile(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
PASSWORD = re.compile(r'(password\W+)[^"\\]{8,}')
TOKEN = re.compile(r"gAAAA[\w-]+")


@cache
def recorded() -> dict[str, Any]:
    """The recorded exchanges: {operation id: {"success": ..., "refusal": ...}}."""
    return dict(json.loads(PLACE.read_text(encoding="utf-8")))


def neutral(exchange: dict[str, Any]) -> dict[str, Any]:
    """An exchange with the same ids, times and addresses each time.

    Ids are counted in each exchange, so a new one changes none of the others.
    """
    numbers: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        number = numbers.setdefault(match[0], f"{len(numbers) + 1:012x}")
        return f"00000000-0000-4000-8000-{number}" if "-" in match[0] else f"{number:0>32}"

    text = UUID.sub(numbered, json.dumps(exchange, ensure_ascii=False))
    text = TIME.sub("2026-01-01T12:00:00", text)
    text = ADDRESS.sub("https://orchestration.example.com", text)
    return dict(json.loads(PASSWORD.sub(r"\1…", TOKEN.sub("gAAAA…", text))))


def exchanges(walked: list[Step]) -> dict[str, Any]:
    """By operation: the first success and the first refusal, in the walk's order."""
    found: dict[str, Any] = {}
    for step in walked:
        exchange = step.exchange
        kept = found.setdefault(operation_id(exchange.endpoint), {})
        kind = "success" if step.error is None else "refusal"
        if kind not in kept:
            one = {"path": exchange.path, "status": exchange.status}
            if exchange.body is not None:
                one["body"] = exchange.body
            if location := exchange.headers.get("Location"):
                one["location"] = location
            if exchange.status != 302 and exchange.headers.get("Content-Length") != "0":
                one["answer"] = _short(exchange.answer)
            kept[kind] = neutral(one)
    return dict(sorted(found.items()))


def _short(value: Any) -> Any:
    """A value with the first items of long lists."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, list):
        shown = [_short(one) for one in value[:ITEMS_MAX]]
        return [*shown, "…"] if len(value) > ITEMS_MAX else shown
    if isinstance(value, str) and len(value) > TEXT_MAX:
        return f"{value[:TEXT_MAX]}…"
    return value


def write(walked: list[Step]) -> None:
    """Record the exchanges."""
    text = json.dumps(exchanges(walked), indent=1, ensure_ascii=False)
    PLACE.write_text(f"{text}\n", encoding="utf-8")
