from types import SimpleNamespace

from lsprotocol import types
from msgspec.structs import replace

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.lsp import wire
from hearth.authoring.lsp.diagnosis import Remark
from hearth.authoring.lsp.server import HearthServer, mended
from hearth.authoring.lsp.text import Units
from tests.authoring.lsp.desk import HOT

TEXT = HOT + "resources:\n  😀: {type: OS::Nova::Serverr}\n"
URI = "file:///some/main.yaml"


def fixes(server, start, end):
    at = types.Range(types.Position(*start), types.Position(*end))
    params = types.CodeActionParams(
        text_document=types.TextDocumentIdentifier(URI),
        range=at,
        context=types.CodeActionContext(diagnostics=[]),
    )
    return mended(server, params)


def server_with(suggestion):
    server = HearthServer()
    document = server.files.open(URI, TEXT, 1)
    start = TEXT.index("OS::")
    finding = Finding("x", 3, 13, "type", Severity.ERROR, "no such type", suggestion, 17)
    server.diagnosis.remarks[document.path] = [
        Remark(finding, document, start, start + finding.length)
    ]
    return server


def test_a_suggestion_becomes_an_edit_of_what_it_is_about():
    (action,) = fixes(server_with("OS::Nova::Server"), (2, 15), (2, 15))

    assert action.title == "Replace with OS::Nova::Server"
    assert action.kind == "quickfix"
    assert [one.message for one in action.diagnostics] == ["no such type"]
    ((edit,),) = action.edit.changes.values()
    assert action.edit.changes.keys() == {URI}
    assert edit.new_text == "OS::Nova::Server"
    assert (edit.range.start, edit.range.end) == (types.Position(2, 13), types.Position(2, 30))


def test_there_is_nothing_to_do_without_a_suggestion_elsewhere_or_after_a_change():
    assert fixes(server_with(None), (2, 15), (2, 15)) == []
    server = server_with("OS::Nova::Server")
    assert fixes(server, (0, 0), (1, 3)) == []
    known = server.files.opened(URI)
    server.files.change(URI, known.document.text.changed(0, 0, "# new\n"), 2)
    assert fixes(server, (0, 0), (5, 0)) == []
    server.files.close(URI)
    assert fixes(server, (2, 15), (2, 15)) == []


def test_a_warning_is_shown_as_one():
    server = server_with(None)
    (remark,) = next(iter(server.diagnosis.remarks.values()))
    shown = wire.diagnostic(remark, Units.UTF16)
    warning = replace(remark, finding=replace(remark.finding, severity=Severity.WARNING))

    assert (shown.severity, shown.code, shown.message) == (1, "type", "no such type")
    assert wire.diagnostic(warning, Units.UTF16).severity == 2


def test_settings_may_come_as_objects_of_the_library():
    server = HearthServer()
    server.configure({"hearth": {"environments": ["a.yaml", 1]}})
    assert [path.name for path in server.files.configured] == ["a.yaml"]
    for settings in (None, [], {"hearth": None}, {"environments": "a"}, SimpleNamespace()):
        server.configure(settings)
        assert [path.name for path in server.files.configured] == ["a.yaml"]
