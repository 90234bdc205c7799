"""Conversion of a tree of maps, lists and values to XML.

The XML has no namespace and no declaration, as agents expect. Source: docs/spec/cfn-api.md, section
1.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

JSON_TAGS = frozenset({"Metadata", "TemplateBody"})
"""Elements whose value is always JSON text."""
DEPTH_MAX = 50
"""The maximum depth of elements. Values nested more deeply become JSON text."""
PIECE = 64 * 1024  # characters of a value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
_NOT_XML = re.compile(
    "[^\\t\\n\\r\\u0020-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
)  # characters that XML 1.0 cannot contain
_SIGNS = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\r", "&#13;"))


def document(root: str, tree: Any) -> bytes:
    """Return an XML document, in UTF-8, with the tree in an element named `root`."""
    return b"".join(pieces(root, tree))


def pieces(root: str, tree: Any) -> Iterator[bytes]:
    """Yield the same in pieces."""
    return (piece.encode() for piece in _element(root, tree, 0))


def json_text(value: Any) -> str:
    """Return a value as JSON text; an empty value becomes an empty text."""
    return json.dumps(value, default=str) if value not in (None, {}, [], "") else ""


def text(value: Any) -> str:
    """Return a value as the escaped text of an element; characters not allowed in XML are
    replaced.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    escaped = str(value)
    # the check is much faster than the substitution
    if not (escaped.isascii() and escaped.isprintable()):
        escaped = _NOT_XML.sub("\ufffd", escaped)
    for sign, written in _SIGNS:
        escaped = escaped.replace(sign, written)
    return escaped


def _element(name: str, value: Any, depth: int) -> Iterator[str]:
    """Yield the pieces of the element for a value."""
    yield f"<{name}>"
    if isinstance(value, str) and name not in JSON_TAGS:
        yield from _long(value)
    elif name in JSON_TAGS or not _fits(value, depth):
        yield from _long(json_text(value))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if inner is not None:  # AWS leaves out missing values
                yield from _element(str(key), inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _element("member", inner, depth + 1)
    elif value is not None:
        yield text(value)
    yield f"</{name}>"


def _long(value: str) -> Iterator[str]:
    for begin in range(0, len(value), PIECE):
        yield text(value[begin : begin + PIECE])


def _fits(value: Any, depth: int) -> bool:
    """Return whether a value at this depth can be represented by XML elements.

    It cannot if it is nested too deeply or has keys that are invalid names; users may choose keys.
    """
    if not isinstance(value, Mapping | list | tuple):
        return True
    if depth >= DEPTH_MAX:
        return False
    return not isinstance(value, Mapping) or all(_NAME.fullmatch(str(key)) for key in value)
