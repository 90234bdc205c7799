"""Texts with a mark where the cursor is, and what the parts of the server say of that place."""

from __future__ import annotations

from pathlib import Path

from hearth.authoring.lsp.choice import Choice
from hearth.authoring.lsp.complete import Completion
from hearth.authoring.lsp.cursor import CursorContext, context_at
from hearth.authoring.lsp.document import Document
from hearth.authoring.lsp.files import Files
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.text import Text
from hearth.authoring.types import author_catalog

MARK = "|"
HOT = "heat_template_version: 2018-08-31\n"
CFN = "AWSTemplateFormatVersion: '2010-09-09'\n"


def split(text: str) -> tuple[str, int]:
    """A text without its mark, and the offset of the mark."""
    before, mark, after = text.partition(MARK)
    assert mark, "the text has no mark"
    return before + after, len(before)


class Desk:
    """Open texts in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = Files()
        self.files.root = folder
        self.schemas = Schemas(self.files, author_catalog())
        self.completion = Completion(self.schemas)

    def open(self, text: str, name: str = "main.yaml") -> Document:
        """Open a text without a mark."""
        return self.files.open((self.folder / name).as_uri(), text, 1)

    def context(self, text: str, name: str = "main.yaml") -> CursorContext:
        """What is at the mark."""
        source, offset = split(text)
        found = context_at(self.open(source, name), offset)
        assert found is not None
        return found

    def choices(
        self, text: str, name: str = "main.yaml", *, snippets: bool = False
    ) -> dict[str, Choice]:
        """What may be typed at the mark, by name, as the editor sorts it."""
        source, offset = split(text)
        found = self.completion.at(self.open(source, name), offset, snippets=snippets)
        found.sort(key=lambda one: (one.word.rank, one.word.name))
        names = [one.word.name for one in found]
        assert len(names) == len(set(names)), "a choice is offered twice"
        return {one.word.name: one for one in found}

    def typed(self, text: str, choice: str, name: str = "main.yaml") -> str:
        """The text after a choice has been taken at the mark."""
        source, _ = split(text)
        taken = self.choices(text, name)[choice]
        return source[: taken.start] + taken.insert + source[taken.end :]


def document(text: str) -> Document:
    """A document that is nowhere."""
    return Document(Text(text), Path("/nowhere/main.yaml"))
