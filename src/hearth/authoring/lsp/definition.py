"""Find the definition of the name at the cursor, in this file or in another one."""

from __future__ import annotations

import os.path
from pathlib import Path

from msgspec import Struct

from hearth.authoring.lsp.cursor import CursorContext
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import is_template_name, local
from hearth.authoring.lsp.locations import What
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.symbol import symbol_at


class Target(Struct, frozen=True):
    """The place of a definition: a part of a document, or a whole file if `document` is None."""

    path: Path
    document: Document | None = None
    start: int = 0
    end: int = 0


def definition(context: CursorContext, schemas: Schemas) -> Target | None:
    """Return the place where the name at the cursor is defined; None if no definition is found."""
    if context.document.genre is Genre.NOTHING:
        return None
    document, location, name = context.document, context.location, context.scalar.text
    match location.what:
        case What.TYPE | What.VALUE if not context.is_key and schemas.names_type(
            document, location
        ):
            resource = location.name if location.what is What.TYPE else ""
            return _file(schemas.child_path(document.path, name, resource))
        case What.REGISTRY if context.is_key:
            return _file(schemas.child_path(document.path, name))
        case What.REGISTRY_TARGET if not context.is_key:
            if is_template_name(name):
                return _file(local(name, document.path))
            return _file(schemas.child_path(document.path, name))
        case What.FILE if not context.is_key:
            return _file(local(name, document.path))
    symbol = symbol_at(context, schemas)
    if symbol is None:
        return None
    item = symbol.home.items(symbol.section).get(symbol.name)
    if item is None:
        return None
    return Target(symbol.home.path, symbol.home, item.start, item.base + item.key.end)


def _file(path: Path | None) -> Target | None:
    return Target(path) if path is not None and os.path.isfile(path) else None
