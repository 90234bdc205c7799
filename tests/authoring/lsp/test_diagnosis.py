import asyncio
from pathlib import Path

import pytest

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.lsp import diagnosis as module
from hearth.authoring.lsp.diagnosis import Diagnosis
from hearth.authoring.lsp.linter import run_linter
from hearth.authoring.lsp.linter_process import LinterProcess, NoAnswer
from hearth.authoring.lsp.text import Text
from tests.authoring.lsp.desk import HOT, Desk

PARENT = HOT + "resources:\n  c: {type: child.yaml}\n"
CHILD = HOT + "resources:\n  v: {type: OS::Heat::Value}\n"


class Linter:
    """Finds what it is told to find, and keeps what it was asked."""

    def __init__(self):
        self.asked = []
        self.findings = {}
        self.busy = None

    async def ask(self, question):
        self.asked.append(question)
        if self.busy is not None:
            await self.busy.wait()
        found = self.findings.get(Path(question["path"]).name, [])
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self):
        pass

    def names(self):
        return [Path(question["path"]).name for question in self.asked]


class Room:
    """A desk with a linter who answers at once."""

    def __init__(self, folder):
        self.desk = Desk(folder)
        self.folder = folder
        self.shown = []
        self.logged = []
        self.diagnosis = Diagnosis(
            self.desk.files, self.desk.schemas, self.show, self.logged.append
        )
        self.linter = Linter()
        self.diagnosis.linter = self.linter

    def show(self, path, remarks):
        self.shown.append((path.name, [one.finding.message for one in remarks]))

    def open(self, text, name):
        document = self.desk.open(text, name)
        self.diagnosis.changed(document.path, 0)
        return document

    def finding(self, name, message, line=1, column=1, **more):
        file = str(self.folder / name)
        return Finding(file, line, column, "x", Severity.ERROR, message, **more)

    async def quiet(self):
        while self.diagnosis._work is not None and not self.diagnosis._work.done():
            await asyncio.sleep(0.001)


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET_S", 0.0)
    return Room(tmp_path)


def run(work):
    return asyncio.run(work)


def test_what_is_found_in_a_child_is_shown_at_the_child(room):
    (room.folder / "child.yaml").write_text(CHILD)
    room.linter.findings["main.yaml"] = [
        room.finding("child.yaml", "oh"),
        room.finding("main.yaml", "ah"),
    ]

    async def work():
        room.open(PARENT, "main.yaml")
        await room.quiet()

    run(work())
    assert sorted(room.shown) == [("child.yaml", ["oh"]), ("main.yaml", ["ah"])]


def test_a_change_of_a_child_checks_its_parents_too(room):
    async def work():
        room.open(PARENT, "main.yaml")
        room.open(HOT, "other.yaml")
        room.open(CHILD, "child.yaml")
        await room.quiet()
        room.linter.asked.clear()
        room.open(CHILD + "\n", "child.yaml")
        await room.quiet()

    run(work())
    assert sorted(room.linter.names()) == ["child.yaml", "main.yaml"]


def test_the_members_of_a_group_belong_to_the_tree(room):
    group = "resources:\n  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n"
    group += "      resource_def: {type: child.yaml}\n"

    async def work():
        room.open(HOT + group, "main.yaml")
        await room.quiet()
        room.linter.asked.clear()
        room.diagnosis.changed(room.folder / "child.yaml", 0)
        await room.quiet()

    run(work())
    assert room.linter.names() == ["main.yaml"]


def test_a_file_that_is_missing_is_waited_for(room):
    async def work():
        room.open(HOT + "outputs:\n  o: {value: {get_file: notes.txt}}\n", "main.yaml")
        room.open(PARENT, "parent.yaml")
        await room.quiet()
        room.linter.asked.clear()
        room.diagnosis.changed(room.folder / "notes.txt", 0)
        await room.quiet()
        room.diagnosis.changed(room.folder / "child.yaml", 0)
        room.diagnosis.changed(room.folder / "unheard.yaml", 0)
        await room.quiet()

    run(work())
    assert room.linter.names() == ["main.yaml", "parent.yaml"]


def test_findings_of_two_about_one_file_are_shown_once_and_together(room):
    same = room.finding("child.yaml", "same")
    room.linter.findings["main.yaml"] = [same, room.finding("child.yaml", "of the parent", 2)]
    room.linter.findings["child.yaml"] = [same]

    async def work():
        room.open(CHILD, "child.yaml")
        await room.quiet()
        parent = room.open(PARENT, "main.yaml")
        await room.quiet()
        assert room.shown[-1] == ("main.yaml", []) or ("main.yaml", []) in room.shown
        assert ("child.yaml", ["same", "of the parent"]) in room.shown
        room.shown.clear()
        room.diagnosis.closed(parent.path)
        room.desk.files.close(parent.path.as_uri())
        await room.quiet()

    run(work())
    assert room.shown == [("child.yaml", ["same"])]


def test_an_answer_about_an_older_text_is_not_shown(room):
    room.linter.findings["main.yaml"] = [room.finding("main.yaml", "old")]

    async def work():
        room.linter.busy = asyncio.Event()
        room.open(PARENT, "main.yaml")
        while not room.linter.asked:
            await asyncio.sleep(0.001)
        room.open(PARENT + "\n", "main.yaml")
        room.linter.findings["main.yaml"] = [room.finding("main.yaml", "new")]
        room.linter.busy.set()
        await room.quiet()

    run(work())
    assert len(room.linter.asked) == 2
    assert room.shown == [("main.yaml", ["new"])]


def test_a_linter_without_an_answer_is_logged_and_the_other_files_are_checked(room):
    room.linter.findings["a.yaml"] = NoAnswer("it has ended")
    room.linter.findings["b.yaml"] = RuntimeError("a mistake of ours")

    async def work():
        for name in ("a.yaml", "b.yaml", "c.yaml"):
            room.open(HOT, name)
        await room.quiet()

    run(work())
    assert room.shown == [("c.yaml", [])]
    assert "it has ended" in room.logged[0]
    assert "a mistake of ours" in room.logged[1]


@pytest.mark.parametrize(
    ("environment", "goes_with"),
    [
        ("resource_registry: {A: child.yaml}\n", ["main.yaml", "other.yaml"]),
        ("parameter_defaults: {}\nparameters: {size: 1}\n", ["main.yaml"]),
        ("parameter_defaults: {}\nparameters: {size: 1, x: 1}\n", []),
    ],
)
def test_a_template_is_checked_with_the_environments_that_fit(room, environment, goes_with):
    (room.folder / "env.yaml").write_text(environment)

    async def work():
        room.open(HOT + "parameters:\n  size: {type: number}\n", "main.yaml")
        room.open(HOT, "other.yaml")
        await room.quiet()

    run(work())
    env = str(room.folder / "env.yaml")
    found = [Path(one["path"]).name for one in room.linter.asked if env in one["environments"]]
    assert found == goes_with


def test_a_change_of_an_environment_checks_the_templates(room):
    async def work():
        room.open(HOT, "main.yaml")
        await room.quiet()
        room.linter.asked.clear()
        room.open("resource_registry: {}\n", "env.yaml")
        await room.quiet()

    run(work())
    assert sorted(room.linter.names()) == ["env.yaml", "main.yaml"]


def test_the_configured_environments_are_the_only_ones(room):
    (room.folder / "env.yaml").write_text("resource_registry: {}\n")
    (room.folder / "site.env").write_text("parameters: {x: 1}\nparameter_defaults: {}\n")
    room.desk.files.configured = (room.folder / "site.env", room.folder / "missing.env")

    async def work():
        room.open(HOT, "main.yaml")
        await room.quiet()

    run(work())
    assert room.linter.asked[0]["environments"] == [str(room.folder / "site.env")]


@pytest.mark.parametrize(
    ("line", "column", "length", "words"),
    [
        (2, 1, 1, "resources"),
        (3, 7, 1, "type"),
        (3, 13, 1, "OS::Heat::Value"),
        (3, 13, 2, "OS"),
        (3, 12, 1, " "),
        (3, 6, 1, "{"),
        (4, 21, 1, "what for"),
        (99, 1, 1, ""),
        (1, 999, 5, "\n"),
        (0, 0, 1, "heat_template_version"),
    ],
)
def test_a_remark_is_about_the_word_at_its_place(room, line, column, length, words):
    room.linter.findings["main.yaml"] = [
        room.finding("main.yaml", "x", line, column, length=length)
    ]

    async def work():
        text = "resources:\n  a: {type: OS::Heat::Value}\n  b: {description: 'what for'}\n"
        room.open(HOT + text, "main.yaml")
        await room.quiet()

    run(work())
    (remark,) = room.diagnosis.remarks[room.folder / "main.yaml"]
    assert remark.text.startswith(words) if words == "\n" else remark.text == words


def test_the_real_linter_reports_what_lint_reports(tmp_path):
    path = tmp_path / "main.yaml"
    question = {"path": str(path), "environment": False, "environments": [], "texts": {}}

    assert "main.yaml" in run_linter(question)["failed"]
    question["texts"] = {str(path): HOT + "resources:\n  a: {type: OS::Nope}\n"}
    (finding,) = run_linter(question)["findings"]
    assert (finding["file"], finding["line"]) == (str(path), 3)
    question["texts"] = {str(path): HOT}
    assert run_linter(question) == {"findings": [], "failed": None}


def test_a_linter_process_that_has_ended_is_reported_and_replaced(tmp_path):
    path = str(tmp_path / "main.yaml")
    question = {"path": path, "environment": False, "environments": [], "texts": {path: HOT}}

    async def work():
        process = LinterProcess()
        assert await process.ask(question) == []
        process._process.kill()
        with pytest.raises(NoAnswer, match="linter process"):
            await process.ask(question)
        assert await process.ask(question) == []
        await process.close()

    run(work())


def test_a_text_knows_where_its_remarks_are_after_odd_line_ends():
    text = Text("a: 1\u2028b: 2\nc: 3\n")

    assert text.source[text.offset_of_mark(3, 1)] == "c"
