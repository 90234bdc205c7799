"""The folder of images: the name of an image is a link to the tree that was built last.

The keeper process also imports this module, so it uses only the standard library.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

DEBIAN = "debian"
NAMES = (DEBIAN,)
_LOCK = ".lock"
_ROOT = "root"


class Busy(Exception):
    """Another process is building an image in this folder."""


def has(folder: Path, name: str) -> bool:
    """Return whether the folder contains an image with this name."""
    return (folder / name).is_symlink() and (folder / name / _ROOT).is_dir()


def root_of(folder: Path, name: str) -> Path:
    """Return the root folder of an image's current tree, which a later build does not change.

    Raises OSError if it does not exist.
    """
    root = folder / os.readlink(folder / name) / _ROOT
    if not root.is_dir():
        raise FileNotFoundError(f"the files of the image {name} are missing; build it again")
    return root


@contextlib.contextmanager
def building(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder, so that no other build and no `prune` runs. Raises Busy."""
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Busy(f"another build is running in {folder}") from None
        yield


def new_tree(folder: Path, name: str) -> Path:
    """Create the folder of a new tree for the image `name` and return it.

    After the tree is complete, `publish` makes it the current one.
    """
    number = 1 + max((_number(entry) for entry in folder.iterdir()), default=0)
    tree = folder / f"{name}.{number}"
    (tree / _ROOT).mkdir(parents=True)
    return tree


def root_in(tree: Path) -> Path:
    """Return the root folder of a tree."""
    return tree / _ROOT


def publish(tree: Path) -> None:
    """Make a tree the current one of its image: change the link, atomically."""
    link = tree.with_name(tree.name.partition(".")[0])
    aside = link.with_name(f".{link.name}")
    aside.unlink(missing_ok=True)
    aside.symlink_to(tree.name)
    aside.rename(link)


def prune(folder: Path) -> None:
    """Remove the trees that are no longer current. Do nothing during a build.

    Call this only while no server runs, because servers may use older trees.
    """
    if not folder.is_dir():
        return
    with contextlib.suppress(Busy), building(folder):
        targets = {os.readlink(path) for path in folder.iterdir() if path.is_symlink()}
        for entry in folder.iterdir():
            if _number(entry) and entry.name not in targets:
                shutil.rmtree(entry, ignore_errors=True)


def _number(tree: Path) -> int:
    number = tree.name.rpartition(".")[2]
    return int(number) if number.isdecimal() and not tree.is_symlink() else 0
