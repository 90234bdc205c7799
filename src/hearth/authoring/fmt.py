"""The formatter: gives templates and environments one style without changing their meaning.

Source: docs/fmt.md.
"""

from __future__ import annotations

import json
from typing import Any

from yaml import YAMLError

from hearth.authoring.layout import laid_out, signature
from hearth.authoring.layout_json import laid_out_json
from hearth.model.problem import HTTPBadRequest, Rejected
from hearth.model.span import Span
from hearth.template import Limits, Node, load

LIMITS = Limits()
BYTE_ORDER_MARK = "\ufeff"


def formatted(text: str, file: str = "template") -> str:
    """Return the text in Hearth's style. Formatting is idempotent.

    `file` is the name of the text in messages. Raises Rejected if the text cannot be loaded, or if
    formatting would change its meaning, its comments or its quotes, or make it too long.
    """
    before = load(text, file)
    plain = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    if is_json(plain):
        after = laid_out_json(plain)
    else:
        after = laid_out(plain)
        if is_json(after):  # except for an unusual line break it was formatted already
            after = laid_out_json(after)
    if len(after) > LIMITS.max_template_size >= len(text):
        limit = LIMITS.max_template_size
        raise _unchanged(
            file, f"make the file {len(after)} characters long, more than the limit of {limit}"
        )
    if not (_keeps_tokens(plain, after) and same(before, load(after, file))):
        raise _unchanged(file, "change the meaning of the text")
    return after


def _keeps_tokens(before: str, after: str) -> bool:
    """Return whether formatting kept the parts of the text that the loader ignores.

    These are comments, the styles of scalars, and duplicate keys.
    """
    if is_json(before):
        return bool(json_words(before) == json_words(after))
    try:
        return signature(before) == signature(after)
    except YAMLError:
        return False


def _unchanged(file: str, would: str) -> Rejected:
    message = f"left unchanged: formatting would {would}"
    return Rejected([HTTPBadRequest(Span(file, 1, 1), message)])


def is_json(text: str) -> bool:
    """Return whether the loader reads a text as JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_words(text: str) -> Any:
    """Parse a JSON text, keeping duplicate keys and the written form of numbers.

    A map becomes the pair ("map", list of its entries).
    """
    return json.loads(
        text, object_pairs_hook=lambda pairs: ("map", pairs), parse_float=str, parse_int=str
    )


def same(first: Node, second: Node) -> bool:
    """Return whether two trees have equal values of equal types, with keys in the same order."""
    compared: set[tuple[int, int]] = set()
    pairs = [(first.value, second.value)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is not type(b):
            return False
        if not isinstance(a, dict | list):
            if a != b and a == a:  # NaN is not equal to itself
                return False
            continue
        if (id(a), id(b)) in compared:
            continue
        compared.add((id(a), id(b)))
        if len(a) != len(b):
            return False
        if isinstance(a, dict):
            if list(a) != list(b):
                return False
            a, b = list(a.values()), list(b.values())
        pairs += [(x.value, y.value) for x, y in zip(a, b, strict=True)]
    return True
