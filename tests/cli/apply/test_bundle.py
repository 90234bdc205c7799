"""Files on the disk as a request: their texts as they are, their names relative to the template."""

from pathlib import Path

import pytest

from hearth.cli.apply.api import UserError
from hearth.cli.apply.bundle import bundle

ROOT = """\
heat_template_version: 2021-04-16
# a comment that stays
resources:
  part: {type: "./parts/part.yaml"}   # quoted
  text: {type: OS::Heat::Value, properties: {value: {get_file: ../shared/a.txt}}}
"""
PART = """\
heat_template_version: 2021-04-16
resources:
  text: {type: OS::Heat::Value, properties: {value: {get_file: hello.txt}}}
"""
ENVIRONMENT = "resource_registry:\n  My::Part: parts/part.yaml\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("app/web.yaml", ROOT),
        ("app/parts/part.yaml", PART),
        ("app/parts/hello.txt", "hello"),
        ("app/env.yaml", ENVIRONMENT),
        ("shared/a.txt", "A"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_names_of_files_are_relative_to_the_template_and_places_stay(folder: Path):
    body = bundle(Path("app/web.yaml"), [Path("app/env.yaml")], {"size": "2"})
    assert body["template"] == ROOT.replace('"./parts/part.yaml"', '"parts/part.yaml"')
    assert body["environment_files"] == ["env.yaml"]
    assert body["parameters"] == {"size": "2"}
    assert body["files"] == {
        "parts/part.yaml": PART.replace("hello.txt", '"parts/hello.txt"'),
        "parts/hello.txt": "hello",
        "../shared/a.txt": "A",
        "env.yaml": ENVIRONMENT,
    }


def test_the_request_is_the_same_from_every_folder(folder: Path, monkeypatch: pytest.MonkeyPatch):
    here = bundle(Path("app/web.yaml"), [], {})
    monkeypatch.chdir(folder / "app")
    assert bundle(Path("web.yaml"), [], {}) == here
    monkeypatch.chdir("/")
    assert bundle(folder / "app" / "web.yaml", [], {}) == here


def test_a_template_that_is_no_yaml_is_refused_with_its_place(folder: Path):
    (folder / "app/web.yaml").write_text("a: [1,\n")
    with pytest.raises(UserError, match=r"app/web\.yaml"):
        bundle(Path("app/web.yaml"), [], {})


def test_a_missing_template_is_told_by_its_name(folder: Path):
    with pytest.raises(FileNotFoundError) as caught:
        bundle(Path("app/none.yaml"), [], {})
    assert str(caught.value.filename) == "app/none.yaml"


HEAD = "heat_template_version: 2021-04-16\nresources:\n"
TEXTS = [
    HEAD + "  a: {type: OS::Heat::Value, properties: {value: 1}}\n",
    "\ufeff" + HEAD + "  a: {type: OS::Heat::Value}\n",
    HEAD + "  a: {type: OS::Heat::Value, properties: {value: {get_file: parts/hello.txt}}}\n",
    HEAD + '  a: {type: T, properties: {value: {"get\\x5ffile": parts/hello.txt}}}\n',
    HEAD + '  a: {type: "parts/part\\x2eyaml"}\n',
    HEAD + "  a: {type: parts/part.yaml}\n",
    HEAD + "  a: {type: T, properties: {resources: [parts/part.yaml]}}\n",
    "AWSTemplateFormatVersion: 2010-09-09\nResources:\n  a: {Type: parts/part.yaml}\n",
    "AWSTemplateFormatVersion: 2010-09-09\nResources:\n  a: {Type: T}\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_names_no_file_is_sent_as_if_it_had_been_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str
):
    template = Path("app/web.yaml")
    template.write_text(text, encoding="utf-8")
    quick = bundle(template, [], {})
    monkeypatch.setattr("hearth.cli.apply.bundle._alone", lambda path: None)
    assert quick == bundle(template, [], {})


def test_what_is_no_yaml_is_refused_at_its_place(folder: Path):
    Path("app/web.yaml").write_text("resources:\n  a: [get_file\nb: 1\n")
    with pytest.raises(UserError) as refused:
        bundle(Path("app/web.yaml"), [], {})
    assert refused.value.lines[0].startswith("app/web.yaml:3:")
