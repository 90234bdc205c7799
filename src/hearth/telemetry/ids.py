"""Random ids. For speed, random bytes for 256 ids are read at a time."""

import os

IDS_AT_ONCE = 256
DIGITS = 32  # of a UUID

_drawn: list[str] = []
os.register_at_fork(after_in_child=_drawn.clear)  # no two processes may use the same digits


def random_digits() -> str:
    """Return 32 random hexadecimal digits. Any thread may call this."""
    while True:
        try:
            return _drawn.pop()
        except IndexError:  # none is left, or another thread was faster
            digits = os.urandom(DIGITS // 2 * IDS_AT_ONCE).hex()
            _drawn.extend(digits[at : at + DIGITS] for at in range(0, len(digits), DIGITS))


def new_id() -> str:
    """Return a random UUID (version 4). Any thread may call this."""
    d = random_digits()
    variant = "89ab"[int(d[16], 16) & 3]
    return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-{variant}{d[17:20]}-{d[20:]}"
