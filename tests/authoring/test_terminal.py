"""What is printed for people: styles, and no control characters of others."""

import json
from pathlib import Path

import click
import pytest

import hearth
from hearth.authoring.terminal import printable, say, say_json, say_value, style
from hearth.model.printable import escaped

SOURCE = Path(hearth.__file__).parent
EVIL = "z\x1b[1A\x1b[2K\x1b[31m\x9b2K\x1b]0;title\x07\r\b\x7f\u202e"
SHOWN = r"z\x1b[1A\x1b[2K\x1b[31m\x9b2K\x1b]0;title\x07\r\x08\x7f\u202e"


@pytest.mark.parametrize("lines", [True, False])
def test_control_characters_are_escaped(*, lines: bool):
    assert escaped(EVIL, lines=lines) == SHOWN
    assert escaped("añ日\t€ \U0001f600", lines=lines) == "añ日\t€ \U0001f600"


def test_line_breaks_stay_only_in_texts():
    assert escaped("a\nb") == r"a\nb"
    assert escaped("a\nb", lines=True) == "a\nb"


def test_escape_sequences_in_text_are_printed_not_executed():
    text = f"{style(EVIL, fg='red', bold=True)} {style('x')} {EVIL}"
    assert printable(text) == f"\x1b[31m\x1b[1m{SHOWN}\x1b[0m x {SHOWN}"
    assert click.unstyle(printable(text)) == f"{SHOWN} x {SHOWN}"


def test_a_printed_text_cannot_be_printed_again_with_its_styles():
    once = printable(style("x", fg="red"))
    assert printable(once) == r"\x1b[31mx\x1b[0m"


def test_each_way_to_print_is_safe(capsys: pytest.CaptureFixture[str]):
    say(EVIL)
    say(EVIL, err=True)
    say_json({EVIL: EVIL})
    out, err = capsys.readouterr()
    first, second = out.splitlines()
    assert (first, err) == (SHOWN, f"{SHOWN}\n")
    assert second.isascii()
    assert second.isprintable()
    assert json.loads(second) == {EVIL: EVIL}


def test_a_value_is_exact_for_programs_and_safe_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    say_value(f"{EVIL}\nb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    say_value(f"{EVIL}\nb")
    assert capsys.readouterr().out == f"{EVIL}\nb\n{SHOWN}\nb\n"


def test_commands_print_for_people_in_one_way_only():
    """Everything else that prints shows no text of others, or escapes it itself."""
    others = {"terminal.py", "authoring_commands.py", "docs_commands.py", "manage_commands.py"}
    places = [*(SOURCE / "cli").rglob("*.py"), *(SOURCE / "authoring").glob("*.py")]
    found = {
        place.relative_to(SOURCE).as_posix()
        for place in places
        if place.name not in others
        and any(word in place.read_text() for word in ("click.echo", "click.style", "click.secho"))
    }
    assert found == {"cli/lint.py"}  # its formats escape
    printing = [p for p in (SOURCE / "cli" / "apply").rglob("*.py") if " print(" in p.read_text()]
    assert printing == []
