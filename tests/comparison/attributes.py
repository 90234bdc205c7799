"""Attributes of each type, from Heat and from Hearth: `python -m tests.comparison.attributes URL`.

Both create the type's example in one embedded cloud, one after the other. Compared are the
attributes that the resource shows and what `get_attr` gives for each declared attribute. URL is
that of a Heat with the options that `sweep --services` prints. Types without an object in the cloud
are left out. The exit status is 1 if a difference is not settled.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from hearth.schema import SupportStatus
from tests.comparison.differences import ABSENT, Difference, differences
from tests.comparison.sides import Answer, Request, Side
from tests.comparison.sweep import CLOUD_PORT, chosen, give_keys, side_by_side, types_of
from tests.types.case import Subject, subject

AT_ONCE = 2  # with more, the quota of routers is too small
PATIENCE_S = 120.0
HOST = re.compile(r"https?://[\w.]+:\d+")
OWN = ("orchestration", "identity", None)  # whose objects are not in the cloud that both share


@dataclass(frozen=True)
class Settled:
    """A class of differences, with the reason why it stays."""

    reason: str
    matches: Callable[[str, Difference], bool]


def _at(types: str, places: str) -> Callable[[str, Difference], bool]:
    """Return whether a type's name and the end of a place match."""
    kinds, ways = re.compile(types), re.compile(rf"(.*\.)?({places})")
    return lambda name, difference: (
        kinds.search(name) is not None and bool(ways.fullmatch(difference.place))
    )


def _text_of_it(name: str, difference: Difference) -> bool:
    """Heat gives the text of a value, in Python or as JSON."""
    if not isinstance(difference.original, str) or isinstance(difference.here, str):
        return False
    with suppress(ValueError):
        if json.loads(difference.original) == difference.here:
            return True
    return difference.original == str(difference.here)


def _unread(name: str, difference: Difference) -> bool:
    """Heat shows nothing, or that it cannot read the attribute."""
    failed = UNREAD.match(difference.original) if isinstance(difference.original, str) else None
    return difference.here is not ABSENT and (
        difference.original in (ABSENT, None) or failed is not None
    )


UNREAD = re.compile(
    "The Referenced Attribute|can only concatenate|This attribute is currently"
    r"|'\w+' object has no attribute|hostname$"
)
NEWER = r"OS::(Nova|Cinder)::"
PER_OBJECT = (
    r"serial|version|(created|updated)_at|revision_number|.*segmentation_id|mac_address|records\[\]"
    r"|.*mac_addr|group_id|standard_attr_id|console_urls\..*|x-trans-id|x-openstack-request-id|date"
    r"|server|endpoint|curl_cli|ip_address|floating_ip_address|fixed_ip_address|addr|aggregate_id"
    r"|signature|query_str|alarm_url|alarm_actions\[\]"
)
SETTLED: tuple[Settled, ...] = (
    Settled("an attribute that Heat does not show, or fails to read, has its value", _unread),
    Settled(
        "a value has the type that the service gives it; Heat gives some as texts", _text_of_it
    ),
    Settled(
        "numbers, times, addresses and signatures are new for each object", _at("", PER_OBJECT)
    ),
    Settled(
        "identifiers that count up",
        lambda name, difference: (
            difference.place.endswith(".id") and _numbers(difference.original, difference.here)
        ),
    ),
    Settled(
        "Heat asks Nova and Cinder with the latest API version of the cloud, Hearth with the first "
        "one that has what it needs",
        lambda name, difference: bool(re.match(NEWER, name)) and difference.here is ABSENT,
    ),
    Settled(
        "the same, for empty values", _at("OS::Nova::Flavor|OS::Nova::Server", "swap|description")
    ),
    Settled(
        "`show` has the names of the service, not of its client",
        _at("OS::Barbican", r"show\..*|shown\..*"),
    ),
    Settled("fields that only Heat's library adds", _at("", r"location|content-length")),
    Settled(
        "the id of a flavor is the generated name, by which a repeated create finds it",
        _at("OS::Nova::Flavor", r"id|links\[\]\.href"),
    ),
    Settled(
        "quotas are those of the project; Heat asks for a project with the name of the resource",
        _at("OS::(Nova|Cinder)::Quota", r"\w+"),
    ),
    Settled("a container has the generated name", _at("OS::Zun::Container", r"(host)?name")),
    Settled("a workflow declares its defaults", _at("OS::Mistral::Workflow", r"definition|input")),
)


def _numbers(*values: Any) -> bool:
    return all(re.fullmatch(r"\d+", str(value)) for value in values)


@dataclass
class Outcome:
    """What was compared of a type, and how it differs."""

    type_name: str
    attributes: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    open: list[Difference] = field(default_factory=list)
    left_out: str = ""

    def __str__(self) -> str:
        counts = f"{self.attributes} attributes, {self.settled.total()} settled"
        summary = self.left_out or f"{counts}, {len(self.open)} open"
        return "\n    ".join([f"{self.type_name}  {summary}", *map(str, self.open)])


def template_of(case: Subject) -> dict[str, Any]:
    """Return the example with an output for each attribute of the resource."""
    template = deepcopy(case.template)
    template["resources"].update(deepcopy(case.told("needs")))
    give_keys(template, case.resource)
    template["outputs"] = {
        name: {"value": {"get_attr": [case.resource, name]}} for name in declared(case)
    }
    return template


def declared(case: Subject) -> list[str]:
    """Return the attributes that Heat and Hearth know."""
    attributes = case.kind.attributes.items()
    hidden = {n for n, a in attributes if a.support and a.support.status is SupportStatus.HIDDEN}
    return [*(name for name, _ in attributes if name not in hidden), "show"]


def seen(side: Side, case: Subject, name: str) -> Answer:
    """Create the example, and return its attributes and outputs; delete it. Raises Failed."""
    files = case.case.get("files", {})
    body = {"stack_name": name, "template": template_of(case), "files": files}
    side = replace(side, kept={})
    asked = side.ask(Request("POST", "/stacks", body, keep={"stack": "stack.id"}))
    if asked.status != 201:
        raise Failed(f"refused: {json.dumps(asked.body)[:300]}")
    path = f"/stacks/{name}/{{stack}}"
    try:
        ended = _ended(side, path)
        if not ended["stack_status"].endswith("COMPLETE"):
            raise Failed(f"{ended['stack_status']}: {ended['stack_status_reason']}")
        shown = side.ask(Request("GET", f"{path}/resources/{case.resource}"))
        outputs = {
            entry["output_key"]: entry.get("output_error", entry.get("output_value"))
            for entry in ended["outputs"]
        }
        attributes = shown.body["resource"]["attributes"]
        return Answer(200, _without_hosts({"shown": attributes, "get_attr": outputs}))
    finally:
        side.ask(Request("DELETE", path))
        with suppress(Failed):
            _ended(side, path)


class Failed(Exception):
    """A side did not create the example."""


def _ended(side: Side, path: str) -> Mapping[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = side.ask(Request("GET", path))
        if found.status == 404:
            return {"stack_status": "DELETE_COMPLETE", "stack_status_reason": ""}
        stack: Mapping[str, Any] = (found.body or {}).get("stack") or {}
        if stack and not stack["stack_status"].endswith("_IN_PROGRESS"):
            return stack
        time.sleep(0.3)
    raise Failed("it does not end")


def _without_hosts(value: Any) -> Any:
    return json.loads(HOST.sub("<host>", json.dumps(value)))


def compared(name: str, pairs: Mapping[str, tuple[Side, Side]], heat_types: set[str]) -> Outcome:
    """Compare a type."""
    outcome, case = Outcome(name), subject(name)
    outcome.left_out = _left_out(case, heat_types)
    if outcome.left_out:
        return outcome
    heat, hearth = pairs[case.case.get("caller", "demo")]
    stack = f"a{time.time_ns() // 1000:x}-{case.slug}"  # an earlier run may have left one
    try:
        original = seen(heat, case, stack)
    except Failed as failed:
        outcome.left_out = f"not made by Heat: {failed}"
        return outcome
    try:
        answers = original, seen(hearth, case, stack)
    except Failed as failed:
        outcome.open.append(Difference("stack", "created", str(failed)))
        return outcome
    outcome.attributes = len(declared(case))
    for difference in differences(*answers):
        cause = reason(name, difference)
        if cause is None:
            outcome.open.append(difference)
        else:
            outcome.settled[cause] += 1
    return outcome


def _left_out(case: Subject, heat_types: set[str]) -> str:
    if case.type_name not in heat_types:
        return "not in Heat"
    if case.kind.service in OWN:
        return "no object in the cloud"
    return "needs signals" if case.case.get("signal") else str(case.case.get("elsewhere", ""))


def reason(name: str, difference: Difference) -> str | None:
    """Return the first reason that explains a difference."""
    found = (one.reason for one in SETTLED if one.matches(name, difference))
    return next(found, None)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--type", action="append", default=[], help="a type or how it begins")
    parser.add_argument("--cloud-port", type=int, default=CLOUD_PORT)
    asked = parser.parse_args()
    began, outcomes = time.monotonic(), []
    with side_by_side(asked.url, asked.cloud_port, writes=True) as (pairs, _, _):
        heat_types = types_of(pairs["admin"][0])
        names = chosen(asked.type or [""])
        alone = [name for name in names if subject(name).case.get("alone")]
        together = [name for name in names if name not in alone]

        def outcome_of(name: str) -> Outcome:
            return compared(name, pairs, heat_types)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            for outcome in chain(pool.map(outcome_of, together), map(outcome_of, alone)):
                outcomes.append(outcome)
                print(outcome, flush=True)
    return _told(outcomes, time.monotonic() - began)


def _told(outcomes: list[Outcome], seconds: float) -> int:
    settled: Counter[str] = sum((one.settled for one in outcomes), Counter())
    for why, count in settled.most_common():
        print(f"{count:6} {why}")
    tried = [one for one in outcomes if one.attributes]
    unsettled = sum(len(one.open) for one in outcomes)
    attributes = sum(one.attributes for one in tried)
    print(
        f"{len(tried)} types, {attributes} attributes, {settled.total()} settled, "
        f"{unsettled} open, {seconds:.0f} s"
    )
    return 1 if unsettled else 0


if __name__ == "__main__":
    raise SystemExit(main())
