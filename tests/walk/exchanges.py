"""Real exchanges for the API reference: those of the route walk, told alike each time.

`python -m tests.walk routes --write` puts them where the reference takes them from.
"""

import json
import re
from pathlib import Path
from typing import Any

import hearth.api
from hearth.api.openapi import operation_id
from tests.walk.routes import Step

PLACE = Path(hearth.api.__file__).with_name("exchanges.json")
ITEMS_MAX = 3
TEXT_MAX = 200
UUID = re.compile(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
PASSWORD = re.compile(r'(password\W+)[^"\\]{8,}')
TOKEN = re.compile(r"gAAAA[\w-]+")


def exchanges(walked: list[Step]) -> dict[str, Any]:
    """By operation: the first success and the first refusal, in the walk's order."""
    told: dict[str, str] = {}

    def alike(text: str) -> str:
        def renamed(found: re.Match[str]) -> str:
            known = told.setdefault(found[0], f"{len(told) + 1:012x}")
            return f"00000000-0000-4000-8000-{known}" if "-" in found[0] else f"{known:0>32}"

        text = UUID.sub(renamed, text)
        text = TIME.sub("2026-01-01T12:00:00", text)
        text = ADDRESS.sub("https://orchestration.example.com", text)
        return PASSWORD.sub(r"\1…", TOKEN.sub("gAAAA…", text))

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
            kept[kind] = json.loads(alike(json.dumps(one, ensure_ascii=False)))
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
    """Put the exchanges beside the route table."""
    text = json.dumps(exchanges(walked), indent=1, ensure_ascii=False)
    PLACE.write_text(f"{text}\n", encoding="utf-8")
