"""Conversion of results to the types of the Language Server Protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types

from hearth.authoring.finding import Severity
from hearth.authoring.lsp.choice import Choice, Sort
from hearth.authoring.lsp.definition import Target
from hearth.authoring.lsp.diagnosis import Remark
from hearth.authoring.lsp.files import Files
from hearth.authoring.lsp.outline import OutlineEntry
from hearth.authoring.lsp.symbol import Occurrence
from hearth.authoring.lsp.text import Text, Units

KINDS: Mapping[Sort, types.CompletionItemKind] = {
    Sort.TYPE: types.CompletionItemKind.Class,
    Sort.PROPERTY: types.CompletionItemKind.Property,
    Sort.ATTRIBUTE: types.CompletionItemKind.Field,
    Sort.PARAMETER: types.CompletionItemKind.Variable,
    Sort.RESOURCE: types.CompletionItemKind.Module,
    Sort.CONDITION: types.CompletionItemKind.Event,
    Sort.FUNCTION: types.CompletionItemKind.Function,
    Sort.KEYWORD: types.CompletionItemKind.Keyword,
    Sort.VALUE: types.CompletionItemKind.EnumMember,
    Sort.FILE: types.CompletionItemKind.File,
    Sort.FOLDER: types.CompletionItemKind.Folder,
}
SEVERITIES: Mapping[Severity, types.DiagnosticSeverity] = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}
SYMBOLS: Mapping[str, types.SymbolKind] = {
    "": types.SymbolKind.Namespace,
    "parameters": types.SymbolKind.Variable,
    "resources": types.SymbolKind.Object,
    "outputs": types.SymbolKind.Field,
    "conditions": types.SymbolKind.Boolean,
}
SOURCE = "hearth"


class Ready:
    """A result that already consists of plain maps, lists and scalars.

    It is used for long lists, because pygls converts objects slowly.
    """

    def __init__(self, json: Any) -> None:
        self.json = json


def position(text: Text, offset: int, units: Units) -> types.Position:
    """Return the position of an offset in the protocol's form."""
    return types.Position(*text.position(offset, units))


def range_of(text: Text, start: int, end: int, units: Units) -> types.Range:
    """Return the range between two offsets in the protocol's form."""
    return types.Range(position(text, start, units), position(text, end, units))


def completions(choices: Sequence[Choice], text: Text, units: Units) -> Ready:
    """Return a completion list without documentation; `data` of an item is its index."""
    ranges: dict[tuple[int, int], Any] = {}
    items = []
    for number, choice in enumerate(choices):
        word, at = choice.word, (choice.start, choice.end)
        if at not in ranges:
            ranges[at] = _range(text, *at, units)
        item: dict[str, Any] = {
            "label": word.name,
            "kind": KINDS[word.sort].value,
            "sortText": f"{word.rank}{word.name}",
            "textEdit": {"range": ranges[at], "newText": choice.insert},
            "data": number,
        }
        if word.detail:
            item["detail"] = word.detail
        if word.deprecated:
            item["tags"] = [types.CompletionItemTag.Deprecated.value]
        if choice.snippet:
            item["insertTextFormat"] = types.InsertTextFormat.Snippet.value
        items.append(item)
    return Ready({"isIncomplete": False, "items": items})


def markdown(text: str) -> types.MarkupContent:
    """Return a Markdown text in the protocol's form."""
    return types.MarkupContent(types.MarkupKind.Markdown, text)


def diagnostic(remark: Remark, units: Units) -> types.Diagnostic:
    """Return a finding in the protocol's form."""
    finding = remark.finding
    return types.Diagnostic(
        range=range_of(remark.document.text, remark.start, remark.end, units),
        message=finding.message,
        severity=SEVERITIES.get(finding.severity, types.DiagnosticSeverity.Information),
        code=finding.code,
        source=SOURCE,
    )


def location(target: Target, files: Files, units: Units) -> types.Location:
    """Return the place of a definition in the protocol's form."""
    uri = files.uri(target.path)
    if target.document is None:
        top = types.Position(0, 0)
        return types.Location(uri, types.Range(top, top))
    return types.Location(uri, range_of(target.document.text, target.start, target.end, units))


def locations(
    occurrences: Iterable[Occurrence], files: Files, units: Units
) -> Sequence[types.Location]:
    """Return the places of occurrences in the protocol's form."""
    return [
        types.Location(
            files.uri(occurrence.document.path),
            range_of(occurrence.document.text, occurrence.start, occurrence.end, units),
        )
        for occurrence in occurrences
    ]


def edits(
    occurrences: Iterable[Occurrence], new: str, files: Files, units: Units
) -> types.WorkspaceEdit:
    """Return an edit that replaces all occurrences by a new name."""
    by_path: dict[Path, list[types.TextEdit]] = {}
    for occurrence in occurrences:
        edit = types.TextEdit(
            range_of(occurrence.document.text, occurrence.start, occurrence.end, units), new
        )
        by_path.setdefault(occurrence.document.path, []).append(edit)
    return types.WorkspaceEdit(changes={files.uri(path): all_ for path, all_ in by_path.items()})


def symbols(lines: Iterable[OutlineEntry], text: Text, units: Units) -> Ready:
    """Return the outline of a document as a tree."""
    return Ready([_symbol(line, text, units) for line in lines])


def flat_symbols(lines: Iterable[OutlineEntry], uri: str, text: Text, units: Units) -> Ready:
    """Return the outline of a document as a list, for editors that do not support trees."""
    flat = []
    for line in lines:
        flat.append(_flat_symbol(line, uri, text, units, None))
        flat += [_flat_symbol(entry, uri, text, units, line.name) for entry in line.lines]
    return Ready(flat)


def _symbol(line: OutlineEntry, text: Text, units: Units) -> dict[str, Any]:
    return {
        "name": line.name or "?",
        "detail": line.detail,
        "kind": SYMBOLS.get(line.section, types.SymbolKind.Key).value,
        "range": _range(text, line.start, line.end, units),
        "selectionRange": _range(text, line.name_start, line.name_end, units),
        "children": [_symbol(entry, text, units) for entry in line.lines],
    }


def _flat_symbol(
    line: OutlineEntry, uri: str, text: Text, units: Units, container: str | None
) -> dict[str, Any]:
    return {
        "name": line.name or "?",
        "kind": SYMBOLS.get(line.section, types.SymbolKind.Key).value,
        "location": {"uri": uri, "range": _range(text, line.start, line.end, units)},
        **({"containerName": container} if container else {}),
    }


def _range(text: Text, start: int, end: int, units: Units) -> dict[str, Any]:
    (line, column), (last, last_column) = text.position(start, units), text.position(end, units)
    return {
        "start": {"line": line, "character": column},
        "end": {"line": last, "character": last_column},
    }
