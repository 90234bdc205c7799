"""Check the locked packages against known advisories from a file; no network.

    python -m deploy.packages.advisories FILE [LOCK...]

FILE has records in the format of OSV: a JSON file with a record or a list of them, a folder of
such files, or a zip archive of them, as OSV publishes one for PyPI. The locks are those of
requirements/.

The exit status is 1 if a record is about the version of a locked package, with a line for each; 0
if none is; and 2 if FILE or a lock cannot be read, or FILE has no record for PyPI.
"""

import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.packages.locked import locked, normalized
from packaging.version import InvalidVersion, Version

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
ECOSYSTEM = "PyPI"
COMPARED = ("ECOSYSTEM", "SEMVER")
ORDER = {"fixed": 0, "limit": 0, "introduced": 1, "last_affected": 2}
"""Which of two events of one version counts first: an end before it, a start at it, an end after
it.
"""

Record = dict[str, Any]


class Unreadable(Exception):
    """The file of records cannot be used."""


@dataclass(frozen=True)
class Finding:
    """A record that is about the version of a locked package.

    `unclear` is why the versions could not be compared; such a record counts as a finding.
    """

    package: str
    version: str
    record: str
    aliases: tuple[str, ...]
    fixed: str
    locks: tuple[str, ...]
    unclear: str = ""

    def __str__(self) -> str:
        names = f" ({', '.join(self.aliases)})" if self.aliases else ""
        end = self.unclear or (f"fixed in {self.fixed}" if self.fixed else "no version is fixed")
        return (
            f"{self.package} {self.version}: {self.record}{names}: {end}; {', '.join(self.locks)}"
        )


def records(source: Path) -> Iterator[Record]:
    """Yield the records of a file, a folder or a zip archive. Raises Unreadable."""
    for name, data in _files(source):
        try:
            content = json.loads(data)
        except ValueError as error:
            raise Unreadable(f"{name} is not JSON: {error}") from None
        if isinstance(content, dict) and "vulns" in content and "id" not in content:
            content = content["vulns"]
        for record in content if isinstance(content, list) else [content]:
            if not isinstance(record, dict) or not isinstance(record.get("id"), str):
                raise Unreadable(f"{name} has something that is no record of OSV: it has no id")
            yield record


def _files(source: Path) -> Iterator[tuple[str, bytes]]:
    if source.is_dir():
        for path in sorted(source.rglob("*.json")):
            yield str(path), path.read_bytes()
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".json"):
                    yield f"{source}: {name}", archive.read(name)
    else:
        yield str(source), source.read_bytes()


def affected(version: str, entry: Record) -> tuple[bool, str, str]:
    """Return whether an entry of `affected` is about this version, and the version that fixes it.

    The last value is the reason if that cannot be told: no versions that can be compared.
    """
    ours = Version(version)
    listed = entry.get("versions") or []
    ranges = [one for one in entry.get("ranges") or [] if one.get("type") in COMPARED]
    if not listed and not ranges:
        return False, "", "the record has no versions that can be compared"
    try:
        inside = any(_inside(ours, one["events"]) for one in ranges)
        fixes = [
            Version(event["fixed"]) for one in ranges for event in one["events"] if "fixed" in event
        ]
    except InvalidVersion as error:
        return False, "", f"a version of the record cannot be compared: {error}"
    fixed = min((one for one in fixes if one > ours), default="")
    return inside or ours in map(_version, listed), str(fixed), ""


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:  # of long ago; no locked package has such a version
        return None


def _inside(ours: Version, events: Sequence[dict[str, str]]) -> bool:
    """Whether a version is in a range: the last event at or before it decides."""
    inside = False
    pairs = [(kind, text) for event in events for kind, text in event.items() if kind in ORDER]
    for kind, text in sorted(pairs, key=lambda one: (_place(one[1]), ORDER[one[0]])):
        if kind == "introduced" and (text == "0" or ours >= Version(text)):
            inside = True
        elif (kind == "last_affected" and ours > Version(text)) or (
            kind in ("fixed", "limit") and text != "*" and ours >= Version(text)
        ):
            inside = False
    return inside


def _place(text: str) -> tuple[int, Version]:
    """The order of events: 0 is before all versions, * after all."""
    return {"0": -1, "*": 1}.get(text, 0), Version("0" if text in ("0", "*") else text)


def findings(source: Path, locks: Sequence[Path]) -> tuple[list[Finding], int, int]:
    """Return the findings, and how many records for PyPI and how many packages were compared.

    Raises Unreadable, OSError, and ValueError for a lock that cannot be read.
    """
    packages: dict[str, dict[str, list[str]]] = {}
    for lock in locks:
        for one in locked(lock):
            packages.setdefault(one.name, {}).setdefault(one.version, []).append(lock.name)
    found: set[Finding] = set()
    count = 0
    for record in records(source):
        entries = [one for one in record.get("affected") or [] if _of_pypi(one)]
        count += bool(entries)
        if record.get("withdrawn"):
            continue
        for entry in entries:
            name = normalized(entry["package"]["name"])
            for version, where in packages.get(name, {}).items():
                hit, fixed, unclear = affected(version, entry)
                if hit or unclear:
                    aliases = tuple(sorted(record.get("aliases") or []))
                    found.add(Finding(name, version, record["id"], aliases, fixed,
                                      tuple(where), unclear))  # fmt: skip
    if not count:
        raise Unreadable(f"{source} has no record for {ECOSYSTEM}")
    return sorted(found, key=str), count, sum(map(len, packages.values()))


def _of_pypi(entry: Record) -> bool:
    package = entry.get("package") or {}
    return str(package.get("ecosystem", "")).partition(":")[0] == ECOSYSTEM and "name" in package


def main(arguments: Sequence[str]) -> int:
    """Print the findings, or the reason why there is no answer; return the exit status."""
    if not arguments:
        print("name a file, a folder or a zip archive with records of OSV", file=sys.stderr)
        return 2
    locks = [Path(one) for one in arguments[1:]] or sorted(REQUIREMENTS.glob("*.lock"))
    try:
        found, count, packages = findings(Path(arguments[0]), locks)
    except Exception as error:  # also a record in another form, or a damaged archive
        print(f"nothing was checked: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    for one in found:
        print(one)
    checked = f"{count} records for {ECOSYSTEM}, {packages} packages in {len(locks)} lock files"
    print(f"{checked}: {len(found)} finding{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
