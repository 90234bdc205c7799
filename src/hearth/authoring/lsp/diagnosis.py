"""Diagnostics for open texts, published soon after the last change.

A run of the linter checks a file together with all files to which it refers, so several runs can
find problems in the same file. The diagnostics of a file are the findings of all runs.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from hearth.authoring.finding import Finding
from hearth.authoring.lsp.cursor import context_at
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import Files, local
from hearth.authoring.lsp.linter_process import LinterProcess, NoAnswer
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.symbol import fits
from hearth.authoring.lsp.uses import Of, uses_in

QUIET_S = 0.3
"""The seconds without a change after which a text is checked."""

TREE_MAX = 200
"""The maximum number of files that are followed from one file."""


class Remark(Struct, frozen=True):
    """A finding in a document, with the offsets of the text that it concerns."""

    finding: Finding
    document: Document
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text that the finding concerns."""
        return self.document.text.source[self.start : self.end]


Publish = Callable[[Path, Sequence[Remark]], None]
Log = Callable[[str], None]


class Diagnosis:
    """Runs the linter on open files after they have changed.

    `publish` is called with a file and all remarks about it, and `log` with the reason if a check
    fails.
    """

    def __init__(self, files: Files, schemas: Schemas, publish: Publish, log: Log) -> None:
        self.files = files
        self.schemas = schemas
        self.publish = publish
        self.log = log
        self.linter = LinterProcess()
        self.remarks: dict[Path, list[Remark]] = {}
        self._found: dict[Path, dict[Path, list[Remark]]] = {}
        self._trees: dict[Path, set[Path]] = {}
        self._due: dict[Path, float] = {}
        self._work: asyncio.Task[None] | None = None

    # -- what has changed -----------------------------------------------------------------------

    def changed(self, path: Path, after_s: float = QUIET_S) -> None:
        """Record that a text or file has changed.

        The open files that depend on it are checked after `after_s` seconds without a further
        change. After the change of an environment, all open files are checked.
        """
        due = asyncio.get_running_loop().time() + after_s
        document = self.files.at(path)
        for_all = document is not None and document.genre is Genre.ENVIRONMENT
        for opened in self.files.all_open:
            root = opened.document.path
            if for_all or root == path or path in self._trees.get(root, ()):
                self._due[root] = due
        if self._due and (self._work is None or self._work.done()):
            self._work = asyncio.create_task(self._lint_all())

    def closed(self, path: Path) -> None:
        """Remove the diagnostics that come from the document, because it is closed."""
        self._due.pop(path, None)
        self._trees.pop(path, None)
        before = self._found.pop(path, {})
        for file in {path, *before}:
            self._show(file)

    async def close(self) -> None:
        """Stop all checks and end the process of the linter."""
        self._due.clear()
        if self._work is not None:
            self._work.cancel()
        await self.linter.close()

    # -- judging --------------------------------------------------------------------------------

    async def _lint_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._due:
            root = min(self._due, key=self._due.__getitem__)
            wait_s = self._due[root] - loop.time()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
                continue
            del self._due[root]
            try:
                await self._lint(root)
            except NoAnswer as problem:
                self.log(f"{root}: {problem}")
            except Exception:  # one file must not keep the others from being checked
                self.log(f"{root}: {traceback.format_exc()}")

    async def _lint(self, root: Path) -> None:
        document = self.files.at(root)
        if document is None or document.genre is Genre.NOTHING:
            self._trees[root] = set()
            self._take(root, {}, tell=False)
            return
        environments = self._environments(document)
        tree = {root: document, **{environment.path: environment for environment in environments}}
        self._trees[root] = await self._tree(document, tree)
        findings = await self.linter.ask(
            {
                "path": str(root),
                "environments": [str(environment.path) for environment in environments],
                "texts": {str(path): text for path, text in self.files.texts().items()},
            }
        )
        if any(self.files.at(path) is not checked for path, checked in tree.items()):
            return  # it is another text by now, and will be checked
        remarks: dict[Path, list[Remark]] = {}
        for finding in findings:
            remark = self._remark(finding, root)
            if remark is not None:
                remarks.setdefault(remark.document.path, []).append(remark)
        self._take(root, remarks)

    def _environments(self, document: Document) -> list[Document]:
        """Return the environments with which a template is checked.

        These are the configured environments. If none is configured, they are the environments in
        the folder, and the open ones, whose `parameters` are all declared in the template.
        """
        if document.genre is Genre.ENVIRONMENT:
            return []
        environments = self.files.environments(document.path)
        if self.files.configured:
            return environments
        return [
            environment
            for environment in environments
            if fits(environment, document) or not environment.items("parameters")
        ]

    async def _tree(self, document: Document, tree: dict[Path, Document]) -> set[Path]:
        """Return the paths of all files to which a template refers, including missing ones.

        Documents that are nested templates are added to `tree`.
        """
        paths = set(tree)
        waiting = [document] if document.genre is Genre.TEMPLATE else []
        while waiting and len(paths) < TREE_MAX:
            parent = waiting.pop()
            names: set[tuple[Of, str]] = set()
            for number, (_, uses) in enumerate(uses_in(parent)):
                if number % 50 == 0:
                    await asyncio.sleep(0)
                names.update((use.of, use.name) for use in uses if use.of in (Of.TYPE, Of.FILE))
            for of, name in names:
                child = self.schemas.child_path(parent.path, name) if of is Of.TYPE else None
                path = child or (local(name, parent.path) if of is Of.FILE else None)
                if path is None or path in paths:
                    continue
                paths.add(path)
                nested = self.files.at(path) if of is Of.TYPE else None
                if nested is not None and nested.genre is Genre.TEMPLATE:
                    tree[path] = nested
                    waiting.append(nested)
        return paths

    # -- findings -------------------------------------------------------------------------------

    def _remark(self, finding: Finding, root: Path) -> Remark | None:
        path = local(finding.file, root) or root
        document = self.files.at(path)
        if document is None:
            path, document = root, self.files.at(root)
        if document is None:
            return None
        text = document.text
        start = text.offset_of_mark(finding.line, finding.column)
        end = min(start + finding.length, len(text.source))
        if finding.length <= 1:
            quoted = text.source.startswith(("'", '"'), start)
            context = context_at(document, start + quoted)
            literal = context is not None and context.scalar.style in ("|", ">")
            if context is not None and context.start == start + quoted and not literal:
                start, end = context.start, context.end
        return Remark(finding, document, start, end)

    def _take(self, root: Path, remarks: dict[Path, list[Remark]], *, tell: bool = True) -> None:
        """Store the findings of a run that started at the file `root`, and publish them for each
        file.

        If `tell` is true, the diagnostics of `root` are published even if there are none and there
        were none before.
        """
        before = self._found.get(root, {})
        self._found[root] = remarks
        for file in {root, *before, *remarks}:
            self._show(file, tell=tell and file == root)

    def _show(self, file: Path, *, tell: bool = False) -> None:
        remarks: dict[tuple[int, int, str], Remark] = {}
        for of_root in self._found.values():
            for remark in of_root.get(file, ()):
                remarks.setdefault((remark.start, remark.end, remark.finding.message), remark)
        published = [remarks[key] for key in sorted(remarks)]
        if published or tell or file in self.remarks:
            self.publish(file, published)
        self.remarks[file] = published
        if not published:
            del self.remarks[file]
