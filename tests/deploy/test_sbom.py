"""The bill of materials: complete, in the form of CycloneDX, and the same each time."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from deploy.packages.locked import locked
from deploy.packages.sbom import LOCK, bill
from jsonschema import validate

from hearth import __version__
from tests.deploy.known import ROOT

NUMBER = "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
HASH = {
    "type": "object",
    "required": ["alg", "content"],
    "properties": {
        "alg": {"const": "SHA-256"},
        "content": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
    "additionalProperties": False,
}
LICENCE = {
    "oneOf": [
        {
            "type": "object",
            "required": ["expression"],
            "properties": {"expression": {"type": "string", "minLength": 1}},
            "additionalProperties": False,
        },
        {
            "type": "object",
            "required": ["license"],
            "properties": {
                "license": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string", "minLength": 1}},
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        },
    ]
}
COMPONENT: dict[str, Any] = {
    "type": "object",
    "required": ["type", "bom-ref", "name", "version", "purl"],
    "properties": {
        "type": {"enum": ["application", "library"]},
        "bom-ref": {"type": "string"},
        "name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        "version": {"type": "string"},
        "description": {"type": "string"},
        "scope": {"const": "optional"},
        "purl": {"type": "string", "pattern": "^pkg:pypi/[a-z0-9-]+@[^@]+$"},
        "hashes": {"type": "array", "items": HASH, "minItems": 1, "uniqueItems": True},
        "licenses": {"type": "array", "items": LICENCE, "minItems": 1},
        "properties": {
            "type": "array",
            "items": {"type": "object", "required": ["name", "value"]},
        },
    },
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["bomFormat", "specVersion", "serialNumber", "version", "metadata", "components"],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.5"},
        "serialNumber": {"type": "string", "pattern": NUMBER},
        "version": {"const": 1},
        "metadata": {
            "type": "object",
            "required": ["component"],
            "properties": {
                "timestamp": {"type": "string", "pattern": TIME},
                "component": COMPONENT,
            },
            "additionalProperties": False,
        },
        "components": {"type": "array", "items": COMPONENT, "uniqueItems": True},
    },
    "additionalProperties": False,
}
"""What CycloneDX 1.5 says of the parts that the file has."""


def test_it_has_the_form_of_cyclonedx(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    told = bill()
    validate(told, SCHEMA)
    assert told["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    hearth = told["metadata"]["component"]
    assert (hearth["purl"], hearth["type"]) == (f"pkg:pypi/hearth@{__version__}", "application")


def test_each_locked_package_is_in_it():
    found = {one["purl"]: one for one in bill()["components"]}
    text = LOCK.read_text()
    lines = re.findall(r"(?m)^([a-z0-9-]+)==([^ ;]+)", text)
    assert len(lines) > 70
    assert set(found) == {f"pkg:pypi/{name}@{version}" for name, version in lines}
    hashes = [one["content"] for component in found.values() for one in component["hashes"]]
    assert sorted(hashes) == sorted(re.findall(r"--hash=sha256:(\w+)", text))
    for part in re.split(r"(?m)^(?=[a-z0-9])", text)[1:]:
        name, version = re.findall(r"^([a-z0-9-]+)==([^ ;]+)", part)[0]
        own = {one["content"] for one in found[f"pkg:pypi/{name}@{version}"]["hashes"]}
        assert own == set(re.findall(r"sha256:(\w+)", part))
    markers = {one["name"] for one in found.values() if one.get("scope") == "optional"}
    assert markers == set(re.findall(r"(?m)^([a-z0-9-]+)==\S+ ;", text))


def test_licences_are_those_of_the_installed_packages():
    found = {one["name"]: one for one in bill()["components"]}
    same = [
        one.name
        for one in locked(LOCK)
        if not one.marker and metadata.distribution(one.name).version == one.version
    ]
    assert [name for name in same if "licenses" not in found[name]] == []
    assert found["aio-pika"]["licenses"] == [{"expression": "Apache-2.0"}]


def test_a_licence_of_another_version_is_not_told(tmp_path: Path):
    lock = tmp_path / "some.lock"
    lock.write_text(f"click==0.0.1 \\\n    --hash=sha256:{'a' * 64}\n")
    assert [sorted(one) for one in bill(lock)["components"]] == [
        ["bom-ref", "hashes", "name", "purl", "type", "version"]
    ]


def test_it_is_the_same_each_time(tmp_path: Path):
    texts = []
    for seed, epoch in (("1", None), ("2", None), ("1", "1700000000"), ("2", "1700000000")):
        file = tmp_path / "sbom.json"
        more = {"PYTHONHASHSEED": seed} | ({"SOURCE_DATE_EPOCH": epoch} if epoch else {})
        usual = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
        subprocess.run(
            [sys.executable, "-m", "deploy.packages.sbom", file],
            cwd=ROOT, check=True, capture_output=True, env=usual | more,
        )  # fmt: skip
        texts.append(file.read_bytes())
    assert texts[0] == texts[1] != texts[2] == texts[3]
    assert "timestamp" not in json.loads(texts[0])["metadata"]


@pytest.mark.parametrize(
    "line", ["click>=8", "click==8.1", "-r other.lock", f"x @ file:x --hash=sha256:{'a' * 64}"]
)
def test_a_lock_that_cannot_be_read_is_an_error(line: str, tmp_path: Path):
    lock = tmp_path / "some.lock"
    lock.write_text(f"yaql==1 --hash=sha256:{'a' * 64}\n{line}\n")
    with pytest.raises(ValueError, match=r"some\.lock: expected NAME==VERSION with hashes"):
        locked(lock)
