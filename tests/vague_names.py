"""Names that do not say what they hold: pronouns and participles such as `one`, `found`, `given`.

    python -m tests.vague_names [PACKAGE ...]   # the share of each package; each place of those

A bound name is an argument, a variable, or a field of a class. A name says what the thing is:
`row`, `stack`, `message`. Each package may have SHARE_MAX of vague names; `make check` demands it.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARE_MAX = 0.02
VAGUE = frozenset(
    {
        "one", "ones", "found", "given", "wanted", "known", "shown", "asked", "told", "made",
        "left", "kept", "gone", "mine", "own", "there", "more", "words", "seen", "said", "meant",
        "read", "sent", "held", "named", "listed", "stored", "taken", "noted", "heard", "needed",
        "missing", "allowed", "added", "changed", "removed", "others", "other", "rest", "its",
        "their", "his", "both", "some", "many", "few", "most", "such", "same", "besides", "beside",
        "here", "this", "that", "these", "those", "it", "them", "what", "how", "why", "where",
        "when", "which", "who", "whole", "thing", "things", "place", "way", "turned",
    }
)  # fmt: skip


def packages() -> dict[str, Path]:
    """Return the folders of all packages by name."""
    found = {
        f"hearth.{path.parent.name}": path.parent for path in ROOT.glob("src/hearth/*/__init__.py")
    }
    return {**found, "hearth_devcloud": ROOT / "packages/hearth-devcloud/src/hearth_devcloud"}


def bound(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield (name, line) of each argument and each name that is assigned."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg.strip("_"), node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id.strip("_"), node.lineno


def vague(folder: Path) -> tuple[list[str], int]:
    """Return the places of vague names, and the number of all names."""
    places, total = [], 0
    for path in sorted(folder.rglob("*.py")):
        for name, line in bound(ast.parse(path.read_text(encoding="utf-8"))):
            if name in ("", "self", "cls"):
                continue
            total += 1
            if name in VAGUE:
                places.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    return places, total


def main() -> int:
    too_many = 0
    for package, folder in sorted(packages().items()):
        places, total = vague(folder)
        share = len(places) / max(1, total)
        if package in sys.argv[1:]:
            print(*places, sep="\n")
        if share > SHARE_MAX:
            too_many += 1
        if share > SHARE_MAX or sys.argv[1:]:
            count = f"{len(places)} of {total} names say nothing, {share:.1%}"
            print(f"{package}: {count}; at most {SHARE_MAX:.0%}")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
