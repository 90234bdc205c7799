"""The outline of a document, for the editor's list of symbols."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec import Struct, field

from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.layout import Item, Section
from hearth.authoring.lsp.syntax_tree import Map, scalar_text
from hearth.template.versions import VERSION_KEYS


class OutlineEntry(Struct, frozen=True):
    """A line of the outline: a section, or an entry of a section.

    `section` is Hearth's name for the section of an entry, and empty for a section itself. `detail`
    is a text after the name, such as a type. `lines` are the entries of a section. `start` and
    `end` are the offsets of the part of the text, `name_start` and `name_end` those of its name.
    """

    name: str
    section: str
    detail: str
    start: int
    end: int
    name_start: int
    name_end: int
    lines: list[OutlineEntry] = field(default_factory=list)


def outline(document: Document) -> list[OutlineEntry]:
    """Return the sections of a document with their entries.

    It is empty if the document is neither a template nor an environment.
    """
    if document.genre is Genre.NOTHING:
        return []
    return [_section(document, section) for section in document.layout.sections if section.colon]


def _section(document: Document, section: Section) -> OutlineEntry:
    name = section.key.text
    ours = name if document.genre is Genre.ENVIRONMENT else document.grammar.sections.get(name, "")
    start, key_end = section.start, section.base + section.key.end
    end = max(key_end, _trimmed(document, start, section.end))
    detail = (scalar_text(section.value) or "") if name in VERSION_KEYS else ""
    return OutlineEntry(
        name, "", detail, start, end, start, key_end, list(_items(document, section, ours))
    )


def _items(document: Document, section: Section, ours: str) -> Iterator[OutlineEntry]:
    for item in section.items():
        end = item.base + item.key.end
        last = max(end, _trimmed(document, item.start, item.end))
        detail = item.note(("detail", item.name), partial(_detail, item))
        yield OutlineEntry(item.name, ours, detail, item.start, last, item.start, end)


def _detail(item: Item) -> str:
    """Return the type of a resource or parameter, which the outline shows after its name."""
    value = item.value
    for key in ("type", "Type"):
        text = scalar_text(value.get(key)) if isinstance(value, Map) else None
        if text:
            return text
    return ""


def _trimmed(document: Document, start: int, end: int) -> int:
    """Return the end of a part without its trailing white space and commas."""
    source = document.text.source
    while end > start and source[end - 1] in " \t\r\n,":
        end -= 1
    return end
