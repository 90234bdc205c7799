"""The files of `hearth fmt`: search folders, read, compare, and replace files atomically."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

from hearth.model.problem import HTTPBadRequest, Rejected
from hearth.model.span import Span
from hearth.template import load
from hearth.template.environment import SECTIONS, TEMPLATE_ENDINGS
from hearth.template.versions import VERSION_KEYS

VERSION_LINE = re.compile(rf"""^["']?(?:{"|".join(VERSION_KEYS)})["']?\s*:""", re.MULTILINE)


def files_of(path: Path) -> Iterator[Path]:
    """Yield the templates and environments in the folder `path` and its subfolders.

    They are sorted by name. Hidden folders and other YAML files are ignored. If `path` is not a
    folder, yield it without a check.
    """
    if not path.is_dir():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if name.endswith(TEMPLATE_ENDINGS) and file.is_file() and _is_ours(file):
                yield file


def read(path: Path) -> str:
    """Return the text with its line breaks unchanged.

    Raises OSError, and Rejected if the file is not UTF-8 text.
    """
    return decoded(path.read_bytes(), str(path))


def decoded(data: bytes, file: str) -> str:
    """Decode UTF-8. Raises Rejected with the place of the first invalid byte."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode().split("\n")
        at = Span(file, len(before), len(before[-1]) + 1)
        raise Rejected([HTTPBadRequest(at, "the text is not UTF-8")]) from None


def replace(path: Path, text: str) -> None:
    """Replace the content of a file atomically, without changing its permissions.

    If `path` is a symbolic link, its target is replaced. Raises OSError.
    """
    path = path.resolve()
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(path))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(text.encode())
            new.flush()
            os.fsync(new.fileno())
        shutil.copymode(path, name)
        with suppress(PermissionError):
            owner = path.stat()
            os.chown(name, owner.st_uid, owner.st_gid)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def difference(before: str, after: str, file: str) -> str:
    """Return a unified diff of two texts of a file that `patch` can read; empty if they are
    equal.
    """
    result = []
    for line in unified_diff(_lines(before), _lines(after), file, file):
        result.append(line)
        if not line.endswith("\n"):
            result.append("\n\\ No newline at end of file\n")
    return "".join(result)


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()


def _is_ours(path: Path) -> bool:
    """Return whether a file seems to be a template or an environment, even if it is invalid."""
    try:
        text = read(path)
        root = load(text, str(path)).value
    except OSError:
        return True  # its error is reported later
    except Rejected:
        return bool(VERSION_LINE.search(path.read_text(encoding="utf-8", errors="replace")))
    if not isinstance(root, dict) or not root:
        return False
    if any(key in root for key in VERSION_KEYS):
        return True
    return all(isinstance(node.value, SECTIONS.get(key, ())) for key, node in root.items())
