"""The recipe of the image: its rules, and what it starts; and the image where it can be built."""

import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator

import pytest

from tests.conftest import lacking
from tests.deploy.known import DEPLOY, ROOT, parsed, variables
from tests.forked import Forked

FILE = DEPLOY / "container" / "Containerfile"
TEXT = FILE.read_text()
IGNORE = DEPLOY / "container" / "Containerfile.containerignore"
BASE = "python:3.11-slim-bookworm"
BUILD_S = 900


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile: word and rest; continued lines are joined."""
    lines = re.sub(r"(?m)^\s*#.*\n", "", text)
    joined = re.sub(r"\\\n\s*", " ", lines)
    return [
        (line.split(maxsplit=1)[0], line.split(maxsplit=1)[1])
        for line in joined.splitlines()
        if line.strip()
    ]


def last_stage() -> dict[str, str]:
    """The last instruction of each word in the stage that becomes the image."""
    found = instructions(TEXT)
    start = max(number for number, (word, _) in enumerate(found) if word == "FROM")
    return dict(found[start:])


def test_the_image_has_two_stages_of_one_base_that_is_named_by_its_digest():
    told = instructions(TEXT)
    assert [rest for word, rest in told if word == "FROM"] == ["${BASE} AS build", "${BASE}"]
    assert [rest for word, rest in told if word == "ARG"] == ["BASE"] * 3  # there is no default
    check = next(rest for word, rest in told if word == "RUN")
    for base, status in (("python:3.11", 1), ("", 1), (f"python@sha256:{'0' * 64}", 0)):
        done = subprocess.run(["sh", "-c", check], env={"BASE": base}, check=False)
        assert done.returncode == status, base
    assert 'base.name="${BASE}"' in last_stage()["LABEL"]
    assert "latest" not in TEXT


def test_the_image_has_its_bill_of_materials():
    told = instructions(TEXT)
    written = [rest.split()[-1] for word, rest in told if "-m deploy.packages.sbom " in rest]
    copied = [rest.split() for word, rest in told if word == "COPY" and "--from" in rest]
    assert ["--from=build", *written, "/usr/share/doc/hearth/sbom.json"] in copied


def test_a_user_without_rights_runs_it():
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", last_stage()["USER"])
    assert last_stage()["STOPSIGNAL"] == "SIGTERM"


def test_the_libraries_are_those_of_the_lock_checked_by_hash():
    installs = [rest for word, rest in instructions(TEXT) if word == "RUN" and " install " in rest]
    assert any("--require-hashes --requirement requirements/run-time.lock" in one
               for one in installs)  # fmt: skip
    assert all("--require-hashes" in one or "--no-deps" in one
               for one in installs if "pip install" in one)  # fmt: skip


def test_no_secret_gets_into_the_image():
    names = [rest for word, rest in instructions(TEXT) if word in ("ARG", "ENV")]
    assert not re.search(r"(?i)password|secret|token|index_url|index-url", " ".join(names))
    assert "type=secret,id=pip" in TEXT  # not an argument, which the history of an image keeps


def test_only_named_files_reach_the_builder():
    lines = [line for line in IGNORE.read_text().splitlines() if line and line[0] != "#"]
    assert lines[0] == "*"
    sources = [
        one
        for word, rest in instructions(TEXT)
        if word == "COPY" and not rest.startswith("--from")
        for one in rest.split()[:-1]
    ]
    assert [one for one in sources if f"!{one}" not in lines] == []
    assert [one for one in sources if not (ROOT / one).exists()] == []
    assert FILE.with_suffix(".dockerignore").read_text() == IGNORE.read_text()


def test_it_starts_commands_that_exist():
    stage = last_stage()
    assert json.loads(stage["ENTRYPOINT"]) == ["hearth"]
    assert parsed(json.loads(stage["CMD"]))["role"] == "all"
    assert variables(re.findall(r"OS_\w+(?==)", TEXT)) == []


def test_the_health_check_asks_the_port_for_operators():
    stage = last_stage()
    check = stage["HEALTHCHECK"].partition("CMD ")[2]
    port = re.search(r"OS_HEARTH__MONITORING_PORT=(\d+)", stage["ENV"])
    assert port is not None
    assert f"127.0.0.1:{port[1]}/healthcheck/ready" in check
    compile(json.loads(check)[2], "healthcheck", "exec")
    assert port[1] in stage["EXPOSE"].split()


@pytest.mark.slow
def test_the_health_check_notices_a_process_that_is_gone():
    check = json.loads(last_stage()["HEALTHCHECK"].partition("CMD ")[2])
    words = ["dev", "--ephemeral", "--port", "0", "--metrics-port", "0"]
    with Forked(words) as process:
        try:
            lines = iter(process.stdout.readline, "")
            found = next(filter(None, (re.search(r":(\d+)/metrics", line) for line in lines)))
            asked = [sys.executable, "-c", check[2].replace("9099", found[1])]
            ends = time.monotonic() + 20  # the engine gets its lease after the start
            while subprocess.run(asked, check=False, timeout=30).returncode != 0:
                assert time.monotonic() < ends
                time.sleep(0.2)
        finally:
            process.terminate()
            process.wait(30)
    gone = subprocess.run(asked, check=False, timeout=30, stderr=subprocess.DEVNULL)
    assert gone.returncode != 0


def test_the_example_builds_this_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"-t hearth:{version} ." in TEXT


@pytest.fixture(scope="module")
def image() -> Iterator[tuple[str, str]]:
    """A tool for containers, and the image that it built."""
    for tool in ("podman", "docker"):
        if shutil.which(tool) and _run(tool, "info").returncode == 0:
            break
    else:
        pytest.skip("needs podman, or docker with its daemon: the recipe is only read")
    name = "hearth-test:image"
    form = ["--format", "docker"] if tool == "podman" else []  # its own has no health check
    if _run(tool, "pull", BASE).returncode != 0:
        lacking(f"a registry with the image {BASE}")
    base = _run(tool, "inspect", "--format", "{{index .RepoDigests 0}}", BASE).stdout.strip()
    words = ["build", *form, "-f", str(FILE), "--build-arg", f"BASE={base}", "-t", name]
    built = _run(tool, *words, str(ROOT))
    assert built.returncode == 0, built.stderr[-2000:]
    yield tool, name
    _run(tool, "rmi", name)


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, timeout=BUILD_S, check=False)


@pytest.mark.slow
def test_the_image_runs_with_a_root_that_cannot_be_written(image: tuple[str, str]):
    tool, name = image
    version = _run(tool, "run", "--rm", "--read-only", "--tmpfs", "/tmp", name, "--version")
    assert version.stdout.startswith("hearth "), version.stderr
    refused = _run(tool, "run", "--rm", "--read-only", "--tmpfs", "/tmp", name)
    assert "no configuration" in refused.stderr
    content = _run(
        tool, "run", "--rm", "--entrypoint", "cat", name, "/usr/share/doc/hearth/sbom.json"
    )
    assert json.loads(content.stdout)["bomFormat"] == "CycloneDX"
