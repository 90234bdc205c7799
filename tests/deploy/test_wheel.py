"""The wheel: one line installs it with the versions of the lock, and it is complete."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from deploy.wheel.build import CLOUD, build, build_cloud, build_sources

from hearth import __version__
from tests.conftest import lacking
from tests.deploy.known import ROOT
from tests.selection import in_rest

pytestmark = pytest.mark.slow

INSTALL_S = 400
NO_INDEX = re.compile("No matching distribution|Could not find a version|NewConnectionError")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and its lock file, built from a copy of the source without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    wheel, lock, _ = build(folder / "dist", source)
    return wheel, lock


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the embedded cloud, built from a copy of its source alone."""
    folder = tmp_path_factory.mktemp("cloud")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / CLOUD, folder / "source" / CLOUD, ignore=ignored)
    return build_cloud(folder / "dist", folder / "source")


def test_the_wheel_has_every_file_of_the_package(built: tuple[Path, Path]):
    _demand_complete(built[0], "src/", "hearth")
    with zipfile.ZipFile(built[0]) as archive:
        assert [name for name in archive.namelist() if "devcloud" in name] == []


def test_the_wheel_of_the_embedded_cloud_has_every_file_of_its_package(cloud: Path):
    _demand_complete(cloud, f"{CLOUD}/src/", "hearth_devcloud")


def test_the_source_archives_have_what_their_wheels_have(tmp_path: Path):
    hearth, cloud = build_sources(tmp_path)
    for archive, folder, files in (
        (hearth, "src/hearth", 500),
        (cloud, "src/hearth_devcloud", 150),
    ):
        with tarfile.open(archive) as content:
            names = {name.partition("/")[2] for name in content.getnames()}
        assert {"pyproject.toml", "README.md", "LICENSE"} <= names
        assert sum(name.startswith(folder) for name in names) > files
        assert not any(name.startswith("packages/") for name in names)


def _demand_complete(wheel: Path, folder: str, package: str) -> None:
    """Fail unless a wheel has every file of the package that git knows."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    command = ["git", "ls-files", f"{folder}{package}"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = {line.removeprefix(folder) for line in listed.stdout.splitlines()}
    assert len(files) > 150
    assert sorted(files - inside) == []


def test_the_bill_of_materials_is_beside_the_wheel(built: tuple[Path, Path]):
    wheel, _ = built
    (file,) = wheel.parent.glob("*.json")
    assert file.name == f"hearth-{__version__}.cdx.json"
    hearth = json.loads(file.read_text())["metadata"]["component"]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert hearth["hashes"] == [{"alg": "SHA-256", "content": digest}]


@in_rest
def test_one_line_installs_it_with_the_libraries_of_the_lock(
    built: tuple[Path, Path], cloud: Path, tmp_path: Path
):
    wheel, lock = built
    venv = tmp_path / "venv"
    assert _run(sys.executable, "-m", "venv", str(venv)).returncode == 0
    pip = str(venv / "bin" / "pip")
    done = _run(pip, "install", "--quiet", "--no-compile", "-r", lock.name, cwd=wheel.parent)
    if NO_INDEX.search(done.stderr):
        lacking("a package index with the versions of requirements/run-time.lock")
    assert done.returncode == 0, done.stderr[-2000:]
    hearth = str(venv / "bin" / "hearth")
    assert _run(hearth, "--version").stdout == f"hearth {__version__}\n"
    assert "bootstrap" in _run(hearth, "manage", "--help").stdout
    assert "pip install hearth-devcloud" in _run(hearth, "dev", "--ephemeral").stderr
    assert "pip install hearth-devcloud" in _run(hearth, "demo").stderr
    done = _run(pip, "install", "--quiet", "--no-compile", str(cloud))
    assert done.returncode == 0, done.stderr[-2000:]
    assert "--servers" in _run(str(venv / "bin" / "hearth-devcloud"), "--help").stdout
    assert "The demo took" in _run(hearth, "demo").stdout
    check = _run(pip, "check")
    assert check.returncode == 0, check.stdout


def test_a_changed_wheel_is_not_installed(built: tuple[Path, Path], tmp_path: Path):
    for path in built:
        shutil.copy(path, tmp_path)
    with zipfile.ZipFile(tmp_path / built[0].name, "a") as archive:
        archive.writestr("hearth/more.py", "")
    only = [*built[1].read_text().splitlines()[-2:], ""]
    (tmp_path / "only.lock").write_text("\n".join(only))
    pip = (sys.executable, "-m", "pip")
    done = _run(*pip, "download", "--no-deps", "-d", "got", "-r", "only.lock", cwd=tmp_path)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


def _run(*words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        words, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_S, check=False,
        env=environment,
    )  # fmt: skip
