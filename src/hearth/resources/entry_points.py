"""Entry points of installed packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


FILE = "entry_points.txt"


def entry_points(group: str) -> Sequence[EntryPoint]:
    """Return the entry points of a group.

    Python reads the metadata of all packages for that, which takes a tenth of the time of a short
    command. This function does so only if a package names the group.
    """
    lists = [_lists(folder) for folder in sys.path]
    if not any(text is None or group.encode() in text for text in lists):
        return ()
    from importlib.metadata import entry_points as all_entry_points

    return tuple(all_entry_points(group=group))


@cache
def _lists(folder: str) -> bytes | None:
    """Return all lists of entry points in an entry of the module path, or None for an archive."""
    try:
        names = os.listdir(folder or ".")
    except NotADirectoryError:
        return None
    except OSError:
        return b""
    texts = []
    for name in names:
        if name.endswith((".dist-info", ".egg-info", "EGG-INFO")):
            with suppress(OSError), open(os.path.join(folder, name, FILE), "rb") as file:
                texts.append(file.read())
    return b"\n".join(texts)
