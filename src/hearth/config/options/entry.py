"""Entries of the tables of options that functions or libraries read."""

from typing import Any

from hearth.model.option import Kind, Option


def entry(group: str, name: str, kind: Kind, default: Any, does: str, **more: Any) -> Option:
    """Return an option; `more` has its other fields."""
    return Option(does, group, name, kind, default, **more)
