"""Build an image for servers: `python -m hearth_devcloud.images build NAME --data FOLDER`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hearth_devcloud.images import build, shelf

FOLDER = "images"  # subfolder of --data
_MB = 1_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Build an image as the command line specifies; return the exit status."""
    options = _parser().parse_args(argv)
    os.umask(0o022)  # the users of sandbox servers must be able to read the files
    print(
        f"Building the image {options.name} with {build.PROGRAM}; this takes some minutes",
        flush=True,
    )
    began = time.monotonic()
    try:
        tree = build.build(options.data / FOLDER, options.name, options.mirror)
    except build.CannotBuild as problem:
        print(f"hearth: the image {options.name} could not be built: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    seconds, size = time.monotonic() - began, _size(tree)
    print(f"The image {options.name} is built: {size / _MB:.0f} MB, {seconds:.0f} s, in {tree}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hearth dev image", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("build")
    command.add_argument("name", choices=shelf.NAMES)
    command.add_argument("--data", type=Path, required=True)
    command.add_argument("--mirror", action="append", metavar="LINE")
    return parser


def _size(tree: Path) -> int:
    """Return the disk space of a file tree in bytes."""
    blocks = {}
    for folder, _, names in os.walk(tree):
        for name in names:
            status = os.lstat(os.path.join(folder, name))
            blocks[status.st_ino] = status.st_blocks
    return 512 * sum(blocks.values())


if __name__ == "__main__":
    sys.exit(main())
