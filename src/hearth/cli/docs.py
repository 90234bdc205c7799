"""`hearth docs`: prints reference documentation, which is generated from the code."""

from pathlib import Path

from hearth.authoring import language
from hearth.model.problem import hint, nearest
from hearth.process.installed import use_installed
from hearth.resources import reference
from hearth.resources.described import as_json, as_markdown, rows
from hearth.resources.registry import builtin_types, default_catalog, revived_types


def language_page() -> str:
    """Return the page about the template language, including functions of installed packages."""
    use_installed()
    return language.page()


def types_table(form: str) -> str:
    """Return the table of all resource types, including installed ones.

    `form` is "json" or "markdown".
    """
    catalog = default_catalog()
    kinds = [kind for kind in map(catalog.find, catalog.names()) if kind is not None]
    return as_json(rows(kinds)) if form == "json" else as_markdown(rows(kinds))


def one_type(name: str) -> str:
    """Return the page of a resource type. Raises LookupError if there is none; it suggests a
    name.
    """
    catalog = default_catalog()
    rtype = catalog.find(name)
    if rtype is None:
        message = f"there is no resource type {name}"
        raise LookupError(message + hint(nearest(name, catalog.names())))
    return reference.as_markdown(rtype)


def write_reference(folder: Path) -> int:
    """Write the pages of all built-in resource types into a folder; return the number of pages."""
    pages = reference.pages(builtin_types().values(), revived_types().values())
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text)
    return len(pages)
