"""Checks of resources and of references that need no values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from hearth.model.problem import (
    InvalidTemplateReference,
    Problem,
    StackValidationFailed,
    hint,
    nearest,
)
from hearth.model.span import Span, dotted
from hearth.template.environment import TemplateEntry
from hearth.template.expr import Call, Const, MapOf, calls_in, keys_of
from hearth.template.function import Refers
from hearth.template.parse import EMPTY, ResourceSource, Syntax
from hearth.template.program import Binding, reported_by_parent
from hearth.template.references import Reference, referred
from hearth.template.types import TypeInfo

UNKNOWN_PROPERTY = "unknown-property"
"""The code of the rule that a property must exist in the schema."""


def way_into(source: ResourceSource, entry: TemplateEntry) -> str:
    """Return the path of a resource's nested template, which is prepended to the paths inside it.

    `entry` is the entry in which the environment names the template.
    """
    return f"{source.at.path}<{entry.template}>"


def problems_of(binding: Binding, source: ResourceSource) -> Iterator[Problem]:
    """Yield the problems of a resource's type and of its nested template, as problems of the
    resource.
    """
    if binding.entry is not None:
        path = way_into(source, binding.entry)
        yield from (reported_by_parent(problem, path) for problem in binding.inside)
    yield from binding.problems


def check_resource(
    source: ResourceSource, type_info: TypeInfo | None, syntax: Syntax
) -> Iterator[Problem]:
    """Yield the problems of a resource that do not depend on values."""
    if type_info is None:
        return
    if not isinstance(source.properties, Const | MapOf):
        message = f"{syntax.grammar.word('properties')} must be a map, not a function call"
        yield StackValidationFailed(source.at, message)
    yield from _check_names(source, type_info, syntax)
    if source.update_policy is not EMPTY:
        yield from _check_policy(source, type_info, syntax)


def _check_names(source: ResourceSource, type_info: TypeInfo, syntax: Syntax) -> Iterator[Problem]:
    if getattr(type_info, "accepts_any_property", False) or source.external_id is not None:
        return
    schema = type_info.properties
    for name in keys_of(source.properties):
        if name not in schema:
            word = syntax.grammar.word("properties")
            node = source.node.nearest_to([word, name])
            at = node.key_span(source.at.file, dotted([word], source.at.path))
            yield unknown_property(at, name, schema)


def unknown_property(at: Span, name: str, names: Iterable[str]) -> Problem:
    """Return the problem of a property that the schema does not have.

    `names` contains the names in the schema, one of which may be suggested.
    """
    near = nearest(name, names)
    message = f'unknown property "{name}"{hint(near)}'
    return StackValidationFailed(
        at, message, "Property error", code=UNKNOWN_PROPERTY, suggestion=near
    )


def _check_policy(source: ResourceSource, type_info: TypeInfo, syntax: Syntax) -> Iterator[Problem]:
    path = dotted([syntax.grammar.word("update_policy")], source.at.path)
    for name in keys_of(source.update_policy):
        if name not in type_info.update_policy:
            node = source.node.nearest_to([syntax.grammar.word("update_policy"), name])
            yield unknown_property(
                node.key_span(source.at.file, path), name, type_info.update_policy
            )


def check_depends_on(source: ResourceSource, declared: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each name in `depends_on` that is not a declared resource."""
    for name in source.depends_on:
        if name not in declared:
            node = source.node.nearest_to(["depends_on"])
            if node is source.node:
                node = source.node.nearest_to(["DependsOn"])
            if isinstance(node.value, list):
                node = next(entry for entry in node.value if entry.value == name)
            yield no_resource(node.span(source.at.file, source.at.path), name, declared)


def check_references(source: ResourceSource, declared: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each name of a resource that is not declared, also in `depends_on`.

    References inside an `if` are left out, and so is `Ref`, which may name a parameter.
    """
    yield from check_depends_on(source, declared)
    for expr in (source.properties, source.metadata):
        if type(expr) is Const:
            continue
        for call in calls_in(expr):
            target = referred(call.function.refers, call.args)
            if call.function.name != "Ref" and target is not None and target not in declared:
                yield no_target(call, target, declared)


def no_target(call: Call, name: str, declared: Iterable[str]) -> Problem:
    """Return the problem of a call that refers to an undeclared or disabled resource."""
    message = _text_for_list(call, declared)
    if message is None:
        return no_resource(call.place_of(0), name, declared)
    return InvalidTemplateReference(call.at, name, words=message, code="unknown-resource")


def _text_for_list(call: Call, declared: Iterable[str]) -> str | None:
    """Return the error message for a text that is given in place of a list [resource, attribute].

    Return None if that is not the mistake. As in Heat, each character would count as an item.
    """
    text = call.args.value if isinstance(call.args, Const) else None
    if call.function.refers is not Refers.ATTRIBUTE or not isinstance(text, str):
        return None
    name, _, path = text.partition(".")
    near = nearest(name, declared)
    suggestion = hint(f"[{', '.join([near, *path.split('.')])}]") if near and path else ""
    return f'{call.function.name}: expected a list, got the text "{text}"{suggestion}'


def no_resource(at: Span, name: str, declared: Iterable[str]) -> Problem:
    """Return the problem of a name that is not a declared and enabled resource."""
    near = nearest(name, declared)
    return InvalidTemplateReference(at, name, near, code="unknown-resource", suggestion=near)


def no_attribute(reference: Reference, type_info: TypeInfo, declared: Iterable[str]) -> Problem:
    """Return the problem of a reference to an attribute that the type does not have.

    `declared` contains the names of the resources in the template.
    """
    if (message := _text_for_list(reference.call, declared)) is not None:
        return StackValidationFailed(reference.call.at, message, code="unknown-attribute")
    attribute = str(reference.read[0]) if reference.read else ""
    near = nearest(attribute, type_info.attributes)
    message = f'resource "{reference.resource}" has no attribute "{attribute}"{hint(near)}'
    at = reference.call.place_of(1)
    return StackValidationFailed(at, message, code="unknown-attribute", suggestion=near)
