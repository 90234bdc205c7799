"""A clock of a process that can be set while it runs, for `tests.forked`."""

import mmap
import struct
import time
from pathlib import Path
from unittest import mock

FORM = struct.Struct("d")


class Clock:
    """How far the clock of a process is ahead of the real one, in seconds, in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_bytes(FORM.pack(0.0))

    def set(self, ahead_s: float) -> None:
        """Let the clock jump."""
        with self.file.open("r+b") as opened:
            opened.write(FORM.pack(ahead_s))


def follow(file: str) -> None:
    """Let the clock of this process be ahead as its file says, from now on."""
    with open(file, "rb") as opened:
        held = mmap.mmap(opened.fileno(), FORM.size, access=mmap.ACCESS_READ)
    real = time.time

    def now() -> float:
        (ahead_s,) = FORM.unpack(held)
        return real() + float(ahead_s)

    mock.patch.object(time, "time", now).start()
