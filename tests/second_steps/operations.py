"""The first operations of a type, and the calls that they make."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.types.case import Start, Subject, Template, without_refs

IDENT = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{32}|[0-9]+")
OF_THE_STACK = re.compile(r"^/identity/v3/(auth/tokens|OS-TRUST/)")
"""Paths of calls that serve no resource."""

CHANGING_READS = re.compile(r"/(dis)?associate")
SERVERS = ("AWS::EC2::Instance", "OS::Nova::Server")
VERBS = ("check", "suspend", "resume", "snapshot", "restore", "delete")
WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class First:
    """The first operation: from one template to another; `other` is a third one, if there is any.

    `in_place`: it changes the object and replaces nothing. `makes`: it creates the resource. With
    another `verb` than update, all of them are the same but `other`.
    """

    name: str
    before: Template
    after: Template
    other: Template | None
    in_place: bool
    makes: bool = False
    verb: str = "update"
    of_server: bool = False
    required: tuple[str, ...] = ()  # properties


@dataclass(frozen=True)
class Write:
    """A write call of an operation: the nth with its method and path, all of which `pattern` fits.

    `alone`: no other write call of the operation has the same.
    """

    method: str
    pattern: str
    nth: int
    alone: bool


def firsts(one: Subject, *, every: bool = False) -> Iterator[First]:
    """Yield the first operations of a type: a create, its changes in place, and replacements.

    Of the replacements the first, or `every` one. Raises NeedsCase.
    """
    replaced = False
    for start in list(one.starts())[2:]:
        template = start.template
        assert isinstance(template, dict)
        if start.name == "full":
            without = without_refs(template, one.resource)
            other = _after(one, start, 0)
            required = tuple(sorted(one.required()))
            yield First(
                "create", without, template, other, in_place=False, makes=True, required=required
            )
            for verb in VERBS:
                yield First(verb, template, template, other, in_place=True, verb=verb)
        for number, change in enumerate(start.changes, 1):
            after = one.with_properties(change.properties)
            if change.in_place or every or not replaced:
                name = f"{'update' if change.in_place else 'replace'} {change.name}"
                other, server = _after(one, start, number), one.type_name in SERVERS
                yield First(name, template, after, other, change.in_place, of_server=server)
            replaced |= not change.in_place
            template = after


def _after(one: Subject, start: Start, number: int) -> Template | None:
    """Return the template with the change of this number, if that is in place."""
    found = start.changes[number : number + 1]
    return one.with_properties(found[0].properties) if found and found[0].in_place else None


def writes_of(
    calls: Iterable[Mapping[str, Any]], stack: str, *, reads: bool = False
) -> list[Write]:
    """Return the write calls among those of the audit log, with `reads` all calls.

    `stack` is a part of generated names.
    """
    kinds = [
        (call["method"], _pattern(call["path"], stack))
        for call in sorted(calls, key=lambda call: call["seq"])
        if (reads or _writes(call)) and not OF_THE_STACK.match(call["path"])
    ]
    counts, seen = Counter(kinds), Counter[tuple[str, str]]()
    found = []
    for kind in kinds:
        seen[kind] += 1
        found.append(Write(*kind, seen[kind], counts[kind] == 1))
    return found


def _writes(call: Mapping[str, Any]) -> bool:
    return call["method"] in WRITING or bool(CHANGING_READS.search(call["path"]))


def _pattern(path: str, stack: str) -> str:
    """Return an expression for the path, in which ids and generated names may be others."""
    parts = path.partition("?")[0].split("/")
    varies = [bool(IDENT.fullmatch(part)) or stack in part for part in parts]
    same = (
        "[^/]+" if other else re.escape(part) for part, other in zip(parts, varies, strict=True)
    )
    return f"^{'/'.join(same)}(\\?|$)"
