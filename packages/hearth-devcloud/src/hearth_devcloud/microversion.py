"""Microversions in headers."""

from __future__ import annotations

import re

_VERSION = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")


def version_in(text: str) -> tuple[int, int] | None:
    """Return the microversion that a text like "2.50" names; None if it is none."""
    if _VERSION.fullmatch(text) is None:
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)
