"""Rename a parameter, resource, condition, mapping or output wherever it occurs."""

from __future__ import annotations

from hearth.authoring.lsp.choice import plain_safe
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.symbol import SECTIONS, Occurrence, Symbol, occurrences
from hearth.authoring.lsp.uses import Of


class Refused(Exception):
    """The symbol cannot get the new name. The message gives the reason."""


def renamed(symbol: Symbol, new: str, schemas: Schemas) -> list[Occurrence]:
    """Return all occurrences of a symbol that must be replaced by the new name.

    There are none if the name stays the same. Raises Refused if the new name is not possible.
    """
    if not symbol.defined:
        raise Refused(f'"{symbol.name}" is not defined in {symbol.home.path.name}')
    if new == symbol.name:
        return []
    _check(symbol, new)
    return list(occurrences(symbol, schemas))


def _check(symbol: Symbol, new: str) -> None:
    home = symbol.home
    word = symbol.section.removesuffix("s")
    if not new.strip() or new != new.strip():
        raise Refused(f"the name of a {word} must not be empty or begin or end with a space")
    if "/" in new and symbol.of is Of.RESOURCE:
        raise Refused(f'the name of a resource must not contain a slash: "{new}"')
    if not plain_safe(new):
        raise Refused(f'"{new}" cannot be a name: without quotes, YAML does not read it as text')
    if new in home.items(symbol.section):
        raise Refused(f'a {word} "{new}" already exists')
    if symbol.of in (Of.PARAMETER, Of.RESOURCE):
        clashing = Of.RESOURCE if symbol.of is Of.PARAMETER else Of.PARAMETER
        if new in home.items(SECTIONS[clashing]):
            kind = SECTIONS[clashing].removesuffix("s")
            raise Refused(f'a {kind} "{new}" already exists; a {word} cannot have the same name')
    if symbol.of is Of.PARAMETER and new in home.grammar.pseudo_parameters:
        raise Refused(
            f'"{new}" cannot be a new name: it is a pseudo parameter that every stack has'
        )
