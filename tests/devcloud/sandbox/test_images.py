"""Servers of an image that was built: its tree, the stages of cloud-init, a later build."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth_devcloud.images import build, shelf
from tests.devcloud.images.pretended import pretend
from tests.devcloud.sandbox.machines import Machines

pytestmark = pytest.mark.slow


def image_of(machines: Machines, name: str) -> str | None:
    images = machines.call("GET", "/image/v2/images").json()["images"]
    return next((one["id"] for one in images if one["name"] == name), None)


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pretend(tmp_path / "bin", monkeypatch)
    build.build(tmp_path / "images", "debian")
    return tmp_path / "images"


def test_cloud_init_runs_its_stages_at_each_boot(tmp_path: Path, images: Path):
    with Machines(data=tmp_path / "cloud.json") as machines:
        server = machines.boot(imageRef=image_of(machines, "debian"))
        lines = [
            line
            for line in machines.said(server).splitlines()
            if line.startswith(("stage", "version", "FIRST", "on"))
        ]
        assert lines == [
            "stage init --local", "version 1", "on box", "stage init", "on box",
            "stage modules --mode=config", "on box", "stage modules --mode=final", "FIRST",
            "on box",
        ]  # fmt: skip
        machines.act(server, "reboot", {"type": "HARD"})
        assert machines.said(server, times=2).count("FIRST") == 1
        machines.act(server, "rebuild", {"imageRef": image_of(machines, "host")})
        machines.said(server, "boot finished")
        machines.delete(server)


def test_a_later_build_is_for_servers_that_are_new(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
):
    with Machines(data=tmp_path / "cloud.json") as machines:
        server = machines.boot(imageRef=image_of(machines, "debian"))
        machines.said(server)
        pretend(tmp_path / "bin", monkeypatch, version="2")
        build.build(images, "debian")
        machines.act(server, "reboot", {"type": "HARD"})
        assert machines.said(server, times=2).count("version 1") == 2
        other = machines.boot(imageRef=image_of(machines, "debian"))
        assert "version 2" in machines.said(other)
        assert (images / "debian.1").is_dir()
    with Machines(data=tmp_path / "cloud.json") as machines:
        assert not (images / "debian.1").exists()


def test_an_image_is_offered_while_it_is_there(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
):
    link = images / "debian"
    target = link.readlink()
    with Machines(data=tmp_path / "cloud.json") as machines:
        image = image_of(machines, "debian")
        assert image is not None
        link.unlink()
        assert image_of(machines, "debian") is None
        link.symlink_to(target)
        assert image_of(machines, "debian") == image
        (images / target / "root").rename(images / target / "lost")
        server = machines.boot(imageRef=image_of(machines, "host"))
        machines.said(server)
    assert not shelf.has(images, "debian")
    with Machines(data=tmp_path / "cloud.json") as machines:
        assert image_of(machines, "debian") is None
