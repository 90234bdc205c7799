"""A text in the editor or on the disk: a template, an environment, or neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from functools import cached_property
from pathlib import Path
from typing import Any

from hearth.authoring.lsp.layout import Item, Layout, Section
from hearth.authoring.lsp.locations import ENVIRONMENT, ROOT, Location
from hearth.authoring.lsp.syntax_tree import Map, Node, plain, scalar_text
from hearth.authoring.lsp.text import Text
from hearth.template.declare import Declarations
from hearth.template.load import from_plain
from hearth.template.parameters import ParameterSchema
from hearth.template.versions import BY_VERSION, GRAMMARS, VERSION_KEYS, Grammar

ENVIRONMENT_KEYS = ("resource_registry", "parameter_defaults")
NEWEST: Mapping[str, Grammar] = {grammar.key: grammar for grammar in GRAMMARS}


class Genre(Enum):
    """The type of a text: a template, an environment, or neither."""

    TEMPLATE = auto()
    ENVIRONMENT = auto()
    NOTHING = auto()


class Document:
    """A text, with its sections and the names that they define.

    `before` is the same document before an edit, from which unchanged blocks are reused.
    """

    def __init__(self, text: Text, path: Path, before: Document | None = None) -> None:
        self.text = text
        self.path = path
        self.layout: Layout = Layout(text.source, before.layout if before else None)

    @cached_property
    def genre(self) -> Genre:
        """The type of the text: a template has a version key; an environment has the section
        `resource_registry` or `parameter_defaults`.
        """
        keys = {section.key.text for section in self.layout.sections if section.colon}
        if keys.intersection(VERSION_KEYS):
            return Genre.TEMPLATE
        return Genre.ENVIRONMENT if keys.intersection(ENVIRONMENT_KEYS) else Genre.NOTHING

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the template's version; if that is unknown, the newest grammar of the
        format. Without a version key, it is the newest grammar of HOT.
        """
        for section in self.layout.sections:
            name = section.key.text
            if name in VERSION_KEYS and section.colon:
                value = scalar_text(section.value) or ""
                return BY_VERSION.get((name, value)) or NEWEST[name]
        return GRAMMARS[-1]

    @property
    def root_location(self) -> Location:
        return ENVIRONMENT if self.genre is Genre.ENVIRONMENT else ROOT

    @cached_property
    def sections(self) -> Mapping[str, Section]:
        """The sections of the text, by Hearth's names for them."""
        if self.genre is Genre.ENVIRONMENT:
            return {section.key.text: section for section in self.layout.sections if section.colon}
        ours = self.grammar.sections
        return {
            ours[section.key.text]: section
            for section in self.layout.sections
            if section.colon and section.key.text in ours
        }

    def items(self, section: str) -> Mapping[str, Item]:
        """Return the entries of a section by name. If names are duplicate, the last entry is
        used.
        """
        if section not in self._items:
            of_name = self.sections.get(section)
            self._items[section] = {item.name: item for item in of_name.items()} if of_name else {}
        return self._items[section]

    @cached_property
    def _items(self) -> dict[str, Mapping[str, Item]]:
        return {}

    def all_items(self, section: str) -> Iterator[Item]:
        """Yield the entries of a section in order, including those with duplicate names."""
        of_name = self.sections.get(section)
        return of_name.items() if of_name else iter(())

    def parameter(self, name: str) -> ParameterSchema | None:
        """Return the declaration of a parameter; None if it is missing or invalid."""
        item = self.items("parameters").get(name)
        if item is None:
            return None
        declared: dict[str, ParameterSchema] = item.note(
            ("schema", self.grammar.key, self.grammar.value, name),
            lambda: Declarations(self.grammar, "", []).read(from_plain({name: plain(item.value)})),
        )
        return declared.get(name)

    @cached_property
    def registry(self) -> Mapping[str, Any]:
        """The resource registry in an environment."""
        section = self.sections.get("resource_registry")
        if section is None:
            return {}
        return {item.name: plain(item.value) for item in section.items()}

    def field(self, section: str, name: str, key: str) -> Node | None:
        """Return the value of a key in an entry of a section; None if it is missing.

        `key` is Hearth's name for the key.
        """
        item = self.items(section).get(name)
        if item is None or not isinstance(item.value, Map):
            return None
        return item.value.get(self.grammar.word(key))

    def type_of(self, resource: str) -> str | None:
        """Return the type of a resource, as written in the template; None if it is missing."""
        return scalar_text(self.field("resources", resource, "type"))
