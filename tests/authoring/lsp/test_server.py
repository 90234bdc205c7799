"""The real process, with an editor that is a script."""

import json
import os
import time
from pathlib import Path

import pytest
from benchmarks.editor import Client, Failed, marked

from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

HOT = "heat_template_version: 2018-08-31\n"
BAD = HOT + "resources:\n  web:\n    type: OS::Nova::Serverr\n"
GOOD = HOT + (
    "parameters:\n  größe: {type: number, default: 1}\n"
    "resources:\n  a:\n    type: OS::Heat::Value\n"
    "    properties: {value: ['😀', {get_param: größe}]}\n"
    "  b:\n    type: OS::Heat::Value\n    depends_on: [a]\n"
    "outputs:\n  o: {value: {get_attr: [a, value]}}\n"
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with Client(tmp_path_factory.mktemp("shared")) as client:
        yield client


@pytest.fixture
def editor(shared, tmp_path):
    """The client, and the URI of a file of the test's own."""

    class Editor:
        client = shared
        path = tmp_path / "main.yaml"
        uri = path.as_uri()

    yield Editor
    shared.close(Editor.uri)


def labels(answer):
    return [item["label"] for item in answer["items"]] if answer else []


def place(text, words, plus=0):
    """Line and column, in UTF-16, of some words."""
    before = text[: text.index(words) + plus]
    return before.count("\n"), len(before.rpartition("\n")[2].encode("utf-16-le")) // 2


def test_it_says_what_it_can(tmp_path):
    client = Client(tmp_path)
    answer = client.start()
    able = answer["capabilities"]

    assert answer["serverInfo"]["name"] == "hearth"
    assert able["textDocumentSync"]["change"] == 2
    assert able["textDocumentSync"]["openClose"] is True
    for feature in ("hover", "definition", "references", "documentSymbol", "codeAction"):
        assert able[f"{feature}Provider"]
    assert able["completionProvider"]["resolveProvider"] is True
    assert able["renameProvider"]["prepareProvider"] is True
    assert client.stop() == 0


def test_what_is_wrong_is_told_where_it_is_and_taken_back(editor):
    client, uri = editor.client, editor.uri
    client.open(uri, BAD)
    (problem,) = client.diagnostics(uri, 1)

    assert "OS::Nova::Serverr" in problem["message"]
    assert problem["severity"] == 1
    assert problem["source"] == "hearth"
    assert problem["range"] == {
        "start": {"line": 3, "character": 10},
        "end": {"line": 3, "character": 27},
    }
    extra = {"start": {"line": 3, "character": 26}, "end": {"line": 3, "character": 27}}
    client.change(uri, 2, {"range": extra, "text": ""})
    problems = client.diagnostics(uri, 2)
    assert not [one for one in problems if "could not be found" in one["message"]]
    client.close(uri)
    if problems:
        assert client.diagnostics(uri) == []


def test_many_changes_in_a_row_are_told_about_once(editor):
    client, uri = editor.client, editor.uri
    client.open(uri, GOOD)
    client.diagnostics(uri, 1)
    end = {"line": GOOD.count("\n"), "character": 0}
    for version in range(2, 30):
        client.change(uri, version, {"range": {"start": end, "end": end}, "text": "#"})
    client.diagnostics(uri, 29)
    client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert client.kept("textDocument/publishDiagnostics", uri) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_count_utf_16_and_lines_end_as_the_protocol_says(editor, end):
    client, uri = editor.client, editor.uri
    text = GOOD.replace("\n", end)
    client.open(uri, text)
    line, column = place(text, "größe}]")

    found = client.at("definition", uri, line, column + 2)
    assert found["range"]["start"] == dict(
        zip(("line", "character"), place(text, "größe:"), strict=True)
    )
    shown = client.at("hover", uri, line, column)
    assert shown["range"] == {
        "start": {"line": line, "character": column},
        "end": {"line": line, "character": column + 5},
    }
    assert "number" in shown["contents"]["value"]
    insert = {"line": line, "character": column}
    client.change(
        uri,
        2,
        {"range": {"start": insert, "end": insert}, "text": "😀"},
        {
            "range": {
                "start": {"line": line, "character": column + 2},
                "end": {"line": line, "character": column + 7},
            },
            "text": "x",
        },
    )
    edit = client.at("rename", uri, *place(text, "größe:"), newName="weite")
    assert len(edit["changes"][uri]) == 1  # the use has another name by now
    client.change(uri, 3, {"text": text})
    edit = client.at("rename", uri, *place(text, "größe:"), newName="weite")
    assert len(edit["changes"][uri]) == 2


def test_columns_count_what_the_editor_prefers(tmp_path):
    encodings = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
    with Client(tmp_path, capabilities=encodings) as client:
        uri = (tmp_path / "a.yaml").as_uri()
        client.open(uri, GOOD)
        line = GOOD[: GOOD.index("😀")].count("\n")
        column = len(GOOD.split("\n")[line].partition("größe")[0].encode())

        shown = client.at("hover", uri, line, column)
        assert shown["range"]["end"]["character"] == column + len("größe".encode())


def test_completion_while_the_text_is_broken(editor):
    client, uri = editor.client, editor.uri
    text, line, column = marked(GOOD + "  p: {value: {get_param: |\n  q: {value: [1, 2\n")
    client.open(uri, text)
    answer = client.at("completion", uri, line, column)

    assert "größe" in labels(answer)
    item = next(one for one in answer["items"] if one["label"] == "größe")
    at = {"line": line, "character": column}
    assert item["textEdit"] == {"range": {"start": at, "end": at}, "newText": "größe"}


def test_a_choice_is_described_when_it_is_looked_at(editor):
    client, uri = editor.client, editor.uri
    text, line, column = marked(HOT + "resources:\n  a:\n    type: OS::Nova::|\n")
    client.open(uri, text)
    answer = client.at("completion", uri, line, column)
    item = next(one for one in answer["items"] if one["label"] == "OS::Nova::Server")

    assert "documentation" not in item
    full = client.ask("completionItem/resolve", item)
    assert "virtual machine" in full["documentation"]["value"]


def test_editors_without_snippets_get_none(tmp_path):
    with Client(tmp_path, capabilities={}) as client:
        uri = (tmp_path / "a.yaml").as_uri()
        text, line, column = marked(
            HOT + "resources:\n  a:\n    type: OS::Heat::Value\n    properties:\n      value: |\n"
        )
        client.open(uri, text)
        items = client.at("completion", uri, line, column)["items"]

        assert {item["textEdit"]["newText"] for item in items} >= {"{get_param: }"}
        assert all("insertTextFormat" not in item for item in items)
        symbols = client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        assert ("a", "resources") in [(one["name"], one.get("containerName")) for one in symbols]


def test_references_highlights_symbols_and_renames(editor):
    client, uri = editor.client, editor.uri
    client.open(uri, GOOD)
    line, column = place(GOOD, "[a]", 1)

    everywhere = client.at("references", uri, line, column, context={"includeDeclaration": True})
    assert [one["range"]["start"] for one in everywhere] == [
        dict(zip(("line", "character"), place(GOOD, words, plus), strict=True))
        for words, plus in (("  a:\n", 2), ("[a]", 1), ("[a, value", 1))
    ]
    uses = client.at("references", uri, line, column, context={"includeDeclaration": False})
    assert len(uses) == 2
    assert len(client.at("documentHighlight", uri, line, column)) == 3
    begun = client.at("prepareRename", uri, line, column)
    assert begun["placeholder"] == "a"
    edit = client.at("rename", uri, line, column, newName="first")
    assert {one["newText"] for one in edit["changes"][uri]} == {"first"}
    assert len(edit["changes"][uri]) == 3
    with pytest.raises(Failed, match='a resource "b" already exists') as refused:
        client.at("rename", uri, line, column, newName="b")
    assert refused.value.code == -32602
    with pytest.raises(Failed, match="no name here"):
        client.at("rename", uri, 0, 0, newName="b")
    assert client.at("prepareRename", uri, 0, 0) is None
    (version, _, resources, _) = client.ask(
        "textDocument/documentSymbol", {"textDocument": {"uri": uri}}
    )
    assert [one["name"] for one in resources["children"]] == ["a", "b"]
    assert resources["children"][0]["detail"] == "OS::Heat::Value"
    assert version["children"] == []


def test_a_child_template_is_found_and_followed(editor):
    client, uri, path = editor.client, editor.uri, editor.path
    child = path.with_name("child with space.yaml")
    child.write_text(HOT + "parameters:\n  size: {type: number}\noutputs:\n  o: {value: 1}\n")
    text = HOT + (
        "resources:\n  c:\n    type: child with space.yaml\n    properties: {size: 1}\n"
        "outputs:\n  x: {value: {get_attr: [c, o]}}\n"
    )
    client.open(uri, text)

    found = client.at("definition", uri, *place(text, "child with", 3))
    assert found == {
        "uri": child.as_uri(),
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
    }
    found = client.at("definition", uri, *place(text, "{size", 2))
    assert (found["uri"], found["range"]["start"]) == (child.as_uri(), {"line": 2, "character": 2})
    edit = client.at("rename", uri, *place(text, "c, o]", 3), newName="out")
    assert edit["changes"].keys() == {uri, child.as_uri()}


def test_yaml_that_is_not_ours_is_left_alone(editor):
    client, uri = editor.client, editor.uri
    other = uri.replace("main", "other")
    client.open(uri, "services:\n  web:\n    type: \n    image: {get_param: x}\n")
    client.open(other, BAD)
    client.diagnostics(other)

    assert (
        client.at("completion", uri, 2, 10) is None
        or labels(client.at("completion", uri, 2, 10)) == []
    )
    assert client.at("hover", uri, 2, 5) is None
    assert client.at("definition", uri, 3, 25) is None
    assert client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}) is None
    assert client.kept("textDocument/publishDiagnostics", uri) == []
    client.change(uri, 2, {"text": BAD})
    assert client.diagnostics(uri, 2)
    client.change(uri, 3, {"text": "services: {}\n"})
    assert client.diagnostics(uri, 3) == []
    client.close(other)


def test_a_text_that_is_in_no_file_yet(shared):
    uri = "untitled:Untitled-1"
    shared.open(uri, BAD)

    (problem,) = shared.diagnostics(uri)
    assert "Serverr" in problem["message"]
    assert "OS::Nova::Server" in labels(shared.at("completion", uri, 3, 20))
    assert [
        one["name"]
        for one in shared.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    ] == ["heat_template_version", "resources"]
    shared.close(uri)
    assert shared.diagnostics(uri) == []
    assert shared.at("hover", uri, 3, 20) is None


def test_a_file_that_is_deleted_is_still_open(editor):
    client, uri, path = editor.client, editor.uri, editor.path
    path.write_text(BAD)
    client.open(uri, BAD)
    assert client.diagnostics(uri, 1)
    path.unlink()
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 3}]})
    assert client.diagnostics(uri, 1)
    assert client.at("hover", uri, 1, 3)
    client.close(uri)
    assert client.diagnostics(uri) == []
    assert client.at("hover", uri, 1, 3) is None


def test_a_text_is_put_into_the_style_of_the_formatter(editor):
    client, uri = editor.client, editor.uri
    client.open(uri, HOT + "parameters:\n    p:   { type: string }  # mine\n")
    asked = {"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": True}}
    (edit,) = client.ask("textDocument/formatting", asked)
    assert edit["newText"].endswith("parameters:\n  p: {type: string}  # mine\n")
    assert edit["range"]["start"] == {"line": 0, "character": 0}
    client.change(uri, 2, {"text": HOT + "parameters: [\n"})
    assert client.ask("textDocument/formatting", asked) == []


def test_an_environment_is_checked_too(editor):
    client, uri = editor.client, editor.uri
    client.open(uri, "resource_registry: {}\nparamters: {}\n")

    (problem,) = client.diagnostics(uri)
    assert "did you mean parameters" in problem["message"]
    assert problem["range"]["start"] == {"line": 1, "character": 0}


def test_settings_name_the_environments(tmp_path):
    (tmp_path / "envs").mkdir()
    (tmp_path / "child.yaml").write_text(HOT)
    (tmp_path / "envs" / "site.yaml").write_text("resource_registry: {My::Own: ../child.yaml}\n")
    text, line, column = marked(HOT + "resources:\n  a: {type: My::O|wn}\n")
    uri = (tmp_path / "main.yaml").as_uri()

    with Client(tmp_path, options={"environments": ["envs/site.yaml"]}) as client:
        client.open(uri, text)
        found = client.at("definition", uri, line, column)
        assert found["uri"] == (tmp_path / "child.yaml").as_uri()
        settings = {"settings": {"hearth": {"environments": []}}}
        client.tell("workspace/didChangeConfiguration", settings)
        assert client.at("definition", uri, line, column) is None


def test_it_asks_to_be_told_of_files(tmp_path):
    watching = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
    client = Client(tmp_path, capabilities=watching)
    client.start()
    asked = client.await_(lambda one: one.get("method") == "client/registerCapability")

    (registration,) = asked["params"]["registrations"]
    assert registration["method"] == "workspace/didChangeWatchedFiles"
    client.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": None}).encode())
    assert client.stop() == 0


def request(method, params, number=77):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode()


@pytest.mark.parametrize(
    ("body", "number", "code"),
    [
        (b"{not json", None, -32700),
        (b"\xff\xfe\x00", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b"17", None, -32600),
        (b'{"id": 1, "method": "textDocument/hover"}', None, -32600),
        (request("textDocument/hover", {"wrong": 1}), 77, -32602),
        (request("textDocument/hover", None), 77, -32602),
        (request("textDocument/rename", {"textDocument": {"uri": 1}}), 77, -32602),
        (request("textDocument/nothing", {}), 77, -32601),
        (request("initialize", {"capabilities": {}, "processId": None}), 77, -32600),
    ],
)
def test_what_makes_no_sense_is_answered_with_an_error(shared, body, number, code):
    assert shared.error(body) == (number, code)
    assert shared.at("hover", "file:///nowhere.yaml", 0, 0) is None


def test_notifications_that_make_no_sense_do_no_harm(shared):
    for method, params in [
        (
            "textDocument/didChange",
            {"textDocument": {"uri": "file:///x", "version": 1}, "contentChanges": [{"text": "x"}]},
        ),
        ("textDocument/didChange", {"wrong": True}),
        ("textDocument/didClose", {"textDocument": {"uri": "file:///x"}}),
        ("textDocument/didOpen", {}),
        ("$/unheard", {"a": 1}),
        ("$/cancelRequest", {"id": 4711}),
        ("workspace/didChangeConfiguration", {"settings": ["x"]}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": "nonsense:", "type": 1}]}),
    ]:
        shared.tell(method, params)
    assert shared.at("hover", "file:///nowhere.yaml", 0, 0) is None


@pytest.mark.parametrize(
    "uri", ["", "x", "file:", "file://host/x.yaml", "http://x/y.yaml", "untitled:a/../b%00"]
)
def test_odd_uris_are_names_of_texts_like_others(shared, uri):
    shared.open(uri, GOOD)

    assert "number" in shared.at("hover", uri, *place(GOOD, "größe:"))["contents"]["value"]
    shared.at("completion", uri, 5, 10)
    shared.close(uri)


def test_places_outside_of_the_text_do_no_harm(editor):
    client, uri = editor.client, editor.uri
    client.open(uri, GOOD)

    for line, column in ((10_000, 0), (0, 10_000), (2_000_000_000, 2_000_000_000)):
        for feature in ("hover", "definition", "completion", "documentHighlight"):
            client.at(feature, uri, line, column)


def test_nothing_is_answered_before_the_first_and_after_the_last_request(tmp_path):
    client = Client(tmp_path)
    assert client.error(request("textDocument/hover", {}, 1))[1] in (-32602, -32002)
    asked = {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}}
    assert client.error(request("textDocument/hover", asked, 2)) == (2, -32002)
    client.open("file:///x", GOOD)
    client.start()
    client.ask("shutdown", None)
    assert client.error(request("textDocument/hover", asked, 3)) == (3, -32600)
    client.tell("exit", None)
    assert client.process.wait(20) == 0
    client.stop()


def test_an_end_without_shutdown_is_an_error(tmp_path):
    client = Client(tmp_path)
    client.start()
    client.tell("exit", None)
    assert client.process.wait(20) == 1
    client.stop()

    client = Client(tmp_path)
    client.start()
    client.hang_up()
    assert client.process.wait(20) == 1
    client.stop()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize("kill", [False, True])
def test_no_process_is_left_behind(tmp_path, kill):
    client = Client(tmp_path)
    client.start()
    uri = (tmp_path / "a.yaml").as_uri()
    client.open(uri, GOOD)
    client.diagnostics(uri)
    pid = client.process.pid
    (linter,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    if kill:
        client.process.kill()
    else:
        assert client.stop() == 0
    deadline = time.monotonic() + 20
    while Path(f"/proc/{linter}").exists() and time.monotonic() < deadline:
        if "Z" in Path(f"/proc/{linter}/stat").read_text().rpartition(")")[2].split()[:1]:
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{linter}").exists()
    client.stop()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc of Linux")
def test_a_linter_process_that_dies_is_replaced(tmp_path):
    with Client(tmp_path) as client:
        uri = (tmp_path / "a.yaml").as_uri()
        client.open(uri, BAD)
        assert client.diagnostics(uri)
        pid = client.process.pid
        (linter,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(linter), 9)
        deadline = time.monotonic() + 20
        version = 1
        while not client.kept("textDocument/publishDiagnostics", uri):
            assert time.monotonic() < deadline, "nothing is told any more"
            version += 1
            client.change(uri, version, {"text": BAD + "\n" * version})
            time.sleep(0.5)
            client.at("hover", uri, 0, 0)


def test_over_a_port(tmp_path):
    client = Client(tmp_path, tcp=True)
    client.start()
    uri = (tmp_path / "a.yaml").as_uri()
    client.open(uri, BAD)

    assert client.diagnostics(uri)
    assert client.stop() == 0


def test_nothing_but_the_protocol_is_on_its_output(shared):
    shared.ask("textDocument/documentSymbol", {"textDocument": {"uri": "file:///x"}})

    assert shared.errors == []
