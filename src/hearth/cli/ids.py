"""Random UUIDs. For speed, random bytes for 256 ids are read at a time."""

import os

IDS_AT_ONCE = 256
UUID_BYTES = 16

_drawn: list[str] = []


def new_id() -> str:
    """Return a random UUID (version 4)."""
    if not _drawn:
        _draw()
    try:
        return _drawn.pop()
    except IndexError:  # another thread was faster
        return new_id()


def _draw() -> None:
    digits = os.urandom(UUID_BYTES * IDS_AT_ONCE).hex()
    for start in range(0, len(digits), 2 * UUID_BYTES):
        d = digits[start : start + 2 * UUID_BYTES]
        variant = "89ab"[int(d[16], 16) & 3]
        _drawn.append(f"{d[:8]}-{d[8:12]}-4{d[13:16]}-{variant}{d[17:20]}-{d[20:]}")
