"""Building an image with mmdebstrap, with the file owners that sandbox servers need."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from hearth_devcloud.images import debian, shelf
from hearth_devcloud.sandbox.identity import FIRST_ID, has_range

PROGRAM = "mmdebstrap"
LINES_MAX = 15  # last lines of the program's output in an error
_ORIGIN = "Debian"
_FORMAT = "$(ORIGIN) $(CODENAME) $(RELEASE) $(COMPONENT) $(REPO_URI)"


class CannotBuild(Exception):
    """An image could not be built; the message gives the user the reason."""


def build(folder: Path, name: str, mirrors: list[str] | None = None) -> Path:
    """Build an image in a folder and return its tree. Raises CannotBuild.

    The new tree replaces an earlier build of the same name. `mirrors` are apt source lines or URLs;
    the default are the mirrors of the machine's own apt.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise CannotBuild(
            f"{PROGRAM} is not installed: on Debian and Ubuntu, apt install {PROGRAM}"
        )
    if folder.is_symlink():  # its target would become readable for everybody
        raise CannotBuild(f"{folder} is a symbolic link; build the image where it leads")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    command = [program, *debian.options(), *_proxies(), "--format=tar", debian.SUITE, "-"]
    command += mirrors or mirrors_of_machine(debian.SUITE)
    try:
        with shelf.building(folder):
            tree = shelf.new_tree(folder, name)
            try:
                _into(shelf.root_in(tree), command)
            except BaseException:
                shutil.rmtree(tree, ignore_errors=True)
                raise
            shelf.publish(tree)
    except (shelf.Busy, OSError) as problem:
        raise CannotBuild(str(problem)) from None
    return tree


def mirrors_of_machine(suite: str) -> list[str]:
    """Return the apt source lines for a Debian suite in the machine's apt configuration.

    If the result is empty, mmdebstrap uses its default mirror.
    """
    names = {suite, f"{suite}-updates", f"{suite}-security"}
    try:
        done = subprocess.run(
            ["apt-get", "indextargets", "--format", _FORMAT, "Created-By: Packages"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    mirrors: dict[tuple[str, str], list[str]] = {}
    for line in done.stdout.splitlines():
        origin, codename, release, component, address = line.split(" ", 4)
        if origin == _ORIGIN and codename in names:
            mirrors.setdefault((address, release), []).append(component)
    if suite not in {release for _, release in mirrors}:
        return []
    return [
        f"deb {address} {release} {' '.join(dict.fromkeys(components))}"
        for (address, release), components in mirrors.items()
    ]


def _proxies() -> list[str]:
    """Return mmdebstrap options for the HTTP proxies that the machine's own apt uses."""
    options = []
    for scheme in ("http", "https"):
        name = f"Acquire::{scheme}::Proxy"
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            done = subprocess.run(
                ["apt-config", "shell", "P", name], capture_output=True, text=True, check=True
            )
            if value := done.stdout.strip().removeprefix("P=").strip("'"):
                options.append(f'--aptopt={name} "{value}"')
    return options


def _into(root: Path, command: list[str]) -> None:
    """Run mmdebstrap with `command` and unpack its archive to the folder `root`.

    Raises CannotBuild with the last lines of its output.
    """
    owner, accounts = _owner()
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert process.stdout is not None
        broken = ""
        try:
            _unpack(process.stdout, root, accounts=accounts)
        except tarfile.TarError as problem:  # also raised if there was no output
            broken = str(problem)
        except BaseException:
            process.terminate()
            raise
        finally:
            process.stdout.close()
            status = process.wait()
        if status or broken:
            log.seek(0)
            lines = [line.rstrip() for line in log if line.strip()][-LINES_MAX:]
            outcome = f"exited with status {status}" if status else f"wrote a bad archive: {broken}"
            raise CannotBuild("\n  ".join([f"{PROGRAM} {outcome}:", *lines]))
    debian.finish(root, owner, accounts=accounts)


def _owner() -> tuple[Callable[[Path], None], bool]:
    """Return a function that makes the servers' root user the owner of a file.

    The second value is whether servers can have users other than root.
    """
    if has_range():
        return lambda path: os.lchown(path, FIRST_ID, FIRST_ID), True
    return lambda path: None, False


def _unpack(archive: IO[bytes], root: Path, *, accounts: bool) -> None:
    """Unpack an archive to the folder `root`.

    If `accounts` is true, the owners are shifted into the id range of sandbox servers. Otherwise,
    all files belong to the current user.
    """
    with tarfile.open(fileobj=archive, mode="r|") as opened:
        opened.extraction_filter = lambda member, _: member  # an image is trusted
        folders = []
        for member in opened:
            if member.ischr() or member.isblk():
                continue
            if accounts:
                member.uid, member.gid = FIRST_ID + member.uid, FIRST_ID + member.gid
            else:
                member.uid, member.gid = os.getuid(), os.getgid()
                member.mode |= 0o700 if member.isdir() else 0o400
            opened.extract(member, root, numeric_owner=True, set_attrs=not member.isdir())
            if member.isdir():
                folders.append(member)
        for member in reversed(folders):  # last, because a read-only folder can contain files
            path = root / member.name
            opened.chown(member, path, numeric_owner=True)
            opened.chmod(member, path)
            opened.utime(member, path)
