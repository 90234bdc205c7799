"""Text files that the user names."""

from pathlib import Path

from hearth.cli.apply.api import Refused


def text_of(path: Path) -> str:
    """Return the text of a file in UTF-8. Raises Refused for another encoding, OSError."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        words = f"{path} is not in UTF-8: byte {problem.start} cannot be read"
        raise Refused([words]) from None
