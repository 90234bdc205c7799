"""Findings as text and as JSON, SARIF and annotations; the command and its exit status."""

import json
import re
import subprocess
import sys

import pytest

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.report import FORMATS

TEXT = "heat_template_version: 2021-04-16\nresources:\n  r: {typ: OS::Heat::None}\n"
FINDINGS = [
    Finding("t.yaml", 3, 7, "unknown-key", Severity.ERROR, 'no "typ", 100%', "type", 3),
    Finding("t.yaml", 9, 1, "cycle", Severity.WARNING, "two\nlines", None, 1),
]


def plain(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_an_excerpt_has_carets_under_the_word():
    shown = plain(FORMATS["text"](FINDINGS, {"t.yaml": TEXT})).split("\n")
    assert shown[0] == 't.yaml:3:7: error[unknown-key]: no "typ", 100%'
    assert shown[1] == "  3 |   r: {typ: OS::Heat::None}"
    assert shown[2] == "    |       ^^^"
    assert shown[-2] == "1 error, 1 warning"


def test_a_long_line_is_cut_around_the_place():
    one = Finding("t.yaml", 1, 4000, "cycle", Severity.ERROR, "here", None, 4)
    shown = plain(FORMATS["text"]([one], {"t.yaml": "x" * 3999 + "HERE" + "x" * 3999})).split("\n")
    column = shown[2].index("^")
    assert shown[1][column : column + 4] == "HERE"
    assert len(shown[1]) < 200


def test_json_has_what_programs_ask_for():
    assert json.loads(FORMATS["json"](FINDINGS, {}))[0] == {
        "file": "t.yaml",
        "line": 3,
        "column": 7,
        "code": "unknown-key",
        "severity": "error",
        "message": 'no "typ", 100%',
        "suggestion": "type",
    }


def test_sarif_names_rules_and_regions():
    (run,) = json.loads(FORMATS["sarif"](FINDINGS, {}))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["cycle", "unknown-key"]
    first = run["results"][0]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("unknown-key", 1, "error")
    region = first["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3, "startColumn": 7, "endColumn": 10}


def test_annotations_are_escaped():
    assert FORMATS["github"](FINDINGS, {}).split("\n") == [
        '::error file=t.yaml,line=3,col=7,title=unknown-key::no "typ", 100%25',
        "::warning file=t.yaml,line=9,col=1,title=cycle::two%0Alines",
        "",
    ]


def run(*words, stdin=""):
    return subprocess.run(
        [sys.executable, "-m", "hearth.cli.main", "lint", *words],
        capture_output=True,
        text=True,
        input=stdin,
        check=False,
    )


@pytest.mark.slow
def test_the_exit_status_is_for_pipelines(tmp_path):
    good, warned, bad = (tmp_path / f"{name}.yaml" for name in ("good", "warned", "bad"))
    head = "heat_template_version: 2021-04-16\n"
    good.write_text(head)
    warned.write_text(head + "parameters: {p: {type: string}}\n")
    bad.write_text(head + "resorces: {}\n")
    assert run(str(good)).returncode == 0
    assert run(str(warned)).returncode == 0
    assert run("--strict", str(warned)).returncode == 1
    assert run(str(good), str(bad)).returncode == 1
    unread = run(str(tmp_path / "none.yaml"), str(bad))
    assert unread.returncode == 2
    assert "none.yaml: No such file" in unread.stderr
    assert "did you mean resources" in unread.stdout
    told = json.loads(run("--format", "json", "-", stdin=bad.read_text()).stdout)
    assert [(one["file"], one["code"]) for one in told] == [("-", "unknown-section")]


@pytest.mark.slow
def test_a_rule_explains_itself():
    told = run("--explain", "cycle")
    assert told.returncode == 0
    assert "hearth: ignore[cycle]" in told.stdout
    assert "did you mean cycle" in run("--explain", "cycel").stderr
