"""Write the software bill of materials of Hearth: CycloneDX 1.5 in JSON.

    python -m deploy.packages.sbom FILE [WHEEL]

It lists the packages of requirements/run-time.lock with the digests of their files. Licences come
from the packages that are installed beside the running Python. The same packages give the same
file, byte for byte; a time is in it only if SOURCE_DATE_EPOCH is set.
"""

import hashlib
import json
import os
import sys
import tomllib
import uuid
from datetime import UTC, datetime
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

from deploy.packages.locked import Locked, locked, normalized

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "run-time.lock"
LICENCE_MAX = 200  # characters; some packages have the whole text in the field for its name
CLASSIFIER = "License :: "


def bill(lock: Path = LOCK, wheel: Path | None = None) -> dict[str, Any]:
    """Return the bill of materials for the packages of `lock` and for `wheel`, if it is given."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    hearth = _component(project["name"], project["version"], "application")
    hearth["description"] = project["description"]
    hearth["licenses"] = [{"expression": project["license"]}]
    if wheel is not None:
        hearth["hashes"] = _hashes([hashlib.sha256(wheel.read_bytes()).hexdigest()])
    libraries = [_library(one) for one in sorted(locked(lock), key=lambda one: one.name)]
    told: dict[str, Any] = {"component": hearth}
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        told["timestamp"] = datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = {"metadata": told, "components": libraries}
    number = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        **content,
    }


def write(file: Path, wheel: Path | None = None) -> Path:
    """Write the bill of materials, and return the path of its file."""
    file.write_text(json.dumps(bill(wheel=wheel), indent=1) + "\n", encoding="utf-8")
    return file


def _component(name: str, version: str, kind: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _hashes(digests: list[str]) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": digest} for digest in digests]


def _library(package: Locked) -> dict[str, Any]:
    component = _component(package.name, package.version, "library")
    component["hashes"] = _hashes(sorted(set(package.sha256)))
    if licences := _licences(package):
        component["licenses"] = licences
    if package.marker:
        component["scope"] = "optional"
        component["properties"] = [{"name": "hearth:marker", "value": package.marker}]
    return component


def _licences(package: Locked) -> list[dict[str, Any]]:
    """Return the licences of a package, or [] if it is not installed with this version."""
    try:
        found = metadata.distribution(package.name)
    except metadata.PackageNotFoundError:
        return []
    about = found.metadata
    assert isinstance(about, Message)
    if normalized(about["Name"]) != package.name or about["Version"] != package.version:
        return []
    if expression := about["License-Expression"]:
        return [{"expression": expression}]
    names = [
        one.rpartition(" :: ")[2]
        for one in about.get_all("Classifier", [])
        if one.startswith(CLASSIFIER) and one != "License :: OSI Approved"
    ]
    text = (about["License"] or "").strip()
    if not names and text and text != "UNKNOWN" and "\n" not in text and len(text) < LICENCE_MAX:
        names = [text]
    return [{"license": {"name": name}} for name in names]


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), *map(Path, sys.argv[2:3])))
