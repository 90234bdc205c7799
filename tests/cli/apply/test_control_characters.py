"""Names and values with control characters, printed in a terminal by each command."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.dev import HEARTH

pytestmark = pytest.mark.slow

EVIL = r"z\e[1A\e[2K\e]0;owned\a\x9b2J\nPlan: 0 to delete."
TEMPLATE = f"""heat_template_version: 2021-04-16
parameters: {{text: {{type: string, default: a}}}}
resources:
  "{EVIL}":
    type: OS::Heat::TestResource
    properties: {{value: {{list_join: ["", ["{EVIL}", {{get_param: text}}]]}}}}
outputs:
  "{EVIL}": {{value: "{EVIL}"}}
  plain: {{value: "{EVIL}"}}
"""
FAILING = TEMPLATE.replace("OS::Heat::TestResource", f'"OS::Heat::{EVIL}"')
OURS = re.compile(rb"\x1b\[(?:[0-9;]*m|\?25[lh]|2K|1A)|\r")
"""Styles, and how the live view of an operation is drawn. That view has its own test."""


def printed(folder: Path, *arguments: str) -> bytes:
    """Return what a command prints in a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "OS_CLOUD": "", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [*HEARTH, *arguments], cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        text = b""
        try:
            while more := os.read(ours, 65536):
                text += more
        except OSError:  # the command has ended
            pass
        process.wait(60)
    os.close(ours)
    return text


def demand_harmless(said: bytes, *, live: bool = False) -> None:
    text = OURS.sub(b"", said) if live else re.sub(rb"\x1b\[[0-9;]*m|\r(?=\n)", b"", said)
    assert text.replace(b"\n", b"").decode().isprintable(), said
    assert b"\nPlan: 0 to delete." not in text


def test_a_hostile_template_moves_no_cursor_and_forges_no_line(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    said = printed(tmp_path, "plan", "t.yaml")
    assert rb"z\x1b[1A\x1b[2K" in said
    demand_harmless(said)
    (tmp_path / "policy.yaml").write_text("protect: ['*']\n")
    demand_harmless(printed(tmp_path, "apply", "t.yaml", "--yes"), live=True)
    for arguments in (
        ("show", "t"),
        ("events", "t"),
        ("graph", "t"),
        ("graph", "t", "--format", "dot"),
        ("revisions", "t"),
        ("plan", "t.yaml", "--parameter", "text=b"),
        ("plan", "--destroy", "t", "--policy", "policy.yaml"),
        ("output", "t"),
        ("output", "t", "--json"),
    ):
        said = printed(tmp_path, *arguments)
        assert said, arguments
        demand_harmless(said)
    said = printed(tmp_path, "output", "t", "plain")
    assert rb"\x1b]0;owned\x07\x9b2J" in said
    demand_harmless(said.replace(b"\r\nPlan: 0", b""))  # a line of the value


def test_mistakes_are_shown_without_the_characters_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(FAILING)
    for arguments in (
        ("plan", "t.yaml"),
        ("lint", "t.yaml"),
        ("lint", "--format", "github", "t.yaml"),
    ):
        said = printed(tmp_path, *arguments)
        assert rb"\x1b[1A" in said, arguments
        demand_harmless(said)
    (tmp_path / "t.yaml").write_text("heat_template_version: 2021-04-16\nx: \x1b]0;owned\x07\n")
    for arguments in (("lint", "t.yaml"), ("fmt", "t.yaml"), ("plan", "t.yaml")):
        demand_harmless(printed(tmp_path, *arguments))
