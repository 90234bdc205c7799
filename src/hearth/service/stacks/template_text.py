"""Convert stored templates, which are text, to maps and lists."""

from typing import Any

from hearth.service.services import Services
from hearth.store.rows import StackRow
from hearth.template import load


async def as_object(services: Services, row: StackRow, text: str) -> Any:
    """Return a stack's template as maps and lists, without blocking the event loop.

    Raises Rejected.
    """
    return await services.compute.run(plain, text, project=row.project_id, characters=len(text))


def plain(text: str, file: str = "template") -> Any:
    """Return a template as maps and lists; `file` names it in errors. Raises Rejected."""
    return load(text, file).plain()
