"""The recipe of the embedded cloud's image: its rules, what it starts, and its lock file."""

import json
import re
import tomllib
from importlib.metadata import distribution

import pytest
from deploy.packages.locked import locked, normalized
from packaging.requirements import Requirement

from hearth_devcloud.__main__ import main
from tests.deploy.known import ROOT
from tests.deploy.test_container import instructions

FOLDER = ROOT / "packages" / "hearth-devcloud"
TEXT = (FOLDER / "Containerfile").read_text()
TOLD = instructions(TEXT)
LOCK = FOLDER / "requirements.lock"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())
LAST = dict(TOLD[max(number for number, (word, _) in enumerate(TOLD) if word == "FROM") :])


def test_it_has_two_stages_of_one_base_that_is_named_by_its_digest() -> None:
    assert [rest for word, rest in TOLD if word == "FROM"] == ["${BASE} AS build", "${BASE}"]
    assert [rest for word, rest in TOLD if word == "ARG"] == ["BASE"] * 3  # there is no default
    assert next(rest for word, rest in TOLD if word == "RUN").startswith('case "${BASE}" in *@sha')
    assert "latest" not in TEXT


def test_the_libraries_are_those_of_the_lock_checked_by_hash() -> None:
    installs = [rest for word, rest in TOLD if word == "RUN" and "pip install" in rest]
    assert ["--require-hashes" in one for one in installs] == [True, False]
    assert "--no-deps" in installs[1]


def test_the_lock_has_what_the_cloud_needs_in_the_versions_of_hearth() -> None:
    waiting = [
        Requirement(text)
        for text in (*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"])
    ]
    needed: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = normalized(requirement.name)
        if name not in needed and (
            requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        ):
            needed.add(name)
            waiting += map(Requirement, distribution(name).requires or [])
    found = locked(LOCK)
    assert {one.name for one in found} == needed
    hearth = locked(ROOT / "requirements" / "run-time.lock")
    assert [one.name for one in found if one not in hearth] == []


def test_a_user_without_rights_runs_it() -> None:
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", LAST["USER"])
    assert LAST["STOPSIGNAL"] == "SIGTERM"
    assert not re.search("RUN|ADD", " ".join(LAST))  # it only copies


def test_only_named_files_reach_the_builder() -> None:
    ignore = (FOLDER / "Containerfile.dockerignore").read_text()
    lines = [line for line in ignore.splitlines() if line and line[0] != "#"]
    assert lines[0] == "*"
    sources = [
        one
        for word, rest in TOLD
        if word == "COPY" and not rest.startswith("--from")
        for one in rest.split()[:-1]
    ]
    assert [one for one in sources if f"!{one}" not in lines] == []
    assert [one for one in sources if not (FOLDER / one).exists()] == []
    assert (FOLDER / "Containerfile.containerignore").read_text() == ignore


def test_it_starts_a_command_that_exists(capsys: pytest.CaptureFixture[str]) -> None:
    command, *options = json.loads(LAST["ENTRYPOINT"])
    assert command in PROJECT["project"]["scripts"]
    assert main([*options, "calls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"]
    port = options[options.index("--port") + 1]
    assert LAST["EXPOSE"] == port
    check = LAST["HEALTHCHECK"].partition("CMD ")[2]
    assert f"http://127.0.0.1:{port}/identity/v3" in check
    compile(json.loads(check)[2], "healthcheck", "exec")


def test_the_example_builds_this_version() -> None:
    assert f"-t hearth-devcloud:{PROJECT['project']['version']} ." in TEXT
    assert f"hearth-devcloud:{PROJECT['project']['version']}" in (FOLDER / "README.md").read_text()
