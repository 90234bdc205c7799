"""Stored templates as objects."""

from typing import Any

from hearth.service.services import Services
from hearth.store.rows import StackRow
from hearth.template import load


async def as_object(services: Services, row: StackRow, text: str) -> Any:
    """Return a stack's template as maps and lists, for every format."""
    return await services.compute.run(plain, text, project=row.project_id, characters=len(text))


def plain(text: str, file: str = "template") -> Any:
    """Return a template text as maps and lists. Raises Rejected."""
    return load(text, file).plain()
