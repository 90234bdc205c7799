"""Each command of the client once, against one stack with a stack in it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clients.covered import runs
from tests.clients.dev import CommandFailed, Dev, settled

pytestmark = pytest.mark.slow
HERE = Path(__file__).with_name("templates")
TEMPLATE = ("-t", str(HERE / "web.yaml"), "-e", str(HERE / "env.yaml"))


@pytest.fixture(scope="module")
def stack(dev: Dev) -> Iterator[str]:
    """The id of a stack called demo."""
    dev.mark()
    made = dev.json("stack", "create", *TEMPLATE, "--tags", "a,b", "demo")
    with dev.heat() as heat:
        assert settled(heat, made["id"], "CREATE").stack_status == "CREATE_COMPLETE"
    yield made["id"]
    dev.shell("stack", "delete", "--yes", "demo")
    with dev.heat() as heat:
        assert settled(heat, made["id"], "DELETE").stack_status == "DELETE_COMPLETE"
    assert dev.left_over() == []


@runs("stack list")
def test_a_list_is_filtered_sorted_and_paged(dev: Dev, stack: str):
    names = [one["Stack Name"] for one in dev.json("stack", "list", "--limit", "1000")]
    assert names == ["demo"]
    assert [s["ID"] for s in dev.json("stack", "list", "--tags", "a,b")] == [stack]
    assert dev.json("stack", "list", "--tags", "c") == []
    assert [s["ID"] for s in dev.json("stack", "list", "--property", "name=demo")] == [stack]
    nested = dev.json("stack", "list", "--nested")
    assert [one["Parent"] for one in nested if one["Parent"]] == [stack]


@runs("stack event list", "stack event show")
def test_events_are_listed_over_the_tree_in_order(dev: Dev, stack: str):
    own = dev.json("stack", "event", "list", "demo")
    tree = dev.json("stack", "event", "list", "--nested-depth", "2", "demo")
    assert len(tree) > len(own)
    assert tree[0]["resource_status_reason"] == "Stack CREATE started"
    assert tree[-1]["resource_status_reason"] == "Stack CREATE completed successfully"
    of_net = dev.json("stack", "event", "list", "demo", "--resource", "net")
    assert [one["resource_status"] for one in of_net] == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    shown = dev.json("stack", "event", "show", "demo", "net", of_net[1]["id"])
    assert shown["resource_type"] == "OS::Neutron::Net"
    later = dev.json("stack", "event", "list", "demo", "--marker", own[2]["id"], "--limit", "2")
    assert [one["id"] for one in later] == [one["id"] for one in own[3:5]]


@runs("stack output list", "stack output show")
def test_outputs_are_listed_and_shown(dev: Dev, stack: str):
    listed = dev.json("stack", "output", "list", "demo")
    assert {one["output_key"]: one["description"] for one in listed} == {
        "address": "Where it is",
        "said": "No description given",
    }
    assert dev.json("stack", "output", "show", "demo", "said")["output_value"] == "hello"
    with pytest.raises(CommandFailed, match="output nothing not found"):
        dev.shell("stack", "output", "show", "demo", "nothing")


@runs("stack environment show", "stack file list", "stack template show")
def test_template_environment_and_files_come_back(dev: Dev, stack: str):
    template = yaml.safe_load(dev.shell("stack", "template", "show", "demo"))
    assert template["outputs"]["said"] == {"value": {"get_param": "greeting"}}
    environment = yaml.safe_load(dev.shell("stack", "environment", "show", "demo"))
    assert environment["parameters"] == {"greeting": "hello"}
    child = f"file://{HERE}/server.yaml"
    assert environment["resource_registry"] == {"resources": {}, child: child}
    files = yaml.safe_load(dev.shell("stack", "file", "list", "demo"))["files"]
    assert files[f"file://{HERE}/boot.sh"] == (HERE / "boot.sh").read_text()
    assert child in files


@runs(
    "stack resource list", "stack resource metadata", "stack resource show", "stack resource signal"
)
def test_resources_are_shown_signalled_and_read(dev: Dev, stack: str):
    shown = dev.json("stack", "resource", "show", "demo", "net", "--with-attr", "mtu")
    assert shown["attributes"]["mtu"] == 1450
    signal = json.dumps({"status": "SUCCESS", "id": "me", "data": "done"})
    dev.shell("stack", "resource", "signal", "demo", "handle", "--data", signal)
    metadata = json.loads(dev.shell("stack", "resource", "metadata", "demo", "handle"))
    assert metadata["me"]["data"] == "done"
    with pytest.raises(CommandFailed, match="signal is not supported"):
        dev.shell("stack", "resource", "signal", "demo", "net")
    dot = dev.shell("stack", "resource", "list", "-n", "5", "-f", "dot", "demo")
    assert dot.startswith("digraph")


@runs("stack create", "stack show", "stack update")
def test_a_dry_run_shows_what_would_be_and_does_nothing(dev: Dev, stack: str):
    created = dev.json("stack", "create", "--dry-run", *TEMPLATE, "other")
    names = {one["resource_name"] for one in created["resources"] if isinstance(one, dict)}
    assert names >= {"net", "subnet", "disk", "handle"}
    (nested,) = [one for one in created["resources"] if isinstance(one, list)]
    assert [one["resource_name"] for one in nested] == ["server"]
    change = ("--parameter", "greeting=bye")
    changed = dev.json("stack", "update", "--dry-run", *TEMPLATE, *change, "demo")
    groups = {one["resource_name"]: group for group, found in changed.items() for one in found}
    assert groups["net"] == "unchanged"
    assert groups["server"] == "updated"
    assert [one["Stack Name"] for one in dev.json("stack", "list")] == ["demo"]
    assert dev.json("stack", "show", "demo")["stack_status"] == "CREATE_COMPLETE"


def test_only_a_running_update_is_cancelled(dev: Dev, stack: str):
    with pytest.raises(CommandFailed, match="not in cancelable state"):
        dev.shell("stack", "cancel", "demo")


def test_no_failures_are_listed_where_there_are_none(dev: Dev, stack: str):
    assert dev.shell("stack", "failures", "list", "demo") == ""


@runs("orchestration template validate")
def test_a_template_is_validated(dev: Dev):
    said = yaml.safe_load(dev.shell("orchestration", "template", "validate", *TEMPLATE))
    assert said["Description"] == "A web server"
    assert said["Parameters"]["greeting"]["Type"] == "String"


def test_a_template_with_faults_is_told_them_all(dev: Dev, tmp_path: Path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        "heat_template_version: 2021-04-16\n"
        "resources:\n"
        "  a: {type: OS::Neutron::Nett}\n"
        "  b: {type: OS::Neutron::Net, properties: {nmae: x}}\n"
    )
    with pytest.raises(CommandFailed) as caught:
        dev.shell("stack", "create", "-t", str(path), "bad")
    assert "OS::Neutron::Net" in str(caught.value)
    assert "nmae" in str(caught.value)


@runs(
    "orchestration resource type list",
    "orchestration resource type show",
    "orchestration template function list",
    "orchestration template version list",
)
def test_types_versions_and_functions_are_listed(dev: Dev):
    types = [one["Resource Type"] for one in dev.json("orchestration", "resource", "type", "list")]
    assert "OS::Nova::Server" in types
    assert all("::" in name for name in types)
    with_words = dev.json("orchestration", "resource", "type", "list", "--long")
    assert all(one["Description"] for one in with_words)
    shown = yaml.safe_load(
        dev.shell("orchestration", "resource", "type", "show", "OS::Neutron::Net")
    )
    assert shown["properties"]["name"]["type"] == "string"
    made = yaml.safe_load(
        dev.shell(
            "orchestration",
            "resource",
            "type",
            "show",
            "--template-type",
            "hot",
            "OS::Neutron::Net",
        )
    )
    assert made["resources"]["Net"]["type"] == "OS::Neutron::Net"
    versions = {one["Version"] for one in dev.json("orchestration", "template", "version", "list")}
    assert "heat_template_version.2021-04-16" in versions
    functions = dev.json(
        "orchestration", "template", "function", "list", "heat_template_version.2021-04-16"
    )
    assert "get_attr" in {one["Functions"] for one in functions}


@runs("orchestration build info")
def test_the_build_says_what_it_is(dev: Dev):
    assert dev.json("orchestration", "build", "info")["api"]["revision"].startswith("hearth-")
