"""The page about deploying: its commands, files and versions exist."""

import contextlib
import re
import shlex

import click
import pytest
import yaml

from hearth import __version__
from tests.deploy.known import ROOT, parsed

PAGE = (ROOT / "docs" / "deploying.md").read_text()
CODE = re.compile(r"(?ms)^```sh\n(.*?)^```$|^ {4,8}(\S[^\n]*)$|`([^`\n]+)`")
LINES = [
    line
    for found in CODE.findall(PAGE.replace("\\\n", " "))
    for line in "".join(found).splitlines()
]


def arguments() -> list[list[str]]:
    """The arguments of `hearth` in the commands of the page, also of images."""
    found = []
    for line in LINES:
        words = shlex.split(line)
        if words[:1] == ["hearth"] and len(words) > 1:
            found.append(words[1:])
        elif words[:2] == ["docker", "run"]:
            image = words.index(f"hearth:{__version__}")
            found.append(words[image + 1 :])
    return found


@pytest.mark.parametrize("words", arguments(), ids=" ".join)
def test_every_command_exists_with_its_options(words: list[str]):
    if "--help" not in words:
        with contextlib.suppress(click.MissingParameter):  # of a command that prose names
            parsed(words)


def test_the_page_has_the_commands_of_each_way():
    starts = {tuple(words[:2]) for words in arguments()}
    assert {("manage", "bootstrap"), ("serve", "--role")} <= starts


def test_every_file_and_every_target_of_make_exists():
    files = re.findall(r"(?:deploy|requirements)/[\w/.-]*\w", PAGE)
    assert len(set(files)) >= 4
    assert [one for one in files if not (ROOT / one).exists()] == []
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"`make (\w+)`", PAGE)
    assert [one for one in targets if f"\n{one}:" not in makefile] == []


def test_every_version_is_this_one():
    found = re.findall(r"hearth[:_-](\d+\.\d+\.\d+)|newTag: (\S+)", PAGE)
    assert {"".join(one) for one in found} == {__version__}


def test_units_and_ports_are_those_of_the_recipes():
    rows = re.findall(r"(?m)^\| `(hearth-\w+)` \| [^|]+ \| 127\.0\.0\.1:(\d+) \|$", PAGE)
    units = {path.stem: path.read_text() for path in (ROOT / "deploy/systemd").iterdir()}
    assert {name for name, _ in rows} == set(units)
    for name, port in rows:
        assert f"OS_HEARTH__MONITORING_PORT={port}\n" in units[name]


def test_the_overlay_names_the_base():
    (text,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE)
    told = yaml.safe_load(text)
    assert told["images"][0]["name"] == "hearth"
    assert told["resources"][0].endswith("deploy/kubernetes/base")
