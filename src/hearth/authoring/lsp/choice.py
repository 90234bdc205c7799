"""The choices that a completion offers, and the edits that insert them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto

from msgspec import Struct

from hearth.authoring.lsp.cursor import CURSOR, CursorContext
from hearth.template.load import yaml_scalar


class Sort(Enum):
    """The type of a completion, which determines its icon in the editor."""

    TYPE = auto()
    PROPERTY = auto()
    ATTRIBUTE = auto()
    PARAMETER = auto()
    RESOURCE = auto()
    CONDITION = auto()
    FUNCTION = auto()
    KEYWORD = auto()
    VALUE = auto()
    FILE = auto()
    FOLDER = auto()


class Word(Struct, frozen=True):
    """A name that a completion offers. Names with a lower `rank` are listed first.

    The editor shows `detail` beside the name, and `text` as its description.
    """

    name: str
    sort: Sort
    detail: str = ""
    text: str = ""
    rank: int = 5
    deprecated: bool = False


class Choice(Struct, frozen=True):
    """A word that a completion offers, and its edit: `insert` replaces the text from `start` to
    `end`.

    If `snippet` is true, `$1` in `insert` is the position of the cursor afterwards.
    """

    word: Word
    insert: str
    start: int
    end: int
    snippet: bool = False


class Hand:
    """Creates the edits that insert words at the cursor in the style of the surrounding text."""

    def __init__(self, context: CursorContext, cursor: int, *, snippets: bool) -> None:
        """Prepare edits at `cursor`, an offset in the text.

        `snippets` is true if the editor supports snippets.
        """
        self.context = context
        self.snippets = snippets
        source = context.document.text.source
        self.json = context.document.layout.braces
        self.style = context.scalar.style
        self.typed = source[context.start : cursor]
        following = source[cursor + len(CURSOR) : context.end].splitlines()
        self.start = context.start if self.typed else cursor
        self.end = cursor + len(following[0]) if self.typed and following else cursor
        closing = source[context.end : context.end + 1] == self.style
        self.closed = bool(self.style) and closing and self.end == context.end - len(CURSOR)

    def key(self, word: Word) -> Choice:
        """Return the choice that inserts a word as a key, with a colon if none follows yet."""
        colon = "" if self.context.colon else ": "
        if self.style and colon:
            end = self.end + (1 if self.closed else 0)
            return Choice(word, word.name + self.style + colon, self.start, end)
        name = f'"{word.name}"' if self.json and not self.style else word.name
        return Choice(word, name + colon, self.start, self.end)

    def scalar(self, word: Word) -> Choice:
        """Return the choice that inserts a word as a text, with quotes if YAML requires them."""
        open_still = self.style and not self.closed and self.end == self.context.end - len(CURSOR)
        tail = self.style if open_still else ""
        return Choice(word, self._quoted(word.name) + tail, self.start, self.end)

    def literal(self, word: Word) -> Choice:
        """Return the choice that inserts a value such as true or 5, without quotes."""
        return Choice(word, word.name, self.start, self.end)

    def call(self, word: Word, argument: str) -> Choice:
        """Return the choice that inserts a function call in braces.

        In `argument`, `$1` is the position of the cursor afterwards.
        """
        name = f'"{word.name}"' if self.json else word.name
        quoted = argument.replace("$1", '"$1"') if self.json else argument
        insert = f"{{{name}: {quoted}}}"
        if self.snippets:
            return Choice(word, insert[:-1] + "\\}", self.start, self.end, snippet=True)
        return Choice(word, insert.replace("$1", ""), self.start, self.end)

    def _quoted(self, name: str) -> str:
        if self.style:
            return name
        if self.json:
            return f'"{name}"'
        return name if plain_safe(name) else f'"{name}"'


def plain_safe(name: str) -> bool:
    """Return whether YAML reads the name as text without quotes, even inside brackets."""
    if not name or name[0] in "-?:,[]{}#&*!|>'\"%@` " or name[-1] in ": ":
        return False
    if any(sign in name for sign in (": ", " #", "\n", ",", "[", "]", "{", "}", "\\", '"')):
        return False
    try:
        return bool(yaml_scalar(name) == name)
    except (ValueError, OverflowError):
        return False


def words(names: Iterable[str], sort: Sort, *, rank: int = 5) -> list[Word]:
    """Return a Word of the given sort and rank for each name."""
    return [Word(name, sort, rank=rank) for name in names]


def described(texts: Mapping[str, str]) -> list[Word]:
    """Return a Word for each entry of the map {word: description}."""
    return [Word(name, Sort.KEYWORD, text=text) for name, text in texts.items()]
