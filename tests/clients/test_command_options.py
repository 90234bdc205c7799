"""What the commands' options do, on one stack with a stack in it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clients.covered import runs
from tests.clients.dev import CommandFailed, Dev, settled
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
ADMIN = "hearth-admin"

OUTER = """\
heat_template_version: 2021-04-16
description: With options
parameters:
  word: {type: string, hidden: true, default: quiet}
  count: {type: number, default: 3, constraints: [{range: {min: 1, max: 5}}]}
  map: {type: json, default: {a: [1, 2]}}
  list: {type: comma_delimited_list, default: "a,b"}
resources:
  one: {type: OS::Heat::Value, properties: {value: {get_param: map}}}
  inner: {type: inner.yaml, properties: {count: {get_param: count}}}
outputs:
  map: {value: {get_param: map}, description: A map}
  list: {value: {get_param: list}}
  count: {value: {get_attr: [inner, count]}}
  none: {value: {get_attr: [one, value, nothing]}}
"""
INNER = """\
heat_template_version: 2021-04-16
description: The inner one
parameters: {count: {type: number}}
resources:
  deep: {type: OS::Heat::TestResource, properties: {value: {get_param: count}}}
outputs:
  count: {value: {get_param: count}}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("options")
    texts = {
        "outer.yaml": OUTER,
        "inner.yaml": INNER,
        "first.yaml": "parameters: {count: 2}\nparameter_defaults: {list: 'x,y'}\n",
        "second.yaml": "parameters: {count: 4}\n",
        "map.json": '{"from": "a file"}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in texts}


@pytest.fixture(scope="module")
def stack(dev: Dev, files: dict[str, str]) -> Iterator[str]:
    """The id of a stack called options."""
    made = dev.json(
        "stack", "create", "-t", files["outer.yaml"], "-e", files["first.yaml"],
        "-e", files["second.yaml"], "--parameter", 'map={"b": 1}', "--tags", "red,blue",
        "--timeout", "7", "--enable-rollback", "options",
    )  # fmt: skip
    with dev.heat() as heat:
        assert settled(heat, made["id"], "CREATE").stack_status == "CREATE_COMPLETE"
    yield made["id"]
    dev.shell("stack", "delete", "--yes", "options")


@runs("stack show")
def test_what_was_asked_for_is_shown(dev: Dev, stack: str):
    shown = dev.json("stack", "show", "options")
    own = {name: v for name, v in shown["parameters"].items() if not name.startswith("OS::")}
    assert own == {"word": "******", "count": "4", "map": '{"b": 1}', "list": "x,y"}
    assert shown["description"] == "With options"
    assert (shown["timeout_mins"], shown["disable_rollback"]) == (7, False)
    assert shown["tags"] == ["red", "blue"]
    assert shown["stack_owner"] == "demo"
    assert (shown["capabilities"], shown["notification_topics"]) == ([], [])
    assert "outputs" not in dev.json("stack", "show", "--no-resolve-outputs", "options")
    short = dev.shell("stack", "show", "-f", "value", "-c", "stack_status", stack)
    assert short == "CREATE_COMPLETE\n"


@runs("stack output show")
def test_all_outputs_are_shown_with_their_values(dev: Dev, stack: str):
    shown = dev.json("stack", "output", "show", "--all", "options")
    values = {name: one["output_value"] for name, one in shown.items()}
    assert values == {"map": {"b": 1}, "list": ["x", "y"], "count": 4, "none": None}
    assert dev.json("stack", "output", "show", "options", "list")["output_value"] == ["x", "y"]
    plain = dev.shell("stack", "output", "show", "options", "map", "-f", "value", "-c",
                      "output_value")  # fmt: skip
    assert json.loads(plain.replace("'", '"')) == {"b": 1}


@runs("stack environment show", "stack file list", "stack template show")
def test_environment_files_and_template_are_shown_as_they_count(
    dev: Dev, stack: str, files: dict[str, str]
):
    environment = yaml.safe_load(dev.shell("stack", "environment", "show", "options"))
    assert environment["parameters"] == {"count": 4, "map": '{"b": 1}'}
    assert environment["parameter_defaults"] == {"list": "x,y"}
    listed = yaml.safe_load(dev.shell("stack", "file", "list", "options"))["files"]
    names = ("inner.yaml", "first.yaml", "second.yaml")
    assert listed.keys() == {f"file://{files[name]}" for name in names}
    template = yaml.safe_load(dev.shell("stack", "template", "show", "options"))
    assert template["resources"]["inner"]["type"] == f"file://{files['inner.yaml']}"


@runs("stack list")
def test_stacks_are_listed_in_every_way(dev: Dev, stack: str):
    def names(*options: str) -> list[str]:
        return [one["Stack Name"] for one in dev.json("stack", "list", *options)]

    assert names("--short") == names("--limit", "1") == ["options"]
    nested = names("--nested", "--sort", "stack_name:desc")
    assert len(nested) == 2
    assert nested == sorted(nested, reverse=True)
    assert names("--tags", "red,blue") == names("--tag-mode", "any", "--tags", "red,x")
    assert names("--tag-mode", "not", "--tags", "red,blue") == []
    assert names("--tag-mode", "not-any", "--tags", "x") == ["options"]
    assert names("--property", "stack_status=CREATE_COMPLETE") == ["options"]
    assert names("--property", "status=FAILED") == []
    assert names("--marker", stack) == []
    assert names("--hidden") == names("--deleted") == ["options"]
    with pytest.raises(CommandFailed, match=r"not authorized .*\(stacks:global_index\)") as refused:
        dev.shell("stack", "list", "--all-projects", cloud=ADMIN)
    assert refused.value.status == 1


@runs("stack resource list", "stack resource show")
def test_resources_are_listed_in_every_way(dev: Dev, stack: str):
    def names(*options: str) -> list[str]:
        listed = dev.json("stack", "resource", "list", *options, "options")
        return sorted(one["resource_name"] for one in listed)

    assert names("-n", "5") == ["deep", "inner", "one"]
    assert names("--filter", "type=OS::Heat::Value") == ["one"]
    assert names("--filter", "status=COMPLETE", "--filter", "name=deep", "-n", "5") == ["deep"]
    assert names("--filter", "status=FAILED") == []
    (one,) = dev.json("stack", "resource", "list", "--long", "--filter", "name=one", "options")
    assert one["stack_name"] == "options"
    with pytest.raises(CommandFailed, match=r"Invalid filter parameters \['bogus'\]"):
        dev.shell("stack", "resource", "list", "--filter", "bogus=1", "options")
    shown = dev.json("stack", "resource", "show", "options", "inner", "--with-attr", "count")
    assert shown["attributes"]["count"] == 4
    assert {one["rel"] for one in shown["links"]} == {"self", "stack", "nested"}


@runs("stack event list")
def test_events_are_listed_in_every_way(dev: Dev, stack: str):
    listed = ("stack", "event", "list", "options")
    own = dev.json(*listed)
    assert [one["id"] for one in dev.json(*listed, "--limit", "2")] == [e["id"] for e in own[:2]]
    backwards = dev.json(*listed, "--sort", "event_time:desc", "--sort", "id")
    assert {one["id"] for one in backwards} == {one["id"] for one in own}
    of_inner = dev.json(*listed, "--filter", "resource_name=inner")
    assert {one["resource_name"] for one in of_inner} == {"inner"}
    complete = dev.json(*listed, "--filter", "resource_status=COMPLETE")
    assert {one["resource_status"] for one in complete} == {"CREATE_COMPLETE"}
    deep = dev.json(*listed, "--nested-depth", "1")
    assert {one["resource_name"] for one in deep} >= {"deep", "options"}
    assert len({one["stack_name"] for one in deep}) == 2
    log = dev.shell(*listed, "--format", "log", "--nested-depth", "1").splitlines()
    assert log[0].endswith("[options]: CREATE_IN_PROGRESS  Stack CREATE started")


@runs("stack update")
def test_an_update_is_tried_in_every_way(dev: Dev, stack: str, files: dict[str, str]):
    def changes(*options: str) -> dict[str, list[str]]:
        shown = dev.json("stack", "update", "--dry-run", *options, "options")
        return {k: sorted(one["resource_name"] for one in v) for k, v in shown.items() if v}

    same = ("--existing",)
    assert changes(*same) == {"unchanged": ["one"], "updated": ["inner"]}  # it decides for itself
    assert changes(*same, "--parameter", 'map={"c": 2}') == {"updated": ["inner", "one"]}
    assert changes(*same, "--show-nested") == {"unchanged": ["deep", "one"], "updated": ["inner"]}
    assert changes(*same, "--clear-parameter", "count", "--show-nested") == {
        "unchanged": ["one"], "updated": ["deep", "inner"],
    }  # fmt: skip
    assert changes(*same, "--converge")["unchanged"] == ["one"]
    template = ("-t", files["outer.yaml"])
    assert changes(*template, "--parameter-file", f"map={files['map.json']}")["updated"]

    dev.shell(
        "stack", "update", "--existing", "--parameter-file", f"map=file://{files['map.json']}",
        "--tags", "green", "--timeout", "9", "--rollback", "disabled", "--converge", "options",
    )  # fmt: skip
    with dev.heat() as heat:
        assert settled(heat, stack, "UPDATE").stack_status == "UPDATE_COMPLETE"
    shown = dev.json("stack", "show", "options")
    assert json.loads(shown["parameters"]["map"]) == {"from": "a file"}
    assert shown["parameters"]["count"] == "4"  # kept
    assert (shown["tags"], shown["timeout_mins"], shown["disable_rollback"]) == (["green"], 9, True)


@runs("orchestration template validate")
def test_a_template_is_validated_with_all_that_goes_with_it(dev: Dev, files: dict[str, str]):
    said = yaml.safe_load(
        dev.shell(
            "orchestration", "template", "validate", "-t", files["outer.yaml"],
            "-e", files["first.yaml"], "-e", files["second.yaml"], "--show-nested",
            "--ignore-errors", "99001", "--parameter", "list=q",
        )
    )  # fmt: skip
    assert said["Parameters"]["count"]["Value"] == 4
    assert said["Parameters"]["list"]["Value"] == "q"
    assert said["Parameters"]["word"]["NoEcho"] == "true"
    inner = said["NestedParameters"]["inner"]
    assert inner["Description"] == "The inner one"
    assert inner["Parameters"]["count"]["Type"] == "Number"
    assert said["Environment"]["parameter_defaults"] == {"list": "x,y"}


@runs("orchestration service list")
def test_the_services_are_listed_to_administrators(dev: Dev):
    (one,) = dev.json("orchestration", "service", "list", cloud=ADMIN)
    assert (one["Binary"], one["Topic"], one["Status"]) == ("hearth-engine", "engine", "up")
    assert one["Hostname"] == one["Host"]
    with pytest.raises(CommandFailed, match=r"not authorized .*\(service:index\)") as refused:
        dev.openstack("orchestration", "service", "list")
    assert refused.value.status == 1


def kinds(dev: Dev, *options: str, cloud: str = "hearth") -> list[str]:
    listed = dev.json("orchestration", "resource", "type", "list", *options, cloud=cloud)
    return [one["Resource Type"] for one in listed]


@runs("orchestration resource type list", "orchestration resource type show")
def test_types_are_listed_and_shown_in_every_way(dev: Dev):
    assert kinds(dev, "--filter", "name=OS::Heat::Val") == ["OS::Heat::Value"]
    assert "OS::Heat::Value" in kinds(dev, "--filter", "version=7.0.0")
    assert kinds(dev, "--filter", "name=[") == []
    assert "OS::Nova::Quota" not in kinds(dev)  # only administrators may use it
    assert "OS::Nova::Quota" in kinds(dev, cloud=ADMIN)
    show = ("orchestration", "resource", "type", "show")
    made = yaml.safe_load(dev.shell(*show, "--template-type", "cfn", "OS::Neutron::Net"))
    assert made["HeatTemplateFormatVersion"] == "2012-12-12"
    assert made["Resources"]["Net"]["Type"] == "OS::Neutron::Net"
    assert made["Outputs"]["mtu"]["Value"] == {"Fn::GetAtt": ["Net", "mtu"]}
    assert yaml.safe_load(dev.shell(*show, "--long", "OS::Heat::Value"))["description"]


@runs("orchestration template function list", "orchestration template version list")
def test_versions_and_functions_are_told_with_aliases_and_conditions(dev: Dev):
    versions = dev.json("orchestration", "template", "version", "list")
    aliases = {one["Version"]: one["Aliases"] for one in versions}
    assert "heat_template_version.wallaby" in aliases["heat_template_version.2021-04-16"]
    listed = ("orchestration", "template", "function", "list", "heat_template_version.2018-08-31")
    plain = {one["Functions"] for one in dev.json(*listed)}
    conditions = {one["Functions"] for one in dev.json(*listed, "--with_conditions")}
    assert conditions - plain >= {"equals", "not", "and", "or"}


@runs("stack export", "stack abandon", "stack adopt")
def test_a_document_goes_to_a_file_and_comes_back_with_other_parameters(
    dev: Dev, files: dict[str, str], tmp_path: Path
):
    made = dev.json("stack", "create", "-t", files["outer.yaml"], "given")
    exported, abandoned = tmp_path / "exported.json", tmp_path / "abandoned.json"
    with dev.heat() as heat:
        settled(heat, made["id"], "CREATE")
        dev.shell("stack", "export", "--output-file", str(exported), "given")
        dev.shell("stack", "abandon", "--output-file", str(abandoned), "given")
        settled(heat, made["id"], "DELETE")
        before, after = json.loads(exported.read_text()), json.loads(abandoned.read_text())
        assert before["resources"].keys() == after["resources"].keys() == {"one", "inner"}
        assert before["id"] == made["id"]
        adopted = dev.json(
            "stack", "adopt", "--adopt-file", str(abandoned), "-e", files["second.yaml"],
            "--timeout", "5", "--enable-rollback", "--parameter", "list=z", "taken",
        )  # fmt: skip
        assert settled(heat, adopted["id"], "ADOPT").stack_status == "ADOPT_COMPLETE"
    shown = dev.json("stack", "show", "taken")
    assert shown["parameters"]["list"] == "z"
    assert shown["parameters"]["count"] == "4"
    dev.shell("stack", "delete", "--yes", "taken")


@runs("stack create", "stack file list", "stack update")
def test_files_are_taken_from_a_container(dev: Dev, tmp_path: Path):
    root = tmp_path / "root.yaml"
    nested = {"type": "inner.yaml", "properties": {"count": 1}}
    outputs = {"said": {"value": {"get_file": "said.txt"}}}
    template = {"heat_template_version": "2021-04-16", "resources": {"one": nested}}
    root.write_text(yaml.safe_dump({**template, "outputs": outputs}))
    texts = {
        "inner.yaml": INNER,
        "said.txt": "hello",
        "env.yaml": "resource_registry: {'My::Thing': inner.yaml}\n",
    }
    dev.shell("container", "create", "box")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        dev.shell("object", "create", "--name", name, "box", str(tmp_path / name))
    given = ("-t", str(root), "--files-container", "box", "-e", "env.yaml")
    made = dev.json("stack", "create", *given, "boxed")
    with dev.heat() as heat:
        assert settled(heat, made["id"], "CREATE").stack_status == "CREATE_COMPLETE"
    assert dev.json("stack", "output", "show", "boxed", "said")["output_value"] == "hello"
    assert yaml.safe_load(dev.shell("stack", "file", "list", "boxed"))["files"] == texts
    assert "My::Thing" in dev.shell("stack", "environment", "show", "boxed")
    with pytest.raises(CommandFailed, match="container nobox could not be read"):
        dev.shell("stack", "update", "-t", str(root), "--files-container", "nobox", "boxed")
    dev.shell("stack", "delete", "--yes", "boxed")
    dev.shell("container", "delete", "--recursive", "box")
