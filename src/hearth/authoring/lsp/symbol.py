"""Symbols: parameters, resources, conditions, mappings and outputs of one template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from hearth.authoring.lsp.cursor import CursorContext
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.locations import What
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.uses import Of, has_properties, uses_in

SECTIONS: Mapping[Of, str] = {
    Of.PARAMETER: "parameters",
    Of.RESOURCE: "resources",
    Of.CONDITION: "conditions",
    Of.MAPPING: "mappings",
    Of.OUTPUT: "outputs",
}
"""The section in which symbols of each kind are defined."""

DEFINED: Mapping[What, Of] = {
    What.PARAMETERS: Of.PARAMETER,
    What.RESOURCES: Of.RESOURCE,
    What.CONDITIONS: Of.CONDITION,
    What.MAPPINGS: Of.MAPPING,
    What.OUTPUTS: Of.OUTPUT,
}
NAMED: Mapping[What, Of] = {
    What.PARAMETER_NAME: Of.PARAMETER,
    What.RESOURCE_NAME: Of.RESOURCE,
    What.OPERAND: Of.CONDITION,
    What.MAPPING_NAME: Of.MAPPING,
}


class Symbol(Struct, frozen=True):
    """A name that belongs to a section of the template `home`; it may be undefined there."""

    of: Of
    name: str
    home: Document

    @property
    def section(self) -> str:
        return SECTIONS[self.of]

    @property
    def defined(self) -> bool:
        return self.name in self.home.items(self.section)


class Occurrence(Struct, frozen=True):
    """A place at which a symbol occurs, as offsets in a document."""

    document: Document
    start: int
    end: int
    definition: bool = False


def symbol_at(context: CursorContext, schemas: Schemas) -> Symbol | None:
    """Return the symbol to which the name at the cursor refers; None if it refers to none."""
    location, document, name = context.location, context.document, context.scalar.text
    if context.scalar.style in ("|", ">", "*"):
        return None
    if document.genre is Genre.ENVIRONMENT:
        return _of_value(context, schemas)
    if context.is_key:
        if location.what in DEFINED:
            return Symbol(DEFINED[location.what], name, document)
        if has_properties(location):
            child = schemas.child(document, location.name, location.steps or ())
            return Symbol(Of.PARAMETER, name, child) if child else None
        return None
    if location.what in NAMED:
        return Symbol(NAMED[location.what], name, document)
    if location.what is What.REF:
        if name in document.items("resources") and not location.conditional:
            return Symbol(Of.RESOURCE, name, document)
        return Symbol(Of.PARAMETER, name, document)
    if location.what is What.ATTRIBUTE:
        child = schemas.child(document, location.name)
        return Symbol(Of.OUTPUT, name, child) if child else None
    return None


def occurrences(symbol: Symbol, schemas: Schemas) -> Iterator[Occurrence]:
    """Yield the places at which a symbol occurs in its template, in parent templates and in
    environments.

    Only open files and files in the same folder are searched.
    """
    home = symbol.home
    for item in home.all_items(symbol.section):
        if item.name == symbol.name:
            yield Occurrence(home, item.start, item.base + item.key.end, definition=True)
    hidden = symbol.of is Of.PARAMETER and symbol.name in home.items("resources")
    for base, uses in uses_in(home):
        for use in uses:
            if use.name == symbol.name and (
                use.of is symbol.of
                or (use.of is Of.REF and not hidden and symbol.of in (Of.PARAMETER, Of.RESOURCE))
            ):
                yield Occurrence(home, base + use.start, base + use.end)
    if symbol.of in (Of.PARAMETER, Of.OUTPUT):
        for document in schemas.files.beside(home.path):
            if document.path != home.path:
                yield from _from_outside(symbol, document, schemas)


def _from_outside(symbol: Symbol, document: Document, schemas: Schemas) -> Iterator[Occurrence]:
    if document.genre is Genre.ENVIRONMENT:
        if symbol.of is Of.PARAMETER and fits(document, symbol.home):
            for base, uses in uses_in(document):
                for use in uses:
                    if (use.of, use.name, use.owner) == (Of.VALUE, symbol.name, "parameters"):
                        yield Occurrence(document, base + use.start, base + use.end)
        return
    home = symbol.home.path
    if home.name not in document.text.source and not _has_alias(document, home, schemas):
        return
    of = Of.PROPERTY if symbol.of is Of.PARAMETER else Of.ATTRIBUTE
    for base, uses in uses_in(document):
        for use in uses:
            if use.of is of and use.name == symbol.name:
                inner_type = schemas.resource_at(document, use.owner, use.steps)
                if inner_type and schemas.child_path(document.path, *inner_type) == home:
                    yield Occurrence(document, base + use.start, base + use.end)


def fits(environment: Document, template: Document) -> bool:
    """Return whether a template declares all parameters of an environment."""
    parameters = environment.items("parameters")
    return bool(parameters) and parameters.keys() <= template.items("parameters").keys()


def _has_alias(document: Document, home: Path, schemas: Schemas) -> bool:
    """Return whether the environments for a document may map a type name to the template `home`.

    If there are entries for single resources, the result is true without examining them.
    """
    values = schemas.environment(document.path).resource_registry.values()
    return any(isinstance(value, Mapping) or value == str(home) for value in values)


def _of_value(context: CursorContext, schemas: Schemas) -> Symbol | None:
    """Return the template's parameter whose value the environment sets at the cursor, or None."""
    if not context.is_key or context.location.what is not What.ENV_PARAMETERS:
        return None
    for document in schemas.files.beside(context.document.path):
        if document.genre is Genre.TEMPLATE and context.scalar.text in document.items("parameters"):
            applies = context.location.name == "parameter_defaults" or fits(
                context.document, document
            )
            if applies:
                return Symbol(Of.PARAMETER, context.scalar.text, document)
    return None
