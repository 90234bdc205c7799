"""Masking of hidden parameters in messages, reasons and documents."""

from collections.abc import Iterable, Mapping
from typing import Any

from hearth.model.unknown import Unknown
from hearth.template.parameters import MASK

CHARACTERS_MIN = 4
"""Hidden values with fewer characters than this are masked only where they are whole words.

Masked inside a longer word, a short value would hide unrelated characters, and the rest of the word
would show what the value is.
"""


def texts_in(values: Iterable[Any], characters_min: int = CHARACTERS_MIN) -> tuple[str, ...]:
    """Return all texts and numbers in the values, also inside maps and lists, the longest first.

    Those with fewer than `characters_min` characters are left out. Keys of maps are not searched.
    """
    texts: set[str] = set()
    waiting = list(values)
    for value in waiting:
        match value:
            case Mapping():
                waiting.extend(value.values())
            case list():
                waiting.extend(value)
            case None | bool() | Unknown():
                pass
            case _:
                texts.add(str(value))
    return longest_first(text for text in texts if len(text) >= characters_min)


def longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts in the order in which they must be masked: one may be a part of another."""
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def masked(text: str, hidden: Iterable[str]) -> str:
    """Return the text with every hidden text in it masked; give the longest hidden text first.

    A hidden text with fewer than CHARACTERS_MIN characters is masked only where it is a whole word.
    """
    for secret in hidden:
        if len(secret) >= CHARACTERS_MIN:
            text = text.replace(secret, MASK)
            continue
        start = text.find(secret)
        while start >= 0:
            end = start + len(secret)
            if _whole(text, start, end):
                text = f"{text[:start]}{MASK}{text[end:]}"
                end = start + len(MASK)
            start = text.find(secret, end)
    return text


def masked_in(value: Any, hidden: tuple[str, ...]) -> Any:
    """Return a JSON value with every hidden text in it masked, in values and in keys."""
    match value:
        case str():
            return masked(value, hidden)
        case Mapping():
            return {
                masked_in(key, hidden): masked_in(inner, hidden) for key, inner in value.items()
            }
        case list() | tuple():
            return [masked_in(inner, hidden) for inner in value]
    return value


def _whole(text: str, start: int, end: int) -> bool:
    """Return whether the text between these positions is a whole word."""
    before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    behind = end < len(text) and text[end - 1].isalnum() and text[end].isalnum()
    return not before and not behind
