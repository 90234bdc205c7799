"""The first operations of a type, and the calls that they make."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from hearth.resources.capabilities import NestedType
from tests.types.case import Start, Subject, Template, without_refs

IDENT = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{32}|[0-9]+")
IDENT_INSIDE = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
OF_THE_STACK = re.compile(r"^/identity/v3/(auth/tokens|OS-TRUST/)")
"""Paths of calls that serve no resource."""

CHANGING_READS = re.compile(r"/(dis)?associate")
ANY_OBJECT = "[^/]+(\\?|$)"  # how the expression for the path of an object ends
SERVERS = ("AWS::EC2::Instance", "OS::Nova::Server")
VERBS = ("check", "suspend", "resume", "snapshot", "restore", "adopt", "delete")
LIFECYCLE = ("check", "suspend", "resume", "snapshot", "restore")
"""Operations after which people ask for them again, not for an update."""

POISON = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
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
    asked: Template | None = None  # of an update that fails by itself; None: `after`
    target: str = ""  # the resource that gets a signal
    guest: bool = False  # somebody in a server reports a result
    thorough: bool = False  # each fault meets it


@dataclass(frozen=True)
class Write:
    """A write call of an operation: the nth with its method and path, all of which `pattern` fits.

    `alone`: no other write call of the operation has the same.
    """

    method: str
    pattern: str
    nth: int
    alone: bool

    def among(self, idents: Iterable[str]) -> "Write":
        """Return the read of one of these objects: a call may carry the trace of another stack that
        reads at the same time."""
        if self.method != "GET" or not self.pattern.endswith(ANY_OBJECT):
            return self
        some = "|".join(sorted(map(re.escape, idents)))
        return replace(self, pattern=f"{self.pattern.removesuffix(ANY_OBJECT)}({some})(\\?|$)")


def firsts(one: Subject, *, every: bool = False) -> Iterator[First]:
    """Yield the first operations of a type: a create, its changes in place, and replacements.

    Of the replacements the first, or `every` one. Raises NeedsCase.
    """
    replaced, back = False, False
    guest = bool(one.case.get("signal") or one.case.get("guest"))
    for start in list(one.starts())[2:]:
        template = start.template
        assert isinstance(template, dict)
        if start.name == "full":
            without = without_refs(template, one.resource)
            other = _after(one, start, 0)
            required = tuple(sorted(one.required()))
            yield First(
                "create", without, template, other, in_place=False, makes=True, required=required,
                guest=guest,
            )  # fmt: skip
            for verb in VERBS:
                yield First(verb, template, template, other, in_place=True, verb=verb)
        for number, change in enumerate(start.changes, 1):
            after = one.with_properties(change.properties)
            if change.in_place or every or not replaced:
                name = f"{'update' if change.in_place else 'replace'} {change.name}"
                other, server = _after(one, start, number), one.type_name in SERVERS
                first = First(
                    name, template, after, other, change.in_place, of_server=server, guest=guest
                )
                yield first
                if change.in_place and not back:
                    yield rolled_back(one, first)
                back |= change.in_place
            replaced |= not change.in_place
            template = after


def rolled_back(one: Subject, update: First) -> First:
    """Return the update with a further resource that fails, so that it is rolled back."""
    asked = deepcopy(update.after)
    asked["resources"]["poison"] = {**POISON, "depends_on": one.resource}
    name = f"rollback of {update.name}"
    return replace(update, name=name, verb="rollback", asked=asked)


def of_group(one: Subject) -> bool:
    """Return whether the resource is a stack of others."""
    return isinstance(one.kind, NestedType)


def _after(one: Subject, start: Start, number: int) -> Template | None:
    """Return the template with the change of this number, if that is in place."""
    found = start.changes[number : number + 1]
    return one.with_properties(found[0].properties) if found and found[0].in_place else None


def writes_of(
    calls: Iterable[Mapping[str, Any]], stack: str, *, reads: bool = False
) -> list[Write]:
    """Return the write calls among those of the audit log, with `reads` those that read one object,
    too: several stacks share a call that lists objects.

    `stack` is a part of generated names.
    """
    kinds = [
        (call["method"], _pattern(call["path"], stack))
        for call in sorted(calls, key=lambda call: call["seq"])
        if (_writes(call) or (reads and _reads_one(call["path"])))
        and not OF_THE_STACK.match(call["path"])
    ]
    counts, seen = Counter(kinds), Counter[tuple[str, str]]()
    found = []
    for kind in kinds:
        seen[kind] += 1
        found.append(Write(*kind, seen[kind], counts[kind] == 1))
    return found


def _writes(call: Mapping[str, Any]) -> bool:
    return call["method"] in WRITING or bool(CHANGING_READS.search(call["path"]))


def _reads_one(path: str) -> bool:
    return IDENT.fullmatch(path.partition("?")[0].rpartition("/")[2]) is not None


def _pattern(path: str, stack: str) -> str:
    """Return an expression for the path, in which ids and generated names may be others."""
    parts = path.partition("?")[0].split("/")
    varies = [bool(IDENT.fullmatch(part)) or stack in part for part in parts]
    same = (
        "[^/]+" if other else re.escape(part) for part, other in zip(parts, varies, strict=True)
    )
    return f"^{'/'.join(same)}(\\?|$)"
