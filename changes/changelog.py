"""Build CHANGELOG.md from the fragments beside this file: `make changelog`.

A fragment is a file NUMBER-TITLE.md with a list of what users see.
"""

from pathlib import Path

FRAGMENTS = Path(__file__).parent
CHANGELOG = FRAGMENTS.parent / "CHANGELOG.md"
HEAD = """# Changelog

<!-- built by `make changelog` from changes/; do not edit -->

No version has been released yet. The first one will contain:

| what | page |
| --- | --- |
| Heat's two APIs and all template versions | [Compatibility](docs/compatibility.md) |
| an engine that survives crashes and lost answers | [The engine](docs/engine.md) |
| plans, reasons for waiting, revisions | [Plans and revisions](docs/plan-and-revisions.md) |
| `hearth lint`, `fmt`, `schema` and `lsp` for authors | [Linting](docs/lint.md) |
| `hearth dev`: an embedded cloud for development | [Tutorial](docs/tutorial.md) |
| `heat.conf` and the jobs of heat-manage | [Operating Hearth](docs/operating.md) |

The visible changes on the way, newest first:
"""


def changelog() -> str:
    """Return the text of CHANGELOG.md."""
    parts = [HEAD]
    for path in sorted(FRAGMENTS.glob("[0-9]*.md"), reverse=True):
        number, _, words = path.stem.partition("-")
        title = words.replace("-", " ").capitalize()
        text = path.read_text(encoding="utf-8").strip().replace("](../", "](")
        parts.append(f"## {number}: {title}\n\n{text}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    CHANGELOG.write_text(changelog(), encoding="utf-8")
