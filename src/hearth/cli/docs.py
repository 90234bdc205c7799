"""`hearth docs`: reference documentation, made from the declarations."""

from hearth.resources.described import as_json, as_markdown, rows
from hearth.resources.registry import default_catalog


def types_table(form: str) -> str:
    """All resource types, installed ones too, as "markdown" or "json"."""
    catalog = default_catalog()
    kinds = [kind for kind in map(catalog.find, catalog.names()) if kind is not None]
    return as_json(rows(kinds)) if form == "json" else as_markdown(rows(kinds))
