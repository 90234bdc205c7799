"""Convert YAML or JSON text to nodes with positions.

The events come from libyaml's parser. Building light nodes from them costs a third of PyYAML's
nodes, allows limits while a document is read, and never recurses. Scalars follow YAML 1.1, except
that dates stay text. Keys of maps become text. Source: docs/spec/hot.md, section 1.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import astuple
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from hearth.model.collector import collector_paused
from hearth.model.json_text import decode_json
from hearth.model.problem import HTTPBadRequest, Problem, Rejected, RequestLimitExceeded
from hearth.model.span import Span, Step
from hearth.model.unknown import Unknown
from hearth.schema.patterns import Overrun, inline
from hearth.template.limits import Limits

INLINE_NODES = 10_000
"""The maximum number of values in a text that is read on the event loop; aliases count with their
content.
"""

Plain = Any
"""A JSON value: None, bool, int, float, str, list or dict."""


class Node(Struct, eq=False):
    """A value in a document, and its position: line and column, counted from 1 (0: not from a
    text).

    `value` is a scalar, a list of nodes, or a dict of nodes by text key. `key_line` and
    `key_column` are the position of the key of this node, or that of the node itself if it has no
    key. `odd_key` is true if the key was not text in the source. `odd` is true if YAML 1.1
    surprisingly reads the value as a number or a boolean, as in `yes`, `010` and `10:20`.
    """

    value: Any
    line: int = 0
    column: int = 0
    key_line: int = 0
    key_column: int = 0
    odd_key: bool = False
    odd: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _node, astuple(self)

    def plain(self) -> Plain:
        """Return the value without positions."""
        value = self.value
        if isinstance(value, dict):
            return {key: node.plain() for key, node in value.items()}
        if isinstance(value, list):
            return [node.plain() for node in value]
        return value

    def span(self, file: str, path: str = "") -> Span:
        """Return the position of this node as a Span."""
        return Span(file, self.line, self.column, path)

    def key_span(self, file: str, path: str = "") -> Span:
        """Return the position of the key of this node as a Span."""
        return Span(file, self.key_line, self.key_column, path)

    def child(self, *names: str) -> Node | None:
        """Return the node at a path of map keys, or None."""
        node: Node | None = self
        for name in names:
            value = node.value if node is not None else None
            node = value.get(name) if isinstance(value, dict) else None
        return node

    def nearest_to(self, steps: list[Step]) -> Node:
        """Follow the steps from this node, and return the last node that exists on the way."""
        node = self
        for step in steps:
            value = node.value
            if not isinstance(value, dict | list):
                break
            try:
                node = value[step]  # type: ignore[index]
            except (TypeError, KeyError, IndexError):
                break
        return node


def _node(*fields: Any) -> Node:
    """Create a node when a pickled node is loaded.

    This is a Python function and not done by pickle's C code, so that other threads can run in
    between.
    """
    return Node(*fields)


class Repeated(Struct, frozen=True):
    """A key that occurs twice in a map. The later entry is used."""

    key: str
    line: int
    column: int
    first_line: int


TEXT_COUNTS = 32
"""The number of characters of a text that count as one more value, because aliases can repeat
texts, too.
"""

ENDS_OF_YAML_ONLY = ("\x85", "\u2028", "\u2029")

WRITTEN_LINE_MAX = 200
"""The maximum length of a line in JSON that a person has probably written."""


def load(
    source: str | Mapping[str, Any],
    file: str = "template",
    limits: Limits | None = None,
    repeated: list[Repeated] | None = None,
) -> Node:
    """Parse a document and return its root node. Raises Rejected.

    Duplicate keys are appended to `repeated`. A map, and JSON text that a program wrote, is
    converted to nodes without positions, and its duplicate keys are not found.
    """
    limits = limits or Limits()
    if not isinstance(source, str):
        return from_plain(source, file, limits)
    if len(source) > limits.max_template_size:
        message = f"{len(source)} characters are more than the {limits.max_template_size} allowed"
        raise Rejected([RequestLimitExceeded(Span(file), message)])
    plain = _as_json(source)
    is_json = plain is not None
    if is_json and (_is_dumped(source, plain) or any(end in source for end in ENDS_OF_YAML_ONLY)):
        # a program wrote it, from a file with other lines; a place in it is of no use.
        # YAML reads line ends in texts differently than JSON.
        return from_plain(plain, file, limits)
    with collector_paused():
        try:
            return _Composer(source, file, limits, is_json, repeated).compose()
        except yaml.YAMLError as error:
            if is_json:
                return from_plain(plain, file, limits)
            raise Rejected([_syntax_problem(error, source, file)]) from None
        except UnicodeError:
            message = "the text contains invalid characters"
            raise Rejected([HTTPBadRequest(Span(file), message)]) from None


def from_plain(value: Any, file: str = "template", limits: Limits | None = None) -> Node:
    """Convert a parsed value to nodes without positions; an Unknown in it is kept.

    Raises Rejected if the value has too many parts or is nested too deep.
    """
    limits = limits or Limits()
    remaining = nodes_max = min(limits.nodes_max, INLINE_NODES) if inline() else limits.nodes_max

    def build(plain: Any, depth: int) -> Node:
        nonlocal remaining
        remaining -= 1
        if remaining < 0 and nodes_max < limits.nodes_max:
            raise Overrun
        if depth > limits.nesting_max or remaining < 0:
            raise Rejected([_limit_problem(Span(file), limits, remaining < 0)])
        if isinstance(plain, Mapping):
            entries: dict[str, Node] = {}
            for key, inner in plain.items():
                node = build(inner, depth + 1)
                node.odd_key = not isinstance(key, str)
                entries[key_text(key)] = node
            return Node(entries)
        if isinstance(plain, list | tuple):
            return Node([build(inner, depth + 1) for inner in plain])
        is_scalar = isinstance(plain, None | bool | int | float | str | Unknown)
        return Node(plain if is_scalar else str(plain))

    return build(value, 0)


def key_text(key: Any) -> str:
    """Return the key of a map in the form that JSON requires."""
    match key:
        case str():
            return key
        case None:
            return "null"
        case bool():
            return "true" if key else "false"
        case float() if not math.isfinite(key):
            return json.dumps(key)
        case _:
            return str(key)


def _is_dumped(source: str, plain: Any) -> bool:
    """Return whether a program wrote the JSON text, as clients do that send a parsed template."""
    if "\n" in source.strip():
        return False
    return len(source) > WRITTEN_LINE_MAX or json.dumps(plain) == source


def _as_json(source: str) -> Any:
    """Return the map or list that a JSON text contains; None for any other text. Half a surrogate
    pair is left to the YAML parser, which refuses it.
    """
    if source.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return decode_json(source)
    except (ValueError, RecursionError):
        return None


def _syntax_problem(error: yaml.YAMLError, source: str, file: str) -> Problem:
    line = column = 0
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        if mark is not None:
            line, column = mark.line + 1, mark.column + 1
        message = " ".join(part for part in (error.context, error.problem) if part)
        source_lines = source.split("\n")[line - 1 : line] if line else []
        if source_lines and source_lines[0][column - 1 : column] == "\t":
            message = "a tab cannot indent; use spaces"
    else:
        message = str(error).splitlines()[0] if str(error) else "unreadable"
    return HTTPBadRequest(
        Span(file, line, column), f"not well-formed YAML: {message}", code="syntax"
    )


def _limit_problem(at: Span, limits: Limits, by_count: bool) -> Problem:
    message = (
        f"the document has more than {limits.nodes_max} values after expansion of its aliases"
        if by_count
        else f"lists and maps are nested more than {limits.nesting_max} deep"
    )
    return RequestLimitExceeded(at, message)


class _Open:
    """A list or a map whose content has not been read completely."""

    __slots__ = ("anchor", "count", "is_map", "key", "merges", "node", "value")

    def __init__(self, node: Node, anchor: str | None, count: int, is_map: bool) -> None:
        self.node = node
        self.value = node.value
        self.anchor = anchor
        self.count = count
        self.is_map = is_map
        self.key: Node | None = None  # of a map: the key whose value comes next
        self.merges: list[Node] = []


class _Composer:
    """Builds the tree of nodes for a text, which must contain a single document."""

    def __init__(
        self,
        source: str,
        file: str,
        limits: Limits,
        is_json: bool,
        repeated: list[Repeated] | None,
    ) -> None:
        self.parser = CParser(source)
        self.file = file
        self.limits = limits
        self.repeated = repeated
        self.scalars: dict[str, Any] = {}
        self.odd: set[str] = set()
        self.convert = json_scalar if is_json else yaml_scalar
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.open: list[_Open] = []
        self.top: _Open | None = None  # the last one of them
        self.count = 0
        self.root: Node | None = None

    def compose(self) -> Node:
        event: Any
        get_event: Callable[[], Any] = self.parser.get_event
        scalars, odd = self.scalars, self.odd
        count_max = min(self.limits.nodes_max, INLINE_NODES) if inline() else self.limits.nodes_max
        while (event := get_event()) is not None:
            kind = type(event)
            if kind is ScalarEvent:
                text = event.value
                count = 1 + len(text) // TEXT_COUNTS
                self.count += count
                mark = event.start_mark
                line, column = mark.line + 1, mark.column + 1
                plain = event.implicit[0] and event.tag is None
                value = scalars[text] if plain and text in scalars else self.scalar(event)
                node = Node(value, line, column, line, column)
                if odd and text in odd and event.implicit[0]:
                    node.odd = True
                if event.anchor is not None:
                    self.anchors[event.anchor] = (node, count)
                self.add(node)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self.start(event, kind is MappingStartEvent)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                self.end()
            elif kind is AliasEvent:
                self.alias(event)
            if self.count > count_max:
                if self.count <= self.limits.nodes_max:
                    raise Overrun
                raise Rejected([_limit_problem(self.at(event), self.limits, by_count=True)])
        if self.root is None:
            return Node(None)
        return self.root

    def at(self, event: Any) -> Span:
        mark = event.start_mark
        return Span(self.file, mark.line + 1, mark.column + 1)

    def refuse(self, event: Any, message: str) -> Rejected:
        return Rejected([HTTPBadRequest(self.at(event), message)])

    def refused(self, node: Node, message: str) -> Rejected:
        return Rejected([HTTPBadRequest(node.span(self.file), message)])

    def start(self, event: Any, is_map: bool) -> None:
        self.count += 1
        tag = event.tag
        if tag is not None and tag not in (MAP_TAGS if is_map else LIST_TAGS):
            raise self.refuse(event, f"the tag {tag} is not allowed")
        if len(self.open) >= self.limits.nesting_max:
            raise Rejected([_limit_problem(self.at(event), self.limits, by_count=False)])
        if self.top is not None and self.top.is_map and self.top.key is None:
            raise self.refuse(event, "a list or map cannot be a key")
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        node = Node({} if is_map else [], line, column, line, column)
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, -1)
        self.top = _Open(node, event.anchor, self.count, is_map)
        self.open.append(self.top)

    def end(self) -> None:
        done = self.open.pop()
        self.top = self.open[-1] if self.open else None
        if done.merges:
            merged: dict[str, Node] = {}
            for source in done.merges:
                merged.update(source.value)
            merged.update(done.value)
            done.node.value = merged
            self.count += len(merged)
        if done.anchor is not None:
            self.anchors[done.anchor] = (done.node, self.count - done.count + 1)
        self.add(done.node)

    def alias(self, event: Any) -> None:
        node, count = self.anchors.get(event.anchor, (None, 0))
        if node is None:
            raise self.refuse(event, f"there is no anchor {event.anchor}")
        if count < 0:
            raise self.refuse(event, f"the anchor {event.anchor} contains itself")
        self.count += count
        self.add(Node(node.value, node.line, node.column, node.line, node.column))

    def add(self, node: Node) -> None:
        """Add a complete node to the list or map being read, as a key, a value or an item.

        Outside of lists and maps, the node is the root.
        """
        top = self.top
        if top is not None and top.is_map and top.key is None:
            if isinstance(node.value, list | dict):
                raise self.refused(node, "a list or map cannot be a key")
            top.key = node
            return
        if node.value is MERGE:
            node.value = MERGE.text
        if top is None:
            if self.root is not None:
                raise self.refused(node, "there is more than one document")
            self.root = node
            return
        value, key = top.value, top.key
        if key is None:
            value.append(node)
        else:
            top.key = None
            name = key.value
            if name is MERGE:
                self.merge(top, node, key)
                return
            node.key_line = key.line
            node.key_column = key.column
            if not isinstance(name, str):
                name = key_text(name)
                node.odd_key = True
            if self.repeated is not None and name in value:
                self.repeated.append(Repeated(name, key.line, key.column, value[name].key_line))
            value[name] = node

    def merge(self, top: _Open, node: Node, key: Node) -> None:
        """Record the maps of a merge key.

        Maps recorded later take precedence, so the first map of a list is recorded last. If there
        are several merge keys, the last one takes precedence.
        """
        sources = node.value if isinstance(node.value, list) else [node]
        for source in reversed(sources):
            if not isinstance(source.value, dict):
                raise self.refused(key, "the value of a merge key must be a map or a list of maps")
            top.merges.append(source)

    def scalar(self, event: Any) -> Any:
        tag = event.tag
        text: str = event.value
        if event.implicit[0] and (tag is None or tag == "!"):
            if tag == "!":
                return text
            try:
                value = self.convert(text)
            except (ValueError, OverflowError):
                raise self.refuse(event, f'"{text[:80]}" is not a valid number') from None
            self.scalars[text] = value
            if isinstance(value, bool | int | float) and not ORDINARY.match(text):
                self.odd.add(text)
            return value
        if tag is None or tag == "!":
            return text
        convert = SCALAR_TAGS.get(tag)
        if convert is None:
            raise self.refuse(event, f"the tag {tag} is not allowed")
        try:
            return convert(text)
        except (ValueError, KeyError):
            raise self.refuse(event, f'"{text[:80]}" does not match its tag {tag}') from None


class _Merge:
    """The merge key `<<`, if it is not quoted."""

    text = "<<"  # its value in any other place


MERGE = _Merge()
YAML = "tag:yaml.org,2002:"
MAP_TAGS = frozenset({"!", YAML + "map", YAML + "set"})
LIST_TAGS = frozenset({"!", YAML + "seq", YAML + "omap", YAML + "pairs"})

WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
for _yes, _no in (("yes", "no"), ("true", "false"), ("on", "off")):
    for _form in (str.lower, str.capitalize, str.upper):
        WORDS[_form(_yes)] = True
        WORDS[_form(_no)] = False

INT = re.compile(
    r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)\Z"
)
FLOAT = re.compile(
    r"(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
ORDINARY = re.compile(r"(?:[tT]rue|[fF]alse|[-+]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?)\Z")
DIGITS_MAX = 1000  # of one number; Python refuses to write much longer ones
NUMBER_START = frozenset("+-.0123456789")


def yaml_scalar(text: str) -> Any:
    """Return the value of an unquoted scalar in YAML 1.1, except that dates stay text."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in NUMBER_START:
        if INT.match(text):
            return _integer(text)
        if FLOAT.match(text):
            return _float(text)
    elif text == MERGE.text:
        return MERGE
    return text


def json_scalar(text: str) -> Any:
    """Return the value of a literal or a number in JSON."""
    return json.loads(text)


def _integer(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise ValueError(text)
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if not digits:
        raise ValueError(text)
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if digits[0] == "0" and len(digits) > 1:
        return sign * int(digits, 8)
    if ":" in digits:
        return sign * int(_sexagesimal(digits))
    return sign * int(digits)


def _float(text: str) -> float:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits[0] == "-" else 1.0
    digits = digits.lstrip("+-")
    if digits == ".inf":
        return sign * float("inf")
    if digits == ".nan":
        return float("nan")
    if ":" in digits:
        return sign * _sexagesimal(digits)
    return sign * float(digits)


def _sexagesimal(digits: str) -> float:
    total: float = 0
    for part in digits.split(":"):
        total = total * 60 + (float(part) if "." in part else int(part))
    return total


def _tagged_number(text: str) -> Any:
    value = yaml_scalar(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float(text)
    return value


SCALAR_TAGS: dict[str, Any] = {
    YAML + "str": str,
    YAML + "null": lambda text: None,
    YAML + "bool": lambda text: WORDS[text],
    YAML + "int": lambda text: _integer(text),
    YAML + "float": _tagged_number,
    YAML + "timestamp": str,
    YAML + "binary": lambda text: base64.b64decode(text, validate=False).decode(),
}
