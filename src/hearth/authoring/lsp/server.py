"""The language server: the requests of the editor and the responses to them."""

from __future__ import annotations

import asyncio
import sys
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import (
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcParseError,
)
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

import hearth
from hearth.authoring.fmt import formatted
from hearth.authoring.lsp import wire
from hearth.authoring.lsp.choice import Choice
from hearth.authoring.lsp.complete import Completion
from hearth.authoring.lsp.cursor import CursorContext, context_at
from hearth.authoring.lsp.definition import definition
from hearth.authoring.lsp.diagnosis import Diagnosis, Remark
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import Files
from hearth.authoring.lsp.hover import hover
from hearth.authoring.lsp.outline import outline
from hearth.authoring.lsp.protocol import Protocol
from hearth.authoring.lsp.rename import Refused, renamed
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.symbol import Symbol, occurrences, symbol_at
from hearth.authoring.lsp.text import Units
from hearth.authoring.lsp.uses import uses_in
from hearth.authoring.types import author_catalog
from hearth.model.problem import Rejected


class Asked(typing.Protocol):
    """The parameters of a request that is about a position in a document."""

    @property
    def text_document(self) -> types.TextDocumentIdentifier: ...
    @property
    def position(self) -> types.Position: ...


SLICE = 40
"""The number of blocks that are parsed in the background before other tasks get a turn."""

OPENED_S = 0.05
"""The seconds after opening a text until it is checked."""

WATCHED = "**/*.{yaml,yml,template,json}"


class HearthServer(LanguageServer):
    """The language server of one editor."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("hearth", hearth.__version__, protocol_cls=Protocol)
        self.files = Files()
        self.schemas = Schemas(self.files, author_catalog())
        self.choices = Completion(self.schemas)
        self.diagnosis = Diagnosis(self.files, self.schemas, self.show, self.log)
        self.units = Units.UTF16
        self.offered: Sequence[Choice] = ()
        self.reading: set[asyncio.Task[None]] = set()
        self.protocol.text_opened = self.text_opened
        self.protocol.text_changed = self.text_changed
        self.protocol.text_closed = self.text_closed
        for name, (answer, options) in FEATURES.items():
            self.feature(name, options)(answer)

    # -- texts ----------------------------------------------------------------------------------

    def text_opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """Handle textDocument/didOpen: store the document and start parsing it."""
        item = params.text_document
        document = self.files.open(item.uri, item.text, item.version)
        task = asyncio.create_task(_read_ahead(document))
        self.reading.add(task)
        task.add_done_callback(self.reading.discard)
        self.diagnosis.changed(document.path, OPENED_S)

    def text_changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """Handle textDocument/didChange: apply the changes to the stored text."""
        opened = self.files.opened(params.text_document.uri)
        if opened is None:
            return
        text = opened.document.text
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = (
                    text.offset(at.line, at.character, self.units)
                    for at in (change.range.start, change.range.end)
                )
                text = text.changed(start, end, change.text)
            else:
                text = type(text)(change.text)
        document = self.files.change(opened.uri, text, params.text_document.version)
        self.diagnosis.changed(document.path)

    def text_closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """Handle textDocument/didClose: forget the open text and its diagnostics."""
        opened = self.files.opened(params.text_document.uri)
        if opened is not None:
            self.diagnosis.closed(opened.document.path)
            self.files.close(opened.uri)
            self.diagnosis.changed(opened.document.path)

    # -- what is at a position ---------------------------------------------------------------------

    def document(self, uri: str) -> Document | None:
        """Return the template or environment at a URI, open or on the disk; None if there is
        none.
        """
        opened = self.files.opened(uri)
        document = opened.document if opened else self.files.at(self.files.path(uri))
        return document if document and document.genre is not Genre.NOTHING else None

    def context(self, params: Asked) -> CursorContext | None:
        """Return the context of the position in a request, or None."""
        document = self.document(params.text_document.uri)
        if document is None:
            return None
        at = params.position
        return context_at(document, document.text.offset(at.line, at.character, self.units))

    def symbol(self, params: Asked) -> Symbol | None:
        """Return the symbol at the position in a request, or None."""
        context = self.context(params)
        return symbol_at(context, self.schemas) if context else None

    def can(self, path: str) -> Any:
        """Return a capability of the editor; its path is a text such as
        "textDocument.completion".
        """
        return get_capability(self.client_capabilities, path, None)

    # -- telling --------------------------------------------------------------------------------

    def show(self, path: Path, remarks: Sequence[Remark]) -> None:
        """Publish all diagnostics of a file."""
        diagnostics = [wire.diagnostic(remark, self.units) for remark in remarks]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=self.files.uri(path), diagnostics=diagnostics, version=self.files.version(path)
            )
        )

    def log(self, message: str) -> None:
        """Write a message to the editor's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Respond with an error to a message that cannot be parsed; write all other errors to
        standard error.
        """
        if isinstance(error, ValueError | RecursionError) and source is JsonRpcException:
            self.protocol.refuse(None, JsonRpcParseError("not JSON"))
        elif isinstance(error, JsonRpcInternalError) or source is not FeatureRequestError:
            sys.stderr.write(f"hearth lsp: {error}\n")

    # -- settings -------------------------------------------------------------------------------

    def configure(self, settings: object) -> None:
        """Set the environments for all templates, from the settings of the editor.

        Relative paths start at the editor's folder. Settings without the list `environments` change
        nothing.
        """
        if isinstance(settings, Mapping):
            settings = settings.get("hearth", settings)
        environments = settings.get("environments") if isinstance(settings, Mapping) else None
        if not isinstance(environments, list):
            return
        root = self.files.root or Path.cwd()
        self.files.configured = tuple(root / name for name in environments if isinstance(name, str))
        self.files.environment_edits += 1


async def _read_ahead(document: Document) -> None:
    """Parse all blocks of a text in the background, before a request needs them.

    A few are parsed at a time, so that requests are not delayed.
    """
    for number, _ in enumerate(uses_in(document)):
        if number % SLICE == SLICE - 1:
            await asyncio.sleep(0)


# -- the questions ------------------------------------------------------------------------------


def initialize(ls: HearthServer, params: types.InitializeParams) -> None:
    """Handle initialize: set the root folder and the encoding of columns."""
    folders = params.workspace_folders or []
    root = params.root_path or (to_fs_path(params.root_uri) if params.root_uri else None)
    if root is None and folders:
        root = to_fs_path(folders[0].uri)
    ls.files.root = Path(root) if root else None
    ls.units = Units(types.PositionEncodingKind(ls.workspace.position_encoding).value)
    ls.configure(_plain(params.initialization_options))


def initialized(ls: HearthServer, params: types.InitializedParams) -> None:
    """Handle initialized: request notifications from the editor about changes on the disk."""
    if ls.can("workspace.did_change_watched_files.dynamic_registration"):
        watcher = types.FileSystemWatcher(glob_pattern=WATCHED)
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=[watcher])
        name = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = types.Registration(id="files", method=name, register_options=options)
        ls.client_register_capability(types.RegistrationParams([registration]))


def configured(ls: HearthServer, params: types.DidChangeConfigurationParams) -> None:
    """Handle workspace/didChangeConfiguration: apply new settings and check everything again."""
    ls.configure(_plain(params.settings))
    for opened in ls.files.all_open:
        ls.diagnosis.changed(opened.document.path)


def files_changed(ls: HearthServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Handle workspace/didChangeWatchedFiles: check the templates that depend on changed files."""
    for change in params.changes:
        ls.diagnosis.changed(ls.files.path(change.uri))


async def shutdown(ls: HearthServer, params: None) -> None:
    """Handle shutdown: stop the background tasks and the process of the linter."""
    for task in ls.reading:
        task.cancel()
    await ls.diagnosis.close()


def complete(ls: HearthServer, params: types.CompletionParams) -> wire.Ready | None:
    """Return the completions at a position; None if the text is not open."""
    opened = ls.files.opened(params.text_document.uri)
    if opened is None:
        return None
    text = opened.document.text
    offset = text.offset(params.position.line, params.position.character, ls.units)
    snippets = bool(ls.can("text_document.completion.completion_item.snippet_support"))
    choices = ls.choices.at(opened.document, offset, snippets=snippets)
    ls.offered = choices
    return wire.completions(choices, text, ls.units)


def resolve(ls: HearthServer, item: types.CompletionItem) -> types.CompletionItem:
    """Return an item of the last completion with its documentation, if it has one."""
    number = item.data
    if isinstance(number, int) and 0 <= number < len(ls.offered):
        word = ls.offered[number].word
        if word.name == item.label and word.text:
            item.documentation = wire.markdown(word.text)
    return item


def hovered(ls: HearthServer, params: types.HoverParams) -> types.Hover | None:
    """Return the description of the word at a position; None if there is none."""
    context = ls.context(params)
    text = hover(context, ls.schemas) if context else None
    if context is None or text is None:
        return None
    at = wire.range_of(context.document.text, context.start, context.end, ls.units)
    return types.Hover(contents=wire.markdown(text), range=at)


def defined(ls: HearthServer, params: types.DefinitionParams) -> types.Location | None:
    """Return the location of the definition of the word at a position; None if there is none."""
    context = ls.context(params)
    target = definition(context, ls.schemas) if context else None
    return wire.location(target, ls.files, ls.units) if target else None


def referred(ls: HearthServer, params: types.ReferenceParams) -> Sequence[types.Location]:
    """Return the references to the symbol at a position."""
    symbol = ls.symbol(params)
    if symbol is None:
        return []
    with_definition = params.context.include_declaration
    references = [
        occurrence
        for occurrence in occurrences(symbol, ls.schemas)
        if with_definition or not occurrence.definition
    ]
    return wire.locations(references, ls.files, ls.units)


def highlighted(
    ls: HearthServer, params: types.DocumentHighlightParams
) -> Sequence[types.DocumentHighlight]:
    """Return the occurrences of the symbol at a position in the same text."""
    context = ls.context(params)
    symbol = symbol_at(context, ls.schemas) if context else None
    if context is None or symbol is None:
        return []
    text = context.document.text
    return [
        types.DocumentHighlight(wire.range_of(text, occurrence.start, occurrence.end, ls.units))
        for occurrence in occurrences(symbol, ls.schemas)
        if occurrence.document.path == context.document.path
    ]


def outlined(ls: HearthServer, params: types.DocumentSymbolParams) -> wire.Ready | None:
    """Return the outline of a template or an environment; None if the URI has none."""
    uri = params.text_document.uri
    document = ls.document(uri)
    if document is None:
        return None
    lines, text = outline(document), document.text
    if ls.can("text_document.document_symbol.hierarchical_document_symbol_support"):
        return wire.symbols(lines, text, ls.units)
    return wire.flat_symbols(lines, uri, text, ls.units)


def rename_begun(
    ls: HearthServer, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """Return the range of the name at a position; None if it cannot be renamed."""
    context = ls.context(params)
    symbol = symbol_at(context, ls.schemas) if context else None
    if context is None or symbol is None or not symbol.defined:
        return None
    at = wire.range_of(context.document.text, context.start, context.end, ls.units)
    return types.PrepareRenamePlaceholder(range=at, placeholder=symbol.name)


def rename(ls: HearthServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """Return the edits that rename the symbol at a position.

    Answer with an error if there is no symbol, or if the new name is refused.
    """
    symbol = ls.symbol(params)
    if symbol is None:
        raise JsonRpcInvalidParams("there is no name here that can be renamed")
    try:
        targets = renamed(symbol, params.new_name, ls.schemas)
    except Refused as refused:
        raise JsonRpcInvalidParams(str(refused)) from None
    return wire.edits(targets, params.new_name, ls.files, ls.units)


def mended(ls: HearthServer, params: types.CodeActionParams) -> Sequence[types.CodeAction]:
    """Return code actions that apply the suggestions of findings in a range."""
    opened = ls.files.opened(params.text_document.uri)
    if opened is None:
        return []
    text = opened.document.text
    start, end = (
        text.offset(at.line, at.character, ls.units)
        for at in (params.range.start, params.range.end)
    )
    actions = []
    for remark in ls.diagnosis.remarks.get(opened.document.path, ()):
        suggestion = remark.finding.suggestion
        unchanged = text.source[remark.start : remark.end] == remark.text
        if suggestion and unchanged and remark.start <= end and start <= remark.end:
            edit = types.TextEdit(
                wire.range_of(text, remark.start, remark.end, ls.units), suggestion
            )
            actions.append(
                types.CodeAction(
                    title=f"Replace with {suggestion}",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[wire.diagnostic(remark, ls.units)],
                    edit=types.WorkspaceEdit(changes={opened.uri: [edit]}),
                    is_preferred=True,
                )
            )
    return actions


def laid_out(ls: HearthServer, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
    """Return the edits with which `hearth fmt` formats a text; none if the text cannot be
    parsed.
    """
    opened = ls.files.opened(params.text_document.uri)
    if opened is None or opened.document.genre is Genre.NOTHING:
        return []
    text = opened.document.text
    try:
        after = formatted(text.source)
    except Rejected:  # what is wrong with it is told already
        return []
    if after == text.source:
        return []
    return [types.TextEdit(wire.range_of(text, 0, len(text.source), ls.units), after)]


def _plain(value: Any) -> Any:
    """Convert settings to plain maps and lists, because pygls may pass named tuples."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


FEATURES: Mapping[str, tuple[Any, Any]] = {
    types.INITIALIZE: (initialize, None),
    types.INITIALIZED: (initialized, None),
    types.SHUTDOWN: (shutdown, None),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (configured, None),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (files_changed, None),
    types.TEXT_DOCUMENT_COMPLETION: (
        complete,
        types.CompletionOptions(
            trigger_characters=[" ", ":", "[", "{", ",", '"', "'", "/"], resolve_provider=True
        ),
    ),
    types.COMPLETION_ITEM_RESOLVE: (resolve, None),
    types.TEXT_DOCUMENT_HOVER: (hovered, None),
    types.TEXT_DOCUMENT_DEFINITION: (defined, None),
    types.TEXT_DOCUMENT_REFERENCES: (referred, None),
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (highlighted, None),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (outlined, None),
    types.TEXT_DOCUMENT_PREPARE_RENAME: (rename_begun, None),
    types.TEXT_DOCUMENT_RENAME: (rename, None),
    types.TEXT_DOCUMENT_FORMATTING: (laid_out, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        mended,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    ),
}
