"""Templates of each type, judged by Heat and by Hearth: `python -m tests.comparison.sweep URL`.

Each property is left out, given alone with each other one, null, empty and of another kind. Both
preview the stack over one embedded cloud; compared are whether they refuse, with which type of
error, and which property they name. URL is that of a Heat as `run` takes it. It must know the
services of the embedded cloud at `--cloud-port`; `--services` prints them as options for it.
The exit status is 1 if a difference is not settled. With `--record`, what Hearth said of each
variant is written to `verdicts.json`, to which its tests hold it.
"""

import argparse
import json
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import requests

from hearth.resources.registry import builtin_types, revived_types
from hearth.schema import Prop, ValueKind
from tests.api.conftest import Caller
from tests.clients.dev import Dev, hearth_dev
from tests.comparison.cloud import SERVICES, Proxy, proxied
from tests.comparison.settled import Judgement, Verdict, reason
from tests.comparison.sides import Answer, Request, Side
from tests.types.case import Subject, subject
from tests.types.mistakes import OF_ANOTHER_KIND
from tests.types.values import NeedsCase, unused

CLOUD_PORT = 18690
VERDICTS = Path(__file__).with_name("verdicts.json")
EMPTY = {ValueKind.STRING: "", ValueKind.LIST: [], ValueKind.MAP: {}, ValueKind.ANY: ""}
CALLERS = ("demo", "admin")
KEY_PAIR = "OS::Nova::KeyPair"
PUBLIC_KEY = {
    "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Ee6wKBzs1lQmrHfr0oGyZCxFvzOqX one"
}
"""For key pairs beside a type: Heat makes none, so every variant would be refused for them."""


@dataclass(frozen=True)
class Variant:
    """Properties, and what was done to them."""

    name: str
    changed: tuple[str, ...]
    properties: Mapping[str, Any]


@dataclass
class Outcome:
    """What became of the variants of a type."""

    type_name: str
    variants: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    open: list[Verdict] = field(default_factory=list)
    differences: list[dict[str, Any]] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by error
    left_out: str = ""

    def __str__(self) -> str:
        counts = f"{self.variants} variants, {self.settled.total()} settled, {len(self.open)} open"
        return f"{self.type_name}  {self.left_out or counts}"


def variants(one: Subject) -> Iterator[Variant]:
    """Yield what is tried with a type. Raises NeedsCase."""
    least, full, props = one.minimal(), one.full(), one.kind.properties
    yield Variant("minimal", (), least)
    yield Variant("full", (), full)
    for name in full:
        rest = {key: value for key, value in full.items() if key != name}
        yield Variant(f"full without {name}", (name,), rest)
    for name in least:
        rest = {key: value for key, value in least.items() if key != name}
        yield Variant(f"without {name}", (name,), rest)
    known = {**full, **{k: v for _, more in one.variants() for k, v in more.items()}}
    optional = [name for name in known if name not in one.required()]
    for name in optional:
        yield Variant(f"only {name}", (name,), {**one.required(), name: known[name]})
    for pair in combinations(optional, 2):
        both = {name: known[name] for name in pair}
        yield Variant(f"only {' and '.join(pair)}", pair, {**least, **both})
    for name, prop in props.items():
        if not unused(prop):
            for what, value in _odd(prop):
                yield Variant(f"{name} {what}", (name,), {**least, name: value})


def _odd(prop: Prop) -> Iterator[tuple[str, Any]]:
    yield "null", None
    if prop.kind in EMPTY:
        yield "empty", EMPTY[prop.kind]
    if prop.kind in OF_ANOTHER_KIND:
        yield "of another kind", OF_ANOTHER_KIND[prop.kind]
    if prop.kind == ValueKind.LIST:
        yield "with a null", [None]
        yield "a text", "text"
    elif prop.kind in (ValueKind.STRING, ValueKind.INTEGER, ValueKind.NUMBER, ValueKind.BOOLEAN):
        yield "a list", ["one"]
        yield "true", True
    if prop.kind == ValueKind.STRING:
        yield "a number", 7


def give_keys(template: dict[str, Any], resource: str) -> None:
    """Give a public key to the key pairs of a template beside the resource under test."""
    for name, definition in template["resources"].items():
        if definition["type"] == KEY_PAIR and name != resource:
            definition["properties"] = {"name": definition["properties"]["name"], **PUBLIC_KEY}


def judged(side: Side, one: Subject, variant: Variant) -> Judgement:
    """Ask a side for a preview."""
    template = one.with_properties(variant.properties)
    template.pop("outputs", None)
    give_keys(template, one.resource)
    body = {"stack_name": "sweep", "template": template, "files": one.case.get("files", {})}
    return judgement(side.ask(Request("POST", "/stacks/preview", body)), one.kind.properties)


def judgement(answer: Answer, properties: Iterable[str]) -> Judgement:
    """Return the status, and of an error the type and the properties that it names."""
    error = (answer.body or {}).get("error") or {}
    message = str(error.get("message", ""))
    words = set(re.findall(r"[\w-]+", message))
    named = tuple(name for name in properties if name in words)
    return Judgement(answer.status, str(error.get("type", "")), named, message[:400])


def swept(name: str, pairs: Mapping[str, tuple[Side, Side]], known: set[str]) -> Outcome:
    """Try all variants of a type."""
    one, found = subject(name), Outcome(name)
    if name not in known:
        found.left_out = "not in Heat"
        return found
    try:
        tried = list(variants(one))
    except NeedsCase as missing:
        found.left_out = f"needs a case: {missing}"
        return found
    sides = pairs[one.case.get("caller", "demo")]
    with ThreadPoolExecutor(2) as pool:
        for variant in tried:
            found.variants += 1
            original, here = pool.map(judged, sides, (one, one), (variant, variant))
            _note(found, Verdict(name, variant.name, variant.changed, original, here))
            if not here.accepted:
                found.refused[here.error].append(variant.name)
    return found


def _note(found: Outcome, verdict: Verdict) -> None:
    if verdict.difference is None:
        return
    why = reason(verdict)
    if why is None:
        found.open.append(verdict)
    else:
        found.settled[why] += 1
    found.differences.append({**verdict.as_json(), "settled": why})


def sides(url: str, dev: Dev) -> dict[str, tuple[Side, Side]]:
    """Return Heat and Hearth for each caller, in the same projects."""
    caller, found = Caller(dev), {}
    for name in CALLERS:
        token, project = caller.login(name)
        there = Side(f"{url}/v1/{project}", name, "admin")
        found[name] = there, Side(f"{dev.url}/v1/{project}", token, token)
    return found


@contextmanager
def side_by_side(
    url: str, cloud_port: int, *, writes: bool = False
) -> Iterator[tuple[dict[str, tuple[Side, Side]], Dev, Proxy]]:
    """Start an embedded cloud with a Hearth, and answer to Heat at the port as that cloud."""
    with tempfile.TemporaryDirectory() as folder, hearth_dev(Path(folder)) as dev:
        pairs = sides(url.rstrip("/"), dev)
        tokens = {name: hearth.token for name, (_, hearth) in pairs.items()}
        with proxied(dev.cloud_url, tokens, cloud_port, writes=writes) as proxy:
            yield pairs, dev, proxy


def chosen(beginnings: Iterable[str]) -> list[str]:
    """Return the types that begin in these ways, in this order, without placeholders."""
    names = sorted(builtin_types().keys() - revived_types().keys() - {"<template>"})
    return list(dict.fromkeys(n for begin in beginnings for n in names if n.startswith(begin)))


def types_of(original: Side) -> set[str]:
    """Return the types that Heat has for a caller."""
    headers = {"X-Auth-Token": original.token}
    reply = requests.get(f"{original.base}/resource_types", headers=headers, timeout=60)
    return set(reply.json()["resource_types"])


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--type", action="append", default=[], help="a type or how it begins")
    parser.add_argument("--json", type=Path, help="write the differences here, one a line")
    parser.add_argument("--record", action="store_true", help="keep what Hearth said")
    parser.add_argument("--cloud-port", type=int, default=CLOUD_PORT)
    parser.add_argument("--services", action="store_true", help="print options for Heat and stop")
    asked = parser.parse_args()
    if asked.services or not asked.url:
        base = f"http://127.0.0.1:{asked.cloud_port}"
        print(" ".join(f"--service {kind}={base}{path}" for kind, path in SERVICES.items()))
        return 0
    if asked.json:
        asked.json.write_text("")
    began, outcomes = time.monotonic(), []
    with side_by_side(asked.url, asked.cloud_port) as (pairs, dev, proxy):
        known = types_of(pairs["admin"][0])
        for name in chosen(asked.type or [""]):
            outcomes.append(swept(name, pairs, known))
            print(outcomes[-1], *outcomes[-1].open, sep="\n    ", flush=True)
            if asked.json:
                _keep(asked.json, outcomes[-1])
        left = dev.left_over()
    if asked.record:
        _record(outcomes)
    return _told(outcomes, [*left, *proxy.refused], time.monotonic() - began)


def _keep(path: Path, found: Outcome) -> None:
    with path.open("a") as file:
        file.writelines(f"{json.dumps(one)}\n" for one in found.differences)


def _record(outcomes: Iterable[Outcome]) -> None:
    """Keep what Hearth said, beside that of types that were left out."""
    known = json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
    known |= {one.type_name: one.refused for one in outcomes if one.variants}
    VERDICTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def _told(outcomes: list[Outcome], changes: list[str], seconds: float) -> int:
    settled: Counter[str] = sum((one.settled for one in outcomes), Counter())
    for why, count in settled.most_common():
        print(f"{count:6} {why}")
    unsettled = sum(len(one.open) for one in outcomes)
    tried = [one.variants for one in outcomes if one.variants]
    print(f"{len(tried)} types, {sum(tried)} variants, {settled.total()} settled, {unsettled} open")
    print(f"changes of the cloud: {changes or 'none'}, {seconds:.0f} s")
    return 1 if unsettled or changes else 0


if __name__ == "__main__":
    raise SystemExit(main())
