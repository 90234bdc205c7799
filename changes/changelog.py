"""Build CHANGELOG.md from the files beside this one: `make changelog`.

`releases/VERSION.md` lists what a release contains. A fragment `next/TITLE.md` is a list of what
users see of one change; a release collects the fragments and deletes them.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
CHANGELOG = FOLDER.parent / "CHANGELOG.md"
HEAD = """# Changelog

<!-- built by `make changelog` from changes/; do not edit -->

[Versions](docs/versions.md) explains what a version number promises.
"""


def changelog() -> str:
    """Return the text of CHANGELOG.md, newest release first."""
    parts = [HEAD]
    if fragments := sorted((FOLDER / "next").glob("*.md")):
        parts.append("## Next release\n")
        parts.append("".join(f"{path.read_text(encoding='utf-8').strip()}\n" for path in fragments))
    releases = sorted((FOLDER / "releases").glob("*.md"), key=_version, reverse=True)
    parts += [
        f"## {path.stem}\n\n{path.read_text(encoding='utf-8').strip()}\n" for path in releases
    ]
    return "\n".join(parts)


def _version(path: Path) -> list[int]:
    return [int(number) for number in path.stem.split(".")]


if __name__ == "__main__":
    CHANGELOG.write_text(changelog(), encoding="utf-8")
