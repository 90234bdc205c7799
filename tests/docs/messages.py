"""All texts of the product's code, as the messages of a page can be found in them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "src" / "hearth", ROOT / "packages")
GAP = "\0"


@cache
def texts() -> str:
    """Every string of the code, one per line; what is put in later is a gap."""
    found: list[str] = []
    for path in sorted(path for source in SOURCES for path in source.rglob("*.py")):
        found += _strings(ast.parse(path.read_text(encoding="utf-8")))
    return "\n".join(one.replace("\n", " ") for one in found)


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=values):
                parts = [str(v.value) if isinstance(v, ast.Constant) else GAP for v in values]
                yield "".join(parts)
            case ast.Constant(value=str(text)):
                yield re.sub(r"%(\.\d)?[sdrf]", GAP, text)


def is_said(message: str) -> bool:
    """Whether the longest part of a message without gaps is one of the product's texts."""
    part = max(message.split("…"), key=len).strip(" ;:")
    return part in texts()
