"""Ids of the cloud's initial objects, which are the same in every embedded cloud."""

from __future__ import annotations

import uuid

_SPACE = uuid.UUID("6b1d4ac0-4f0e-5d5c-9a57-0c3f2f7f3f10")


def fixed(*parts: str) -> str:
    """Return the UUID of an initial object; `parts` are its type and name."""
    return str(uuid.uuid5(_SPACE, "/".join(parts)))


def fixed_hex(*parts: str) -> str:
    """Return the UUID of an initial object without dashes, which is Keystone's format of ids."""
    return uuid.uuid5(_SPACE, "/".join(parts)).hex
