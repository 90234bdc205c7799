"""The recipe of the Debian package; and the package, where its tools are installed."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.deploy.known import DEPLOY, ROOT, unknown_settings
from tests.deploy.test_wheel import NO_INDEX
from tests.selection import in_rest

RECIPE = DEPLOY / "debian"
SCRIPTS = sorted(RECIPE.glob("hearth.p*"))
BUILD_S = 400
FAST = {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
"""A package is 60 % larger and built in half of the time: xz takes 45 s of CPU."""


def test_the_version_is_that_of_hearth():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (RECIPE / "changelog").read_text().startswith(f"hearth ({version}) ")


def test_the_units_are_those_of_the_source():
    installed = [line.split() for line in (RECIPE / "hearth.install").read_text().splitlines()]
    units = [source for source, _ in installed if source.endswith(".service")]
    assert units == sorted(f"deploy/systemd/{path.name}" for path in (DEPLOY / "systemd").iterdir())
    rules = (RECIPE / "rules").read_text()
    assert [one for one in units if Path(one).name not in rules] == []


def test_the_example_of_a_configuration_has_settings_that_exist(tmp_path: Path):
    assert unknown_settings((RECIPE / "hearth.conf").read_text(), tmp_path) == []


def test_the_package_makes_the_user_of_the_units():
    postinst = (RECIPE / "hearth.postinst").read_text()
    assert re.search(r"adduser --system --group [^\n]*\\\n[^\n]* hearth\n", postinst)
    assert "chown root:hearth /etc/hearth /etc/hearth/hearth.conf" in postinst
    assert "chmod 640 /etc/hearth/hearth.conf" in postinst


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_scripts_of_the_package_are_correct(script: Path):
    text = script.read_text()
    assert "set -e\n" in text
    assert text.endswith("#DEBHELPER#\n")
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0


@pytest.mark.slow
@in_rest
def test_the_package_builds_and_has_a_hearth_that_runs(tmp_path: Path):
    for tool in ("dpkg-buildpackage", "dh"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool} (packages dpkg-dev and debhelper)")
    source = tmp_path / "hearth"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "deploy", "requirements"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(RECIPE, source / "debian")
    built = subprocess.run(
        ["dpkg-buildpackage", "-b", "-us", "-uc", "-d"], cwd=source, capture_output=True,
        text=True, timeout=BUILD_S, check=False, env={**os.environ, **FAST},
    )  # fmt: skip
    if NO_INDEX.search(built.stdout + built.stderr):
        lacking("a package index with the versions of requirements/run-time.lock")
    assert built.returncode == 0, built.stderr[-2000:]
    (package,) = tmp_path.glob("*.deb")
    root = tmp_path / "root"
    subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    assert (root / "usr/bin/hearth").readlink() == Path("../lib/hearth/bin/hearth")
    first = (root / "usr/lib/hearth/bin/hearth").read_text().partition("\n")[0]
    assert first == "#!/usr/lib/hearth/bin/python3"
    python = root / "usr/lib/hearth/bin/python3"
    (root / "usr/bin/python3").symlink_to("/usr/bin/python3")  # as on a machine with the package
    shown = subprocess.run(
        [python, root / "usr/lib/hearth/bin/hearth", "--version"],
        capture_output=True, text=True, check=False, env={},
    )  # fmt: skip
    assert shown.stdout.startswith("hearth "), shown.stderr
    bill = json.loads((root / "usr/share/doc/hearth/sbom.json").read_text())
    assert {"click", "yaql"} <= {one["name"] for one in bill["components"] if "licenses" in one}
    info = subprocess.run(["dpkg-deb", "-I", package], capture_output=True, text=True, check=True)
    assert "adduser" in info.stdout
    conffiles = subprocess.run(
        ["dpkg-deb", "--ctrl-tarfile", package], capture_output=True, check=True
    )
    assert b"/etc/hearth/hearth.conf" in conffiles.stdout
    scripts = conffiles.stdout.decode(errors="replace")
    assert "deb-systemd-helper" in scripts
    assert str(tmp_path) not in scripts
