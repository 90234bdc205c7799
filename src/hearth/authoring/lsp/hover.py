"""The description that an editor shows for the word under the mouse pointer."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping

from hearth.authoring.lsp import words
from hearth.authoring.lsp.cursor import CursorContext
from hearth.authoring.lsp.describe import (
    attribute_text,
    parameter_text,
    property_text,
    type_text,
)
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import local
from hearth.authoring.lsp.locations import Location, What, called
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.symbol import Symbol, symbol_at
from hearth.authoring.lsp.syntax_tree import Map, scalar_text
from hearth.authoring.lsp.uses import Of
from hearth.schema import Attr
from hearth.template.versions import function_text

EXCERPT_MAX = 400
"""The maximum length, in characters, of a definition that is shown."""


def hover(context: CursorContext, schemas: Schemas) -> str | None:
    """Return a description of the word at the cursor, as Markdown; None if there is none."""
    if context.document.genre is Genre.NOTHING:
        return None
    text = _key(context, schemas) if context.is_key else _scalar(context, schemas)
    if text:
        return text
    symbol = symbol_at(context, schemas)
    return _symbol(symbol, schemas) if symbol else None


def _key(context: CursorContext, schemas: Schemas) -> str | None:
    document, location, name = context.document, context.location, context.scalar.text
    container = context.hops[-1].container
    if isinstance(container, Map) and called(location, container, document.grammar) is not None:
        return f"**{name}**\n\n{function_text(name)}"
    if location.what is What.VALUE:
        entries = schemas.entries(document, location) or {}
        prop = entries.get(name)
        if prop is None:
            return None
        return property_text(name, prop, schemas.top_prop(document, location))
    if location.what is What.REGISTRY:
        return _type(context, schemas)
    rule = KEYS.get(location.what)
    line = rule(document, location, name) if rule else None
    return f"**{name}**\n\n{line}" if line else None


def _scalar(context: CursorContext, schemas: Schemas) -> str | None:
    document, location, name = context.document, context.location, context.scalar.text
    match location.what:
        case What.REGISTRY_TARGET:
            return _type(context, schemas)
        case What.TYPE | What.VALUE if schemas.names_type(document, location):
            return _type(context, schemas)
        case What.FILE:
            path = local(name, document.path)
            if path is None:
                return None
            return f"`{path}`" if os.path.exists(path) else f"There is no file `{path}`."
        case What.ATTRIBUTE:
            kin = schemas.of_resource(document, location.name)
            attribute = kin.attributes.get(name) if kin else None
            if attribute is None and kin is not None and name == "show":
                attribute = Attr(None, "All fields of the object that the service returns.")
            return attribute_text(name, attribute) if attribute else None
        case What.PARAMETER_NAME | What.REF if name in document.grammar.pseudo_parameters:
            return f"**{name}**\n\n{words.PSEUDO_PARAMETERS.get(name, '')}"
        case _:
            return None


def _type(context: CursorContext, schemas: Schemas) -> str | None:
    name = context.scalar.text
    resource = context.location.name if context.location.what is What.TYPE else ""
    kin = schemas.find(context.document.path, name, resource)
    return None if kin is None else type_text(kin)


def _symbol(symbol: Symbol, schemas: Schemas) -> str | None:
    document, name = symbol.home, symbol.name
    if not symbol.defined:
        return None
    match symbol.of:
        case Of.PARAMETER:
            schema = document.parameter(name)
            return parameter_text(schema) if schema else None
        case Of.RESOURCE:
            kin = schemas.of_resource(document, name)
            about = scalar_text(document.field("resources", name, "description"))
            parts = [f"**{name}** ({document.type_of(name) or 'no type'})", about or ""]
            parts.append(type_text(kin) if kin else "")
            return "\n\n".join(part for part in parts if part)
        case _:
            return _excerpt(symbol)


def _excerpt(symbol: Symbol) -> str:
    item = symbol.home.items(symbol.section)[symbol.name]
    text = symbol.home.text.source[item.start : item.end].rstrip(" \t\r\n,")
    excerpt = text[:EXCERPT_MAX] + ("…" if len(text) > EXCERPT_MAX else "")
    return f"**{symbol.name}**\n\n```yaml\n{excerpt}\n```"


KEYS: Mapping[What, Callable[[Document, Location, str], str | None]] = {
    What.ROOT: lambda document, location, name: words.SECTIONS.get(
        document.grammar.sections.get(name, name)
    ),
    What.PARAMETER: lambda document, location, name: words.PARAMETER_KEYS.get(name),
    What.RESOURCE: lambda document, location, name: words.RESOURCE_KEYS.get(
        document.grammar.resource_keys.get(name, "")
    ),
    What.OUTPUT: lambda document, location, name: words.OUTPUT_KEYS.get(
        document.grammar.output_keys.get(name, "")
    ),
    What.CONSTRAINT: lambda document, location, name: words.CONSTRAINTS.get(name),
    What.BOUNDS: lambda document, location, name: words.BOUNDS.get(location.name, {}).get(name),
    What.GROUP: lambda document, location, name: words.GROUP_KEYS.get(name),
    What.ARGUMENT: lambda document, location, name: words.FUNCTION_KEYS.get(location.name, {}).get(
        name
    ),
    What.ENVIRONMENT: lambda document, location, name: words.ENVIRONMENT_SECTIONS.get(name),
}
