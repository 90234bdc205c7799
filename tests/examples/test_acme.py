"""The example of a package that adds a type and a function: installed, then used."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import requests

from tests.clients.dev import HEARTH, Dev, hearth_dev, settled
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
PACKAGE = Path(__file__).parents[2] / "examples" / "hearth-acme"
TYPE = "Acme::Swift::Object"


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, installed into a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
        "--no-build-isolation", "--disable-pip-version-check", "--target", str(folder),
        str(PACKAGE),
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def dev(site_packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with (
        mock.patch.dict(os.environ, PYTHONPATH=str(site_packages)),
        hearth_dev(tmp_path_factory.mktemp("hearth")) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def heat(dev: Dev) -> Iterator[Any]:
    with dev.heat() as client:
        yield client


def test_the_type_and_the_function_are_listed(dev: Dev, heat: Any):
    shown = heat.resource_types.get(TYPE)
    assert shown["properties"]["content"]["update_allowed"] is True
    assert TYPE in [one.resource_type for one in heat.resource_types.list()]
    functions = heat.template_versions.get("heat_template_version.2021-04-16")
    assert "acme_slug" in [one.functions for one in functions]


def test_a_stack_of_it_lives(dev: Dev, heat: Any):
    dev.mark()
    template = (PACKAGE / "site.yaml").read_text()
    stack_id = heat.stacks.create(stack_name="site", template=template)["stack"]["id"]
    assert settled(heat, stack_id, "CREATE").stack_status == "CREATE_COMPLETE"
    page = address(heat, stack_id)
    assert page.endswith("/my-first-site-site/index.html")
    assert requests.get(page, timeout=5).text == "<h1>My first Site</h1>"

    other = template.replace("<h1>title</h1>", "<p>title</p>")
    heat.stacks.update(stack_id, template=other)
    assert settled(heat, stack_id, "UPDATE").stack_status == "UPDATE_COMPLETE"
    assert requests.get(page, timeout=5).text == "<p>My first Site</p>"
    heat.actions.check(stack_id)
    assert settled(heat, stack_id, "CHECK").stack_status == "CHECK_COMPLETE"
    heat.stacks.delete(stack_id)
    settled(heat, stack_id, "DELETE")
    assert dev.left_over() == []


def address(heat: Any, stack_id: str) -> str:
    (output,) = heat.stacks.get(stack_id).outputs
    return str(output["output_value"])


def test_what_is_wrong_with_its_arguments_is_told(heat: Any):
    template = {
        "heat_template_version": "2021-04-16",
        "resources": {
            "a": {"type": "OS::Heat::Value", "properties": {"value": {"acme_slug": [1]}}}
        },
    }
    with pytest.raises(Exception, match="acme_slug: expected a text"):
        heat.stacks.create(stack_name="bad", template=template)


@pytest.mark.parametrize(
    ("group", "name", "value", "told"),
    [
        ("hearth.types", "Acme::A::B", "nowhere:Thing", "cannot be loaded"),
        (
            "hearth.types",
            "Acme::A::B",
            "hearth_acme.swift_object:SwiftObject",
            "ResourceType named",
        ),
        ("hearth.functions", "get_param", "hearth_acme.functions:SLUG", "already"),
        ("hearth.functions", "acme", "hearth_acme.functions:slug", "expected a Function"),
    ],
)
def test_a_package_that_cannot_be_used_is_told_at_the_start(
    site_packages: Path, tmp_path: Path, group: str, name: str, value: str, told: str
):
    info = tmp_path / "bad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    done = subprocess.run(
        [*HEARTH, "dev", "--ephemeral", "--port", "0"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{site_packages}"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert name in done.stderr
    assert told in done.stderr
    assert "bad" in done.stderr
