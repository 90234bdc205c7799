"""The entry point of the `hearth` command."""

import os
import sys

from hearth.model import collector


def main() -> None:
    """Run the command that the arguments name.

    Imports create many objects and hardly any garbage, so collections during them are of no use,
    and later ones skip these objects.
    """
    _open_standard_streams()
    collector.off()
    from hearth.cli.main import main as run

    collector.loaded()
    run()


def _open_standard_streams() -> None:
    """Open /dev/null for each standard stream that the process started without.

    Otherwise the next file or socket would become this stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # gets the number of this stream, the lowest free
            os.set_inheritable(null, True)
            setattr(sys, name, os.fdopen(null, mode))
