"""Each method of python-heatclient as a library, with a session and with endpoint and token."""

import contextlib
import io
import json
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from heatclient import exc
from heatclient.common import environment_format, event_utils, hook_utils, template_utils
from heatclient.v1.client import Client

from tests.clients.covered import methods, noted, runs, said_by_tests
from tests.clients.dev import Dev, settled, wait_for
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
HERE = Path(__file__).with_name("templates")

PLAIN = "heat_template_version: 2021-04-16\nresources: {one: {type: OS::Heat::TestResource}}\n"
RICH = """\
heat_template_version: 2021-04-16
parameters: {word: {type: string, default: a}}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
  handle: {type: OS::Heat::WaitConditionHandle}
outputs: {said: {value: {get_param: word}, description: What was said}}
"""


@pytest.fixture(scope="module", params=["session", "token"])
def heat(request: pytest.FixtureRequest, dev: Dev) -> Iterator[Any]:
    """The client, each call of a manager written down."""
    with dev.sdk() as cloud, warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore")
        if request.param == "session":
            client = Client(session=cloud.session, region_name="RegionOne")
        else:
            # name and password go along in headers of old, as Horizon sends them
            client = Client(
                endpoint=cloud.orchestration.get_endpoint(), token=cloud.auth_token,
                username="demo", password="secret",
            )  # fmt: skip
        for name, manager in managers(client).items():
            stack.enter_context(noted(type(manager), name))
        yield client


def managers(client: Client) -> dict[str, Any]:
    return {name: one for name, one in vars(client).items() if name != "http_client"}


@pytest.fixture
def name() -> str:
    return f"lib-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def stack(heat: Any, name: str) -> Iterator[str]:
    """The id of a stack that is there, and goes with the test."""
    stack_id = heat.stacks.create(stack_name=name, template=RICH, tags="x,y")["stack"]["id"]
    settled(heat, stack_id, "CREATE")
    yield stack_id
    heat.stacks.delete(stack_id)
    settled(heat, stack_id, "DELETE")


def test_each_method_of_each_manager_is_called_by_a_test():
    client = Client(endpoint="http://127.0.0.1:1/v1/p", token="none")
    offered = {
        f"{name}.{method}"
        for name, manager in managers(client).items()
        for method in methods(type(manager))
    }
    assert len(offered) > 40
    assert offered - said_by_tests() == set()


@runs("stacks.create", "stacks.get", "stacks.list", "stacks.update", "stacks.delete")
def test_a_stack_lives(heat: Any, name: str):
    made = heat.stacks.create(stack_name=name, template=RICH, timeout_mins=3, disable_rollback=True)
    assert made["stack"].keys() == {"id", "links"}
    stack_id = made["stack"]["id"]
    stack = settled(heat, stack_id, "CREATE")
    assert (stack.action, stack.status, stack.identifier) == (
        "CREATE", "COMPLETE", f"{name}/{stack_id}",
    )  # fmt: skip
    assert (stack.timeout_mins, stack.disable_rollback) == (3, True)
    assert "outputs" not in stack.to_dict()
    heat.stacks.update(stack_id, template=RICH, parameters={"word": "b"})
    settled(heat, stack_id, "UPDATE")
    heat.stacks.update(name, existing=True, parameters={})
    settled(heat, stack_id, "UPDATE")
    assert heat.stacks.get(name).outputs[0]["output_value"] == "b"
    listed = list(heat.stacks.list(filters={"stack_name": [name]}, sort_keys=["created_at"]))
    assert [one.id for one in listed] == [stack_id]
    assert listed[0].stack_name == name
    heat.stacks.delete(name)
    settled(heat, stack_id, "DELETE")
    with pytest.raises(exc.HTTPNotFound, match="could not be found"):
        heat.stacks.get(name)


@runs("stacks.list")
def test_a_list_is_paged_to_its_end(heat: Any, name: str):
    made = {
        heat.stacks.create(stack_name=f"{name}-{n}", template=PLAIN)["stack"]["id"]
        for n in range(3)
    }
    assert {one.id for one in heat.stacks.list()} == made
    for limit in (1, 2, 3, 50):  # a number of all, not of a page
        listed = [one.id for one in heat.stacks.list(limit=limit)]
        assert len(listed) == len(set(listed)) == min(limit, 3)
    for stack_id in made:
        settled(heat, stack_id, "CREATE")
        heat.stacks.delete(stack_id)
        settled(heat, stack_id, "DELETE")


@runs("stacks.preview", "stacks.preview_update", "stacks.validate")
def test_what_would_be_is_told(heat: Any, name: str, stack: str):
    preview = heat.stacks.preview(stack_name=f"{name}-no", template=RICH)
    assert {one["resource_name"] for one in preview.resources} == {"one", "handle"}
    changes = heat.stacks.preview_update(stack, existing=True, show_nested=True,
                                         parameters={"word": "b"})["resource_changes"]  # fmt: skip
    assert [one["resource_name"] for one in changes["updated"]] == ["one"]
    said = heat.stacks.validate(template=RICH, show_nested=True, ignore_errors="99001")
    assert said["Parameters"]["word"]["Default"] == "a"
    with pytest.raises(exc.HTTPBadRequest, match="template"):
        heat.stacks.validate(template="resources: {}")


@runs("stacks.template", "stacks.environment", "stacks.files")
def test_what_a_stack_was_made_of_comes_back(heat: Any, stack: str):
    assert heat.stacks.template(stack)["outputs"]["said"]["description"] == "What was said"
    assert heat.stacks.environment(stack)["resource_registry"] == {"resources": {}}
    assert heat.stacks.files(stack) == {}


@runs("stacks.output_list", "stacks.output_show")
def test_outputs_are_told(heat: Any, stack: str):
    (listed,) = heat.stacks.output_list(stack)["outputs"]
    assert listed == {"output_key": "said", "description": "What was said"}
    assert heat.stacks.output_show(stack, "said")["output"]["output_value"] == "a"
    with pytest.raises(exc.HTTPNotFound):
        heat.stacks.output_show(stack, "unsaid")


@runs("stacks.snapshot", "stacks.snapshot_list", "stacks.snapshot_show", "stacks.restore",
      "stacks.snapshot_delete")  # fmt: skip
def test_a_snapshot_is_taken_and_gone_back_to(heat: Any, stack: str):
    taken = heat.stacks.snapshot(stack, name="then")
    assert taken["name"] == "then"
    settled(heat, stack, "SNAPSHOT")
    shown = heat.stacks.snapshot_show(stack, taken["id"])["snapshot"]
    assert (shown["status"], shown["data"]["resources"].keys()) == ("COMPLETE", {"one", "handle"})
    heat.stacks.restore(stack, taken["id"])
    settled(heat, stack, "RESTORE")
    heat.stacks.snapshot_delete(stack, taken["id"])
    wait_for(lambda: not heat.stacks.snapshot_list(stack)["snapshots"] or None, "no snapshot")


@runs("stacks.export", "stacks.abandon")
def test_a_stack_is_given_up_and_taken_in_again(heat: Any, name: str):
    made = heat.stacks.create(stack_name=name, template=PLAIN)["stack"]["id"]
    settled(heat, made, "CREATE")
    exported = heat.stacks.export(made)
    assert exported["resources"]["one"]["action"] == "CREATE"
    document = heat.stacks.abandon(made)
    assert document["resources"] == exported["resources"]
    settled(heat, made, "DELETE")
    taken = heat.stacks.create(stack_name=name, adopt_stack_data=json.dumps(document))
    settled(heat, taken["stack"]["id"], "ADOPT")
    heat.stacks.delete(taken["stack"]["id"])


@runs("resources.list", "resources.get", "resources.metadata", "resources.signal",
      "resources.mark_unhealthy", "resources.generate_template")  # fmt: skip
def test_resources_are_told_and_told_something(heat: Any, stack: str, name: str):
    listed = heat.resources.list(stack, nested_depth=2, with_detail=True)
    assert {one.resource_name for one in listed} == {"one", "handle"}
    assert {one.stack_name for one in listed} == {name}
    (one,) = heat.resources.list(stack, filters={"name": "one"})
    assert one.resource_status == "CREATE_COMPLETE"
    assert heat.resources.get(stack, "one", with_attr=["output"]).attributes["output"] == "a"
    heat.resources.signal(stack, "handle", data={"id": "me", "data": "done"})
    wait_for(lambda: heat.resources.metadata(stack, "handle").get("me"), "the signal")
    heat.resources.signal(stack, "handle")
    wait_for(lambda: heat.resources.metadata(stack, "handle").get("2"), "the signal without data")
    heat.resources.mark_unhealthy(
        stack, "one", mark_unhealthy=True, resource_status_reason="slow"
    )  # fmt: skip
    shown = heat.resources.get(stack, "one")
    assert (shown.resource_status, shown.resource_status_reason) == ("CHECK_FAILED", "slow")
    made = heat.resources.generate_template("OS::Heat::TestResource")
    assert made["Resources"]["TestResource"]["Type"] == "OS::Heat::TestResource"


@runs("events.list", "events.get")
def test_events_are_told(heat: Any, stack: str, name: str):
    events = heat.events.list(stack, sort_dir="asc")
    assert [one.resource_name for one in (events[0], events[-1])] == [name, name]
    after = heat.events.list(stack, sort_dir="asc", marker=events[0].id, limit=2)
    assert [one.id for one in after] == [one.id for one in events[1:3]]
    (first, last) = heat.events.list(stack, resource_name="one", sort_dir="asc")
    assert (first.resource_status, last.resource_status) == (
        "CREATE_IN_PROGRESS", "CREATE_COMPLETE",
    )  # fmt: skip
    shown = heat.events.get(stack, "one", last.id)
    assert (shown.id, shown.resource_type) == (last.id, "OS::Heat::TestResource")


@runs("actions.suspend", "actions.resume", "actions.check", "actions.cancel_update",
      "actions.cancel_without_rollback")  # fmt: skip
def test_actions_are_begun(heat: Any, stack: str):
    for action in ("check", "suspend", "resume"):
        getattr(heat.actions, action)(stack)
        assert settled(heat, stack, action.upper()).status == "COMPLETE"
    with pytest.raises(exc.HTTPBadRequest, match="not supported"):
        heat.actions.cancel_update(stack)
    slow = {"value": "b", "action_wait_secs": {"update": 60}}
    template = {
        "heat_template_version": "2021-04-16",
        "resources": {"one": {"type": "OS::Heat::TestResource", "properties": slow}},
    }
    heat.stacks.update(stack, template=template)
    heat.actions.cancel_without_rollback(stack)
    assert settled(heat, stack, "UPDATE").stack_status_reason == "Stack UPDATE cancelled"


@runs("build_info.build_info", "services.list")
def test_it_says_what_it_is(heat: Any):
    assert heat.build_info.build_info().keys() == {"api", "engine"}
    with pytest.raises(exc.HTTPForbidden, match="service:index"):
        heat.services.list()


@runs("services.list")
def test_administrators_see_the_engines(dev: Dev):
    with dev.heat("hearth-admin") as admin, noted(type(admin.services), "services"):
        (one,) = admin.services.list()
    assert (one.binary, one.status) == ("hearth-engine", "up")


@runs("template_versions.list", "template_versions.get", "resource_types.list",
      "resource_types.get", "resource_types.generate_template")  # fmt: skip
def test_the_language_is_told(heat: Any):
    versions = {one.version: one for one in heat.template_versions.list()}
    newest = versions["heat_template_version.2021-04-16"]
    assert (newest.type, newest.aliases) == ("hot", ["heat_template_version.wallaby"])
    functions = heat.template_versions.get(newest.version, with_condition_func=True)
    assert {"get_attr", "equals"} <= {one.functions for one in functions}
    plain = heat.resource_types.list(filters={"name": "OS::Heat::Value"})
    assert [one.resource_type for one in plain] == ["OS::Heat::Value"]
    (told,) = heat.resource_types.list(filters={"name": "OS::Heat::Value"}, with_description=True)
    assert told.description
    shown = heat.resource_types.get("OS::Heat::Value", with_description=True)
    assert shown["properties"]["value"]["required"] is True
    made = heat.resource_types.generate_template("OS::Heat::Value", template_type="hot")
    assert made["heat_template_version"] == "2016-10-14"


@runs("software_configs.create", "software_configs.get", "software_configs.list",
      "software_configs.delete", "software_deployments.create", "software_deployments.get",
      "software_deployments.list", "software_deployments.metadata", "software_deployments.update",
      "software_deployments.delete")  # fmt: skip
def test_software_is_configured_and_deployed(heat: Any):
    config = heat.software_configs.create(name="c", group="script", config="run")
    assert heat.software_configs.get(config.id).config == "run"
    assert config.id in [one.id for one in heat.software_configs.list(limit=5)]
    server = str(uuid.uuid4())
    made = heat.software_deployments.create(
        config_id=config.id, server_id=server, action="CREATE", status="IN_PROGRESS"
    )
    assert [one["id"] for one in heat.software_deployments.metadata(server)] == [config.id]
    heat.software_deployments.update(made.id, status="COMPLETE", output_values={"a": 1})
    assert heat.software_deployments.get(made.id).output_values == {"a": 1}
    (listed,) = heat.software_deployments.list(server_id=server)
    assert listed.status == "COMPLETE"
    heat.software_deployments.delete(made.id)
    heat.software_configs.delete(config.id)
    with pytest.raises(exc.HTTPNotFound):
        heat.software_configs.get(config.id)


def test_files_and_environments_are_read_and_sent(heat: Any, name: str, tmp_path: Path):
    registry = tmp_path / "registry.yaml"
    registry.write_text(
        f"resource_registry: {{'My::Server': 'file://{HERE}/server.yaml'}}\n"
        "parameters: {greeting: hello}\n"
    )
    second = tmp_path / "second.yaml"
    second.write_text("parameters: {greeting: bye}\n")
    files, template = template_utils.get_template_contents(str(HERE / "web.yaml"))
    assert f"file://{HERE}/server.yaml" in files
    names: list[str] = []
    more, environment = template_utils.process_multiple_environments_and_files(
        [str(registry), str(second)], env_list_tracker=names
    )
    said = heat.stacks.validate(
        template=template, files={**files, **more}, environment_files=names, show_nested=True
    )
    assert said["Parameters"]["greeting"]["Value"] == "bye"
    assert said["Environment"]["resource_registry"]["My::Server"] == f"file://{HERE}/server.yaml"
    merged = heat.stacks.validate(
        template=template, files={**files, **more}, environment=environment
    )
    assert merged["Parameters"]["greeting"]["Value"] == "bye"
    assert environment_format.parse("parameters: {a: 1}")["parameters"] == {"a": 1}


def test_hooks_in_an_environment_hold_and_are_told_of_with_the_events(heat: Any, name: str):
    environment: dict[str, Any] = {}
    template_utils.hooks_to_env(environment, ["one"], "pre-create")
    made = heat.stacks.create(stack_name=name, template=RICH, environment=environment)
    stack_id = made["stack"]["id"]

    def waiting() -> list[str] | None:
        found = event_utils.get_hook_events(heat, name, {"sort_dir": "asc"}, nested_depth=2)
        return [one.resource_name for one in found] or None

    assert wait_for(waiting, "the hook") == ["one"]
    assert hook_utils.get_hook_type_via_status(heat, name) == "pre-create"
    hook_utils.clear_wildcard_hooks(heat, stack_id, [], "pre-create", "on*")
    told = io.StringIO()
    status, message = event_utils.poll_for_events(
        heat, name, action="CREATE", poll_period=0.1, out=told, nested_depth=1
    )
    assert status == "CREATE_COMPLETE"
    assert message == f"\n Stack {name} CREATE_COMPLETE \n"
    assert f"[{name}.one]: CREATE_COMPLETE  state changed" in told.getvalue()
    assert "Hook pre-create is cleared" in told.getvalue()
    heat.stacks.delete(stack_id)
    settled(heat, stack_id, "DELETE")
