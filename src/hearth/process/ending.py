"""The end of a process that has closed everything it opened."""

import os
import sys
from typing import NoReturn


class Finished(SystemExit):
    """A command has ended, and has nothing left to clean up."""


def end_at_once(end: Finished) -> NoReturn:
    """End the process with the status of its command.

    Python would delete all objects one by one, which takes a tenth of the time of a short command.
    """
    status = end.code if isinstance(end.code, int) else 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads the output any more, or the disk is full
        status = status or 1
    os._exit(status)
