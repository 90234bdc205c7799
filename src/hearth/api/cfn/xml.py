"""A tree of maps, lists and values as XML: no namespace, no declaration, as guests look it up.

Source: spec/cfn-api.md, section 1.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

JSON_TAGS = frozenset({"Metadata", "TemplateBody"})
"""Elements whose value is JSON text, however it is built."""
DEPTH_MAX = 50
"""Elements inside each other; what lies deeper is JSON text."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
_NOT_XML = re.compile(
    "[^\\t\\n\\r\\u0020-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
)  # what XML 1.0 has no way to say
_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
_SIGN = re.compile('[&<>"\r]')


def document(root: str, tree: Any) -> bytes:
    """The document with one element `root`, in UTF-8."""
    return "".join(_element(root, tree, 0)).encode()


def json_text(value: Any) -> str:
    """A value as JSON; nothing at all for an empty one."""
    return json.dumps(value, default=str) if value not in (None, {}, [], "") else ""


def text(value: Any) -> str:
    """A value as the text of an element: what XML cannot carry is replaced, the rest escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    said = _NOT_XML.sub("\ufffd", str(value))
    return _SIGN.sub(lambda sign: _SIGNS[sign[0]], said)


def _element(name: str, value: Any, depth: int) -> Iterator[str]:
    yield f"<{name}>"
    if name in JSON_TAGS or not _fits(value, depth):
        yield text(json_text(value))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if inner is not None:  # as AWS leaves out what there is not
                yield from _element(str(key), inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _element("member", inner, depth + 1)
    elif value is not None:
        yield text(value)
    yield f"</{name}>"


def _fits(value: Any, depth: int) -> bool:
    """Whether elements can say it: a map of a user's may have keys that are no names."""
    if not isinstance(value, Mapping | list | tuple):
        return True
    if depth >= DEPTH_MAX:
        return False
    return not isinstance(value, Mapping) or all(_NAME.fullmatch(str(key)) for key in value)
