"""The packages of a lock file in requirements/: name, version, marker, hashes."""

import re
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s;]+)(?: *; *(?P<marker>.+))?"
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?:\s|$)")


@dataclass(frozen=True)
class Locked:
    """A package with the version that a lock file fixes.

    `marker` is the environment that needs the package, or "" for all. `sha256` has the digest of
    each file that pip may install.
    """

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]


def normalized(name: str) -> str:
    """Return the name of a package in the form in which equal names are equal texts."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: Path) -> list[Locked]:
    """Return the packages of a lock file. Raises OSError, and ValueError for a line that it cannot
    read or for a package without a hash.
    """
    found = []
    for line in lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        text = line.partition("#")[0].strip()
        if not text:
            continue
        requirement = text.partition(" --hash")[0].strip()
        package, hashes = _PACKAGE.fullmatch(requirement), tuple(_HASH.findall(text))
        if package is None or not hashes:
            raise ValueError(f"{lock}: expected NAME==VERSION with hashes, got {text[:80]!r}")
        found.append(
            Locked(normalized(package["name"]), package["version"], package["marker"] or "", hashes)
        )
    return found
