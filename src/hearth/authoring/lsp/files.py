"""The texts that are open in the editor, and the files in their folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct
from pygls.uris import from_fs_path, to_fs_path

from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.text import Text
from hearth.template.environment import TEMPLATE_ENDINGS

ENDINGS = (".yaml", ".yml", ".template", ".json")
NEIGHBOURS_MAX = 200
"""The maximum number of files that are read in a folder."""

SIZE_MAX = 1024 * 1024
"""The maximum size of a file that is read from the disk, in bytes."""

SAYS = re.compile(
    r"^[ \t]*+[{\"']?[ \t]*+[\"']?(?:heat_template_version|HeatTemplateFormatVersion"
    r"|AWSTemplateFormatVersion|resource_registry|parameter_defaults)[\"']?[ \t]*+:",
    re.M,
)
"""A pattern that matches somewhere in every template and every environment."""


class Open(Struct, frozen=True):
    """A text that is open in the editor, with the URI that the editor uses for it."""

    uri: str
    version: int | None
    document: Document


class _Read(Struct, frozen=True):
    """A file as it was last read from the disk.

    `document` is None if it is neither a template nor an environment.
    """

    stamp: tuple[int, int]
    document: Document | None


class Files:
    """Returns documents by URI or path. A text that is open replaces the file on the disk.

    `root` is the editor's folder, and `configured` are the environments in its settings.
    `environment_edits` increases when an open environment changes.
    """

    def __init__(self) -> None:
        self.root: Path | None = None
        self.configured: tuple[Path, ...] = ()
        self._open: dict[str, Open] = {}
        self._by_path: dict[Path, Open] = {}
        self._disk: dict[Path, _Read] = {}
        self.environment_edits = 0

    # -- what is open ---------------------------------------------------------------------------

    def open(self, uri: str, text: str, version: int | None = None) -> Document:
        """Record that the editor has opened a text; return its document.

        `version` is the number that the editor gave the text, or None.
        """
        return self._put(uri, version, Document(Text(text), self.path(uri)))

    def change(self, uri: str, text: Text, version: int | None) -> Document:
        """Replace the text of an open document; return the new document."""
        return self._put(uri, version, Document(text, self.path(uri), self._open[uri].document))

    def close(self, uri: str) -> None:
        """Record that the editor has closed a text. The file on the disk is used again."""
        opened = self._open.pop(uri, None)
        if opened is not None:
            self._by_path.pop(opened.document.path, None)
            self.environment_edits += opened.document.genre is Genre.ENVIRONMENT

    def opened(self, uri: str) -> Open | None:
        """Return the text that is open under a URI, or None."""
        return self._open.get(uri)

    @property
    def all_open(self) -> Sequence[Open]:
        return list(self._open.values())

    def texts(self) -> Mapping[Path, str]:
        """Return all open texts by path."""
        return {path: opened.document.text.source for path, opened in self._by_path.items()}

    def _put(self, uri: str, version: int | None, document: Document) -> Document:
        opened = Open(uri, version, document)
        self.environment_edits += document.genre is Genre.ENVIRONMENT
        self._open[uri] = opened
        self._by_path[document.path] = opened
        return document

    # -- paths ----------------------------------------------------------------------------------

    def path(self, uri: str) -> Path:
        """Return the path of a URI; a text that was never saved gets a path in the folder of the
        other files.
        """
        path = to_fs_path(uri)
        if path is not None:
            return Path(os.path.normpath(path))
        return (self.root or Path.cwd()) / re.sub(r"[/\\]+", "_", unquote(uri))

    def uri(self, path: Path) -> str:
        """Return the URI of a path; if the file is open, the one that the editor uses."""
        opened = self._by_path.get(path)
        if opened is not None:
            return opened.uri
        return from_fs_path(str(path)) or ""

    def version(self, path: Path) -> int | None:
        """Return the version number that the editor gave an open text; None if it is not open."""
        opened = self._by_path.get(path)
        return opened.version if opened else None

    # -- what there is --------------------------------------------------------------------------

    def at(self, path: Path) -> Document | None:
        """Return the document at a path, from the editor or else from the disk.

        Return None if there is no file. Return None as well if the file on the disk is larger than
        SIZE_MAX, or is neither a template nor an environment.
        """
        opened = self._by_path.get(path)
        if opened is not None:
            return opened.document
        try:
            status = path.stat()
        except (OSError, ValueError):
            self._disk.pop(path, None)
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        cached = self._disk.get(path)
        if cached is None or cached.stamp != stamp:
            cached = _Read(stamp, _document(path, status.st_size))
            self._disk[path] = cached
        return cached.document

    def beside(self, path: Path) -> Iterator[Document]:
        """Yield all templates and environments in the folder of a file, and all open documents."""
        opened_paths = set()
        for opened in self.all_open:
            opened_paths.add(opened.document.path)
            yield opened.document
        for neighbour in self.names(path.parent):
            if neighbour.name.endswith(ENDINGS) and neighbour not in opened_paths:
                document = self.at(neighbour)
                if document is not None:
                    yield document

    def names(self, folder: Path) -> list[Path]:
        """Return the files and folders in a folder in alphabetical order, except hidden ones.

        At most NEIGHBOURS_MAX are returned; none if the folder cannot be read.
        """
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
        except OSError:
            return []
        return [folder / name for name in names[:NEIGHBOURS_MAX]]

    def environments(self, path: Path) -> list[Document]:
        """Return the environments for a template: the configured ones, or else those in its
        folder and all that are open.
        """
        if self.configured:
            documents = [self.at(environment) for environment in self.configured]
            return [document for document in documents if document is not None]
        return [document for document in self.beside(path) if document.genre is Genre.ENVIRONMENT]


def _document(path: Path, size: int) -> Document | None:
    if size > SIZE_MAX:
        return None
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return Document(Text(text), path) if SAYS.search(text) else None


def local(name: str, origin: Path) -> Path | None:
    """Return the path of a file to which the file `origin` refers by `name`. It may not exist.

    Return None if `name` is empty, a URL of the web or an invalid URL.
    """
    if name.startswith("file://"):
        try:
            file_path = to_fs_path(name)
        except ValueError:
            return None
        return Path(os.path.normpath(file_path)) if file_path else None
    if not name or "://" in name or "\0" in name:
        return None
    return Path(os.path.normpath(origin.parent / name))


def is_template_name(name: object) -> bool:
    """Return whether the name of a resource type is the name of a template file."""
    return isinstance(name, str) and name.endswith(TEMPLATE_ENDINGS)
