"""References in expressions: to resources, parameters and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from hearth.model.span import Span
from hearth.model.unknown import Unknown
from hearth.template.expr import Call, Const, Expr, If, ListOf, calls_in
from hearth.template.function import Reads, Refers
from hearth.template.parse import OutputSource, ResourceSource

Read = tuple[Any, ...]
"""An attribute that an expression reads: its name, and the steps of the path into it."""

FACADE_NAMES = ("resource_facade", "Fn::ResourceFacade")


class Reference(Struct, frozen=True):
    """A function call that refers to a resource.

    `read` is the attribute that the call reads. It is None if the call refers to the resource
    itself, like `get_resource` and `Ref`. It is empty if the call reads all attributes, or if the
    name of the attribute is computed. A path into the attribute ends at its first computed part.
    """

    resource: str
    read: Read | None
    call: Call

    @property
    def at(self) -> Span:
        """The place at which the resource is named."""
        return self.call.place_of(0)

    @property
    def whole(self) -> bool:
        """Whether `read` is all that the call asks for: no part of its path is computed."""
        args = self.call.args
        steps = len(args.items) if isinstance(args, ListOf) else len(getattr(args, "value", ()))
        return self.read is not None and len(self.read) + 1 == steps


def referred(refers: Refers, args: Expr) -> str | None:
    """Return the name of the resource to which a call with these arguments refers.

    Return None if the function does not refer to a resource, or if the name is not literal.
    """
    if refers is Refers.NOTHING:
        return None
    value: Any = None
    if isinstance(args, Const):
        value = args.value
        if refers is Refers.ATTRIBUTE and isinstance(value, list | str) and value:
            value = value[0]
    elif refers is Refers.ATTRIBUTE:
        first = next(args.parts(), None)
        value = first.value if isinstance(first, Const) else None
    return value if isinstance(value, str) else None


def references_in(expr: Expr) -> Iterator[Reference]:
    """Yield the references of an expression to resources, except those inside an `if`.

    Calls that compute the name of the resource are left out.
    """
    if type(expr) is Const:
        return
    for call in calls_in(expr):
        refers = call.function.refers
        if refers is Refers.NOTHING:
            continue
        name = referred(refers, call.args)
        if name is not None:
            path = _read(call.args) if refers is Refers.ATTRIBUTE else None
            yield Reference(name, path, call)


def _read(args: Expr) -> Read:
    steps: list[Any] = []
    parts: Iterable[Expr] = ()
    if isinstance(args, Const):
        return tuple(args.value)[1:] if _flat(args.value) else ()
    if isinstance(args, ListOf):
        parts = args.items[1:]
    for part in parts:
        if not isinstance(part, Const) or isinstance(part.value, list | dict | Unknown):
            break
        steps.append(part.value)
    return tuple(steps)


def _flat(args: Any) -> bool:
    return not any(isinstance(part, list | dict | Unknown) for part in args)


def is_closed(expr: Expr | None) -> bool:
    """Return whether an expression depends on no parameter, condition or parent resource.

    References to resources do not count, even if the resource may be disabled.
    """
    if expr is None or type(expr) is Const:
        return True
    if isinstance(expr, If):
        return False
    if isinstance(expr, Call) and (
        expr.function.reads is Reads.PARAMETERS or expr.function.name in FACADE_NAMES
    ):
        return False
    return all(is_closed(part) for part in expr.parts())


def is_closed_source(source: ResourceSource) -> bool:
    """Return whether a resource has no condition and a definition that `is_closed`.

    Such a definition is the same for all parameter values with which all resources are enabled.
    """
    expressions = (
        source.properties,
        source.metadata,
        source.update_policy,
        source.deletion_policy,
        source.external_id,
    )
    return source.condition is None and all(is_closed(expr) for expr in expressions)


def names_of_conditions(
    resources: Mapping[str, ResourceSource], outputs: Mapping[str, OutputSource]
) -> set[str]:
    """Return the names of the conditions that resources and outputs use."""
    used: set[str] = set()

    def look(expr: Expr | None) -> None:
        if expr is None or (type(expr) is Const and not isinstance(expr.value, str)):
            return
        if isinstance(expr, Const):
            used.add(expr.value)
            return
        if isinstance(expr, If):
            look(expr.condition)
            within(expr.then)
            within(expr.otherwise)
        for part in expr.parts():
            look(part)

    def within(expr: Expr | None) -> None:
        if expr is None or type(expr) is Const:
            return
        if isinstance(expr, If):
            look(expr)
        for part in expr.parts():
            within(part)

    for source in resources.values():
        look(source.condition)
        within(source.properties)
        within(source.metadata)
        within(source.update_policy)
    for output in outputs.values():
        look(output.condition)
        within(output.value)
    return used
