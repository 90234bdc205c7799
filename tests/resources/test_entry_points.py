"""Entry points are found wherever Python finds them, and cost nothing if there are none."""

import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from hearth.resources.entry_points import entry_points

TEXT = "[acme.types]\none = acme:One\n"
NAME = "METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 1\n"


def installed(folder: Path, how: str) -> Path:
    """Install a package in the folder, in one of the forms that Python knows, and return the entry
    of the module path.
    """
    if how == "archive":
        archive = folder / "acme.zip"
        with zipfile.ZipFile(archive, "w") as pack:
            pack.writestr("acme-1.dist-info/entry_points.txt", TEXT)
            pack.writestr("acme-1.dist-info/METADATA", NAME[1])
        return archive
    names = {"wheel": "acme-1.dist-info", "develop": "acme.egg-info", "egg": "acme-1.egg/EGG-INFO"}
    about = folder / names[how]
    about.mkdir(parents=True)
    (about / "entry_points.txt").write_text(TEXT)
    (about / ("METADATA" if how == "wheel" else "PKG-INFO")).write_text(NAME[1])
    return folder / "acme-1.egg" if how == "egg" else folder


@pytest.mark.parametrize("how", ["wheel", "develop", "egg", "archive"])
def test_a_package_is_found_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(sys, "path", [str(installed(tmp_path, how)), *sys.path])
    [found] = entry_points("acme.types")
    assert (found.name, found.value) == ("one", "acme:One")
    assert not entry_points("acme.functions")


def test_without_a_package_the_metadata_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path), str(tmp_path / "gone"), ""])
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    assert not entry_points("acme.types")
