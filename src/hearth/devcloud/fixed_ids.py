"""Ids of the initial objects: the same in every new cloud."""

from __future__ import annotations

import uuid

_SPACE = uuid.UUID("6b1d4ac0-4f0e-5d5c-9a57-0c3f2f7f3f10")


def fixed(*words: str) -> str:
    """Return the id of the initial object with this kind and name."""
    return str(uuid.uuid5(_SPACE, "/".join(words)))


def fixed_hex(*words: str) -> str:
    """Return the id of an initial object without dashes, as Keystone shows ids."""
    return uuid.uuid5(_SPACE, "/".join(words)).hex
