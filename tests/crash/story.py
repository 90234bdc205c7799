"""What the crash tests tell: a stack's operations, and the calls at which Hearth can die."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call: how a knob tells it. `name` is a pattern for the name of what it is about; `nth` says
    which one it is of those that begin once the window is open.
    """

    service: str
    method: str
    path: str
    name: str | None = None
    nth: int | None = None

    def match(self) -> dict[str, object]:
        rule = {"service": self.service, "method": self.method, "path_regex": self.path,
                "name_regex": self.name, "nth": self.nth}  # fmt: skip
        return {key: value for key, value in rule.items() if value is not None}


Wave = Mapping[str, Call]
"""Calls by kind. A kind is the name of a resource type, and more words where one is not enough."""


@dataclass(frozen=True)
class Act:
    """One operation on a stack: what is asked for, what there is in the cloud once it is complete,
    and its calls in waves: those of a wave need nothing of each other.

    `rollback` asks for an update that fails. `servers` is the status of all of them. `ran` is
    how the line begins that each deployment notes in it, once.
    """

    verb: str  # one of VERBS
    waves: tuple[Wave, ...]
    template: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    wanted: Mapping[str, int] = field(default_factory=dict)
    servers: str | None = None
    ran: str | None = None


@dataclass(frozen=True)
class Story:
    """The life of a stack.

    In its first act `waiter` waits for a `signal` to `handle`; the waves from `signalled` on come
    after it. `quiet` types make no call: they start, or go, in the commit of the end of the call of
    the kind they are listed under. `waits` are resources that only take their time. `server` has an
    agent, which runs the `deployments`.
    """

    name: str
    acts: tuple[Act, ...]
    user: str = "demo"
    handle: str | None = None
    waiter: str | None = None
    signal: Mapping[str, Any] = field(default_factory=dict)
    signalled: int = 99
    quiet: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    waits: Mapping[str, str] = field(default_factory=dict)  # resource: type
    server: str | None = None
    deployments: tuple[str, ...] = ()

    def act(self, verb: str) -> Act:
        """The act of a verb; one without calls where the story has none."""
        return next((act for act in self.acts if act.verb == verb), Act(verb, ()))

    def kinds(self, verb: str) -> Iterator[str]:
        """All kinds of calls of an act."""
        for wave in self.act(verb).waves:
            yield from wave

    def types(self) -> set[str]:
        """All types that it makes a call for, or that come with a call."""
        named = {*self.kinds("create"), *self.waits.values()}
        for types in self.quiet.values():
            named.update(types)
        return {kind.partition(" ")[0] for kind in named if "::" in kind or kind.startswith("<")}


def post(service: str, collection: str, name: str | None = None) -> Call:
    """The call that adds to a collection."""
    return Call(service, "POST", f"/{collection}$", name)


def put(service: str, collection: str, name: str | None = None) -> Call:
    """The call that changes a member of a collection."""
    return Call(service, "PUT", f"/{collection}/[^/]+$", name)


def patch(service: str, collection: str, name: str | None = None) -> Call:
    """The same in services that change what is given only."""
    return Call(service, "PATCH", f"/{collection}/[^/]+$", name)


def drop(service: str, collection: str, name: str | None = None) -> Call:
    """The call that takes a member away."""
    return Call(service, "DELETE", f"/{collection}/[^/]+$", name)
