"""What commands print for people: text with styles, and without control characters of others.

Every line goes through `say`, so a name in a template or an output of a stack cannot move the
cursor, hide text or reach the clipboard, wherever it is printed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from hearth.model.printable import escaped

_ESCAPE = "\x1b"
_STYLE = f"{_ESCAPE}{os.urandom(8).hex()}"
"""Stands for the escape character of a style until `say` prints the text. Nobody can know it in
advance, so no text of others contains a style.
"""


def style(text: str, **looks: Any) -> str:
    """Return text with a style for `say`; `looks` are the arguments of click.style."""
    begin = click.style("", reset=False, **looks).replace(_ESCAPE, _STYLE)
    return f"{begin}{text}{_STYLE}[0m" if begin else text


def printable(text: str, *, lines: bool = False) -> str:
    """Return text as it is printed: with its styles, and all other control characters escaped.

    If `lines` is true, line breaks stay; otherwise the result is one line.
    """
    return _ESCAPE.join(escaped(part, lines=lines) for part in text.split(_STYLE))


def say(text: str = "", *, err: bool = False, lines: bool = False) -> None:
    """Print text for people and a line break; `err`: to standard error.

    If `lines` is true, line breaks in the text are printed as such.
    """
    click.echo(printable(text, lines=lines), err=err)


def say_json(body: Any) -> None:
    """Print a value for programs, as one line of JSON in ASCII without control characters."""
    click.echo(json.dumps(body, default=str).replace("\x7f", "\\u007f"))


def say_value(text: str) -> None:
    """Print a value and a line break: as it is for programs, as text for people in a terminal."""
    click.echo(printable(text, lines=True) if sys.stdout.isatty() else text, color=True)
