"""Text files that the user names, and YAML in them."""

from pathlib import Path

from hearth.cli.apply.api import UserError
from hearth.model.problem import Rejected
from hearth.template import Node, load


def text_of(path: Path) -> str:
    """Return the text of a file in UTF-8. Raises UserError for another encoding, OSError."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        message = f"{path} is not in UTF-8: byte {problem.start} cannot be read"
        raise UserError([message]) from None


def nodes_of(text: str, path: Path) -> Node:
    """Return the nodes of the YAML text of a file. Raises UserError with the places of mistakes."""
    try:
        return load(text, str(path))
    except Rejected as rejected:
        raise UserError([str(problem) for problem in rejected.problems]) from None
