"""Entry points of installed packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points(group: str) -> Sequence[EntryPoint]:
    """Return the entry points of a group.

    Python reads the metadata of all packages for that, which takes a tenth of the time of a short
    command. This function does so only if a package names the group.
    """
    if not any(_may_name(group, folder) for folder in sys.path):
        return ()
    from importlib.metadata import entry_points as all_entry_points

    return tuple(all_entry_points(group=group))


def _may_name(group: str, folder: str) -> bool:
    """Return whether an entry of the module path may have a package that names a group.

    Packages in archives are not read.
    """
    try:
        found = os.listdir(folder or ".")
    except NotADirectoryError:
        return True
    except OSError:
        return False
    for name in found:
        if name.endswith((".dist-info", ".egg-info", "EGG-INFO")):
            with suppress(OSError):
                if group.encode() in Path(folder, name, "entry_points.txt").read_bytes():
                    return True
    return False
