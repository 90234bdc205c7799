"""Fault-injection rules for tests: which calls to the cloud get which errors and delays."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MATCH = {
    "service",
    "method",
    "path_regex",
    "nth",
    "times",
    "first",
    "name",
    "name_regex",
    "trace",
}
_EFFECT = {
    "latency_s",
    "status",
    "after",
    "body",
    "retry_after",
    "headers",
    "withhold",
    "drop",
    "hold",
    "invisible_s",
    "slow_s",
    "error",
    "garble",
}


SWITCHES = ("events", "threshold_alarms")
"""The attributes of `Knobs` that the control API turns on and off."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of fault rules on the handler of a call.

    `slow_s` replaces the time until an object is ready (None: the setting of the cloud),
    `invisible_s` hides new objects for this time, and `error` makes them fail. Times are in
    seconds.
    """

    slow_s: float | None = None
    invisible_s: float = 0.0
    error: bool = False


NO_EFFECTS = Effects()


class BadRule(ValueError):
    """A fault rule is invalid; the message gives the reason."""


@dataclass(slots=True)
class Rule:
    """A fault rule. It matches calls by service, method, path, object name or trace.

    `trace` is the id of a trace: only calls with this id in their header `traceparent` match.
    If `nth` is set, only the nth matching call (counted from 1) gets the effect. `times` is the
    maximum number of calls that get the effect. If `first` is true, repetitions of a call (same
    method, path and body) do not match.
    """

    service: str | None = None
    method: str | None = None
    path: re.Pattern[str] | None = None
    name: str | None = None
    name_pattern: re.Pattern[str] | None = None
    trace: str | None = None
    nth: int | None = None
    times: int | None = None
    first: bool = False
    effect: Mapping[str, Any] = field(default_factory=dict)
    matches: int = 0
    struck: int = 0
    calls: set[tuple[str, str, bytes]] = field(default_factory=set)

    def strikes(
        self,
        service: str,
        method: str,
        path: str,
        names: frozenset[str],
        raw: bytes,
        traceparent: str = "",
    ) -> bool:
        """Return whether a call gets the effect of the rule. Matching calls are counted."""
        if self.trace is not None and self.trace not in traceparent:
            return False
        if self.service is not None and self.service != service:
            return False
        if self.method is not None and self.method != method:
            return False
        if self.path is not None and self.path.search(path) is None:
            return False
        if self.name is not None and self.name not in names:
            return False
        if self.name_pattern is not None and not any(map(self.name_pattern.search, names)):
            return False
        if self.first:
            alike = method, path, hashlib.sha256(raw).digest()
            if alike in self.calls:
                return False
            self.calls.add(alike)
        self.matches += 1
        if self.nth is not None and self.matches != self.nth:
            return False
        if self.times is not None and self.struck >= self.times:
            return False
        self.struck += 1
        return True

    @property
    def asks_for_name(self) -> bool:
        """Whether the rule matches calls by the names of objects."""
        return self.name is not None or self.name_pattern is not None

    def view(self) -> dict[str, Any]:
        """Return the rule for the admin API.

        `seen` is the number of matching calls, and `struck` the number of calls that got the
        effect.
        """
        return {
            "match": {
                "service": self.service,
                "method": self.method,
                "path_regex": self.path.pattern if self.path else None,
                "name": self.name,
                "name_regex": self.name_pattern.pattern if self.name_pattern else None,
                "trace": self.trace,
                "nth": self.nth,
                "times": self.times,
                "first": self.first,
            },
            "effect": dict(self.effect),
            "seen": self.matches,
            "struck": self.struck,
        }


@dataclass(slots=True)
class Fate:
    """The combined effects of all fault rules on one call.

    If `hold` is true, the call waits for the next `release` before it is carried out. If
    `withhold_s` is set, the call is carried out, but its connection is closed without a response
    after this time in seconds; infinity means at the next `release`. If `after` is true, the call
    is carried out before it gets the response `status`, as in a gateway timeout.
    """

    latency_s: float = 0.0
    status: int | None = None
    after: bool = False
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    withhold_s: float | None = None
    drop: bool = False
    hold: bool = False
    garble: str | None = None
    effects: Effects = field(default_factory=Effects)


class Knobs:
    """The fault rules of a cloud, and the calls that they hold back."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.events = False  # whether state changes of servers can trigger alarms
        self.threshold_alarms = False  # whether Aodh has threshold rules, as before Queens
        self.waiting = 0
        self._gate: asyncio.Future[bool] | None = None

    def add(self, rules: list[Any]) -> None:
        """Parse rules and add them. Raises BadRule."""
        self.rules += [parse_rule(rule) for rule in rules]

    def clear(self, trace: str = "") -> None:
        """Remove all rules, turn events off, and release waiting calls; with a `trace` only remove
        its rules.

        Whether Aodh has threshold rules stays: that is no fault but a property of the cloud.
        """
        self.rules = [rule for rule in self.rules if trace and rule.trace != trace]
        if trace:
            return
        self.events = False
        self.release()

    def release(self, *, discard: bool = False) -> int:
        """Let all calls that wait in `held` go on; return their number.

        If `discard` is true, calls with the effect `hold` are not carried out, and their
        connections are closed.
        """
        count = self.waiting
        if self._gate is not None:
            self._gate.set_result(discard)
            self._gate = None
        return count

    async def held(self, timeout_s: float | None = None) -> bool:
        """Wait for the next `release` or the timeout; return False if the call is discarded."""
        if self._gate is None:
            self._gate = asyncio.get_running_loop().create_future()
        self.waiting += 1
        try:
            async with asyncio.timeout(timeout_s):
                return not await asyncio.shield(self._gate)
        except TimeoutError:
            return True
        finally:
            self.waiting -= 1

    def fate(
        self,
        service: str,
        method: str,
        path: str,
        names: frozenset[str],
        raw: bytes = b"",
        traceparent: str = "",
    ) -> Fate | None:
        """Return the combined effects of the rules on a call, or None if no rule applies."""
        fate: Fate | None = None
        for rule in self.rules:
            if rule.strikes(service, method, path, names, raw, traceparent):
                fate = fate or Fate()
                _apply(fate, rule.effect)
        return fate


def _apply(fate: Fate, effect: Mapping[str, Any]) -> None:
    fate.latency_s += float(effect.get("latency_s", 0))
    if effect.get("status") is not None:
        fate.status = int(effect["status"])
        fate.after = bool(effect.get("after"))
        fate.body = effect.get("body")
        fate.headers.update(effect.get("headers") or {})
        if effect.get("retry_after") is not None:
            fate.headers["Retry-After"] = str(effect["retry_after"])
    withhold = effect.get("withhold")
    if withhold is not None and withhold is not False:
        fate.withhold_s = float("inf") if withhold is True else float(withhold)
    fate.drop = fate.drop or bool(effect.get("drop"))
    fate.hold = fate.hold or bool(effect.get("hold"))
    fate.garble = effect.get("garble", fate.garble)
    old = fate.effects
    slow = effect.get("slow_s", old.slow_s)
    fate.effects = Effects(
        slow_s=None if slow is None else float(slow),
        invisible_s=max(old.invisible_s, float(effect.get("invisible_s", 0))),
        error=old.error or bool(effect.get("error")),
    )


def parse_rule(rule: Any) -> Rule:
    """Parse a rule of the form `{"match": {...}, "effect": {...}}`. Raises BadRule."""
    if not isinstance(rule, dict) or not isinstance(rule.get("effect"), dict):
        raise BadRule("a rule must be an object with the keys 'effect' and, optionally, 'match'")
    match, effect = rule.get("match") or {}, rule["effect"]
    unknown = (set(match) - _MATCH) | (set(effect) - _EFFECT)
    if unknown:
        raise BadRule(f"unknown keys in 'match' or 'effect': {', '.join(sorted(unknown))}")
    try:
        path, name = (
            re.compile(match[key]) if match.get(key) else None
            for key in ("path_regex", "name_regex")
        )
    except re.error as error:
        raise BadRule(f"invalid path_regex or name_regex: {error}") from None
    method = match.get("method")
    return Rule(
        service=match.get("service"),
        method=method.upper() if method else None,
        path=path,
        name=match.get("name"),
        name_pattern=name,
        trace=match.get("trace"),
        nth=match.get("nth"),
        times=match.get("times"),
        first=bool(match.get("first")),
        effect=effect,
    )
