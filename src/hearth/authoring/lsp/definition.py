"""Where the thing under the cursor is defined, in this file or another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import is_template_name, local
from hearth.authoring.lsp.places import What
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.spot import Spot
from hearth.authoring.lsp.symbol import symbol_at


@dataclass(frozen=True, slots=True)
class Target:
    """A part of a document, or a whole file where there is no document."""

    path: Path
    document: Document | None = None
    start: int = 0
    end: int = 0


def definition(spot: Spot, schemas: Schemas) -> Target | None:
    """Where what is named at a spot is defined."""
    if spot.document.genre is Genre.NOTHING:
        return None
    document, place, name = spot.document, spot.place, spot.scalar.text
    match place.what:
        case What.TYPE | What.VALUE if not spot.is_key and schemas.names_type(document, place):
            resource = place.name if place.what is What.TYPE else ""
            return _file(schemas.child_path(document.path, name, resource))
        case What.REGISTRY if spot.is_key:
            return _file(schemas.child_path(document.path, name))
        case What.REGISTRY_TARGET if not spot.is_key:
            if is_template_name(name):
                return _file(local(name, document.path))
            return _file(schemas.child_path(document.path, name))
        case What.FILE if not spot.is_key:
            return _file(local(name, document.path))
    symbol = symbol_at(spot, schemas)
    if symbol is None:
        return None
    item = symbol.home.items(symbol.section).get(symbol.name)
    if item is None:
        return None
    return Target(symbol.home.path, symbol.home, item.start, item.base + item.key.end)


def _file(path: Path | None) -> Target | None:
    return Target(path) if path is not None and path.is_file() else None
