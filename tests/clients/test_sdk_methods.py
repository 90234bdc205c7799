"""Each method of openstacksdk for stacks: of its proxy, and of its cloud layer."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from openstack import exceptions
from openstack.cloud._orchestration import OrchestrationCloudMixin
from openstack.orchestration.v1._proxy import Proxy

from tests.clients.covered import methods, noted, runs, said_by_tests
from tests.clients.dev import Dev, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

TEMPLATE = """\
heat_template_version: 2021-04-16
description: From the SDK
parameters: {word: {type: string}, fail: {type: boolean, default: false}}
resources:
  one:
    type: OS::Heat::TestResource
    properties: {value: {get_param: word}, fail: {get_param: fail}}
  inner: {type: inner.yaml}
outputs: {said: {value: {get_param: word}}}
"""
INNER = """\
heat_template_version: 2021-04-16
resources: {deep: {type: OS::Heat::RandomString}}
"""


@pytest.fixture(scope="module")
def cloud(dev: Dev) -> Iterator[Any]:
    """A connection, each call of its methods for stacks written down."""
    with (
        noted(Proxy, "proxy"),
        noted(OrchestrationCloudMixin, "cloud"),
        dev.sdk() as connection,
    ):
        yield connection


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("sdk")
    texts = {"t.yaml": TEMPLATE, "inner.yaml": INNER, "e.yaml": "parameters: {word: given}\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in texts}


@pytest.fixture
def stack(cloud: Any, files: dict[str, str]) -> Iterator[Any]:
    """A stack that is there, and goes with the test."""
    api = cloud.orchestration
    read = api.read_env_and_templates(template_file=files["t.yaml"])
    name = f"sdk-{uuid.uuid4().hex[:8]}"
    made = api.create_stack(name=name, parameters={"word": "a"}, **read)
    yield api.wait_for_status(made, "CREATE_COMPLETE", ["CREATE_FAILED"], interval=0.1, wait=30)
    api.delete_stack(made)
    api.wait_for_delete(made, interval=0.1)


def test_each_method_of_the_proxy_and_of_the_cloud_layer_is_called_by_a_test():
    offered = {f"proxy.{name}" for name in methods(Proxy)}
    offered |= {f"cloud.{name}" for name in methods(OrchestrationCloudMixin)}
    assert len(offered) > 35
    assert offered - said_by_tests() == set()


@runs("proxy.create_stack", "proxy.read_env_and_templates", "proxy.wait_for_status",
      "proxy.get_stack", "proxy.find_stack", "proxy.stacks", "proxy.update_stack",
      "proxy.delete_stack", "proxy.wait_for_delete")  # fmt: skip
def test_the_proxy_takes_a_stack_through_its_life(cloud: Any, files: dict[str, str]):
    api = cloud.orchestration
    read = api.read_env_and_templates(
        template_file=files["t.yaml"], environment_files=[files["e.yaml"]]
    )
    tried = api.create_stack(preview=True, name="proxied", **read)
    assert (tried.name, tried.parameters["word"]) == ("proxied", "given")
    assert api.find_stack("proxied") is None
    made = api.create_stack(
        name="proxied", timeout_mins=4, is_rollback_disabled=False, tags=["x", "y"], **read
    )
    made = api.wait_for_status(made, "CREATE_COMPLETE", ["CREATE_FAILED"], interval=0.1, wait=30)
    found = api.find_stack("proxied", ignore_missing=False)
    assert found.id == made.id == api.get_stack(made.id, resolve_outputs=False).id
    assert (found.timeout_mins, found.is_rollback_disabled) == (4, False)
    assert (found.tags, found.owner_id, found.parent_id) == (["x", "y"], "demo", None)
    assert found.description == found.template_description == "From the SDK"
    assert [(one["output_key"], one["output_value"]) for one in found.outputs] == [
        ("said", "given")
    ]
    assert [one.id for one in api.stacks(tags=["x", "y"])] == [made.id]
    assert [one.id for one in api.stacks(any_tags=["z"])] == []
    assert [one.id for one in api.stacks(name="proxied", status="COMPLETE")] == [made.id]

    changed = {**read, "parameters": {"word": "new"}}
    found._update(**changed)
    found.commit(api, preview=True)  # `update_stack(preview=True)` of this release updates
    assert api.get_stack(made.id).parameters["word"] == "given"
    api.update_stack(api.get_stack(made.id), **changed)
    api.wait_for_status(
        api.get_stack(made.id), "UPDATE_COMPLETE", ["UPDATE_FAILED"], interval=0.1, wait=30
    )
    assert api.get_stack("proxied").parameters["word"] == "new"
    api.delete_stack("proxied")
    api.wait_for_delete(made, interval=0.1)
    with pytest.raises(exceptions.NotFoundException):
        api.get_stack("proxied")
    with pytest.raises(exceptions.NotFoundException):
        api.delete_stack("proxied", ignore_missing=False)


@runs("proxy.check_stack", "proxy.suspend_stack", "proxy.resume_stack")
def test_the_proxy_begins_actions(cloud: Any, stack: Any):
    api = cloud.orchestration
    for action in ("check", "suspend", "resume"):
        getattr(api, f"{action}_stack")(stack)
        wanted = f"{action.upper()}_COMPLETE"
        wait_for(lambda wanted=wanted: api.get_stack(stack.id).status == wanted or None, wanted)
    api.check_stack(stack.id)
    wanted = "CHECK_COMPLETE"
    wait_for(lambda: api.get_stack(stack.id).status == wanted or None, wanted)


@runs("proxy.get_stack_template", "proxy.get_stack_environment", "proxy.get_stack_files",
      "proxy.resources", "proxy.stack_events", "proxy.export_stack")  # fmt: skip
def test_the_proxy_shows_what_is_in_a_stack(cloud: Any, stack: Any, files: dict[str, str]):
    api = cloud.orchestration
    for given in (stack.id, stack):
        template = api.get_stack_template(given)
        assert template.description == "From the SDK"
        assert template.parameters.keys() == {"word", "fail"}
        assert api.get_stack_environment(given).parameters == {"word": "a"}
        assert api.get_stack_files(given).keys() == {f"file://{files['inner.yaml']}"}
        listed = {one.name: one for one in api.resources(given)}
        assert listed.keys() == {"one", "inner"}
        assert listed["one"].status == "CREATE_COMPLETE"
        assert listed["one"].resource_type == "OS::Heat::TestResource"
    events = list(api.stack_events(stack, sort_dir="asc"))
    assert events[0].resource_status_reason == "Stack CREATE started"
    assert {one.resource_name for one in api.stack_events(stack, nested_depth=2)} >= {"deep"}
    assert len(list(api.stack_events(stack.id, resource_name="one"))) == 2
    exported = api.export_stack(stack)
    assert exported["resources"].keys() == {"one", "inner"}
    assert api.export_stack(stack.name)["id"] == stack.id


@runs("proxy.abandon_stack")
def test_the_proxy_gives_a_stack_up(cloud: Any):
    api = cloud.orchestration
    template = {"heat_template_version": "2021-04-16", "resources": {}}
    made = api.create_stack(name="left", template=template)
    made = api.wait_for_status(made, "CREATE_COMPLETE", interval=0.1, wait=30)
    assert api.abandon_stack(made)["id"] == made.id
    wait_for(lambda: True if api.find_stack("left") is None else None, "the end of it")


@runs("proxy.validate_template", "proxy.get_template_contents")
def test_the_proxy_validates_a_template(cloud: Any, files: dict[str, str]):
    api = cloud.orchestration
    more, template = api.get_template_contents(template_file=files["t.yaml"])
    assert more.keys() == {f"file://{files['inner.yaml']}"}
    plain = {**template, "resources": {"one": template["resources"]["one"]}}
    said = api.validate_template(
        plain, environment={"parameters": {"word": "w"}}, ignore_errors="99001"
    )
    assert said.description == "From the SDK"
    assert said.parameters["word"]["Value"] == "w"
    assert said.parameter_groups is None
    with pytest.raises(exceptions.BadRequestException) as refused:
        api.validate_template({"heat_template_version": "2021-04-16", "resource": {}})
    assert "did you mean resources?" in str(refused.value)


@runs("proxy.create_software_config", "proxy.software_configs", "proxy.get_software_config",
      "proxy.delete_software_config", "proxy.create_software_deployment",
      "proxy.software_deployments", "proxy.get_software_deployment",
      "proxy.update_software_deployment", "proxy.delete_software_deployment")  # fmt: skip
def test_the_proxy_configures_and_deploys_software(cloud: Any):
    api = cloud.orchestration
    config = api.create_software_config(name="c", group="script", config="run", inputs=[])
    assert api.get_software_config(config).config == "run"
    assert config.id in [one.id for one in api.software_configs(limit=10)]
    server = str(uuid.uuid4())
    made = api.create_software_deployment(
        config_id=config.id, server_id=server, action="CREATE", status="IN_PROGRESS"
    )
    api.update_software_deployment(made.id, status="COMPLETE", output_values={"a": 1})
    shown = api.get_software_deployment(made.id)
    assert (shown.status, shown.output_values) == ("COMPLETE", {"a": 1})
    assert [one.id for one in api.software_deployments(server_id=server)] == [made.id]
    api.delete_software_deployment(made.id, ignore_missing=False)
    api.delete_software_config(config.id, ignore_missing=False)
    with pytest.raises(exceptions.NotFoundException):
        api.get_software_config(config.id)
    api.delete_software_config(config.id)  # that it is missing is ignored


@runs("cloud.create_stack", "cloud.update_stack", "cloud.delete_stack", "cloud.search_stacks",
      "cloud.list_stacks", "cloud.get_stack", "cloud.get_template_contents")  # fmt: skip
def test_the_cloud_layer_creates_changes_and_finds(cloud: Any, files: dict[str, str]):
    given = {"template_file": files["t.yaml"], "environment_files": [files["e.yaml"]]}
    made = cloud.create_stack("layered", tags=["x"], wait=True, timeout=240, **given)
    assert (made.status, made.timeout_mins) == ("CREATE_COMPLETE", 4)
    assert made.is_rollback_disabled is False
    assert made.parameters["word"] == "given"
    cloud.update_stack("layered", rollback=False, **given, word="new")
    wait_for(lambda: cloud.search_stacks("layered", {"status": "UPDATE_COMPLETE"}) or None, "it")
    updated = cloud.get_stack("layered")
    assert updated.is_rollback_disabled is True
    assert updated.parameters["word"] == "new"
    assert [one.id for one in cloud.search_stacks("layered")] == [made.id]
    assert cloud.search_stacks("layered", {"status": "CREATE_COMPLETE"}) == []
    assert made.id in [one.id for one in cloud.list_stacks()]
    assert cloud.get_stack("layered", resolve_outputs=False).outputs is None
    contents, _ = cloud.get_template_contents(template_file=files["t.yaml"])
    assert contents
    assert cloud.delete_stack("layered") is True
    # shown as deleted: to the SDK it is gone
    wait_for(lambda: True if cloud.get_stack(made.id) is None else None, "the end of it")
    assert cloud.delete_stack("layered") is False


@runs("cloud.create_stack", "cloud.delete_stack")
def test_the_cloud_layer_sees_what_failed_and_was_rolled_back(cloud: Any, files: dict[str, str]):
    failed = cloud.create_stack(
        "unlucky", template_file=files["t.yaml"], wait=True, rollback=True, word="a", fail="true"
    )
    assert failed.status in {"CREATE_FAILED", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE"}
    wait_for(
        lambda: cloud.get_stack("unlucky").status == "ROLLBACK_COMPLETE" or None, "the rollback"
    )
    assert "Test Resource failed one" in cloud.get_stack("unlucky").status_reason
    assert cloud.delete_stack("unlucky")


def test_what_is_refused_carries_the_words_of_the_server(cloud: Any, files: dict[str, str]):
    with pytest.raises(exceptions.BadRequestException) as refused:
        cloud.create_stack("bad", template_file=files["t.yaml"], wrod="a")
    assert 'the template has no parameter "wrod"; did you mean word?' in str(refused.value)
    assert refused.value.status_code == 400


def test_a_clean_up_of_the_project_takes_the_stacks_with_it(dev: Dev, cloud: Any, stack: Any):
    said: dict[str, Any] = {}
    cloud.orchestration._service_cleanup(dry_run=True, identified_resources=said)
    assert stack.id in said
    cloud.orchestration._service_cleanup(dry_run=False)
    assert list(cloud.orchestration.stacks()) == []


@runs("cloud.create_stack", "cloud.get_stack", "cloud.delete_stack", "proxy.stacks")
def test_what_ansible_does_with_it(cloud: Any, files: dict[str, str]):
    """The steps of the modules openstack.cloud.stack and stack_info."""
    assert cloud.get_stack("played") is None
    given = {"template_file": files["t.yaml"], "environment_files": [files["e.yaml"]]}
    options = {"tags": "a,b", "timeout": 240, "rollback": False, "wait": True}
    made = cloud.create_stack("played", **options, **given, fail="false")
    shown = cloud.orchestration.get_stack(made["id"]).to_dict(computed=False)
    assert json.loads(json.dumps(shown)) == shown
    assert (shown["status"], shown["tags"]) == ("CREATE_COMPLETE", ["a", "b"])
    assert shown["parameters"]["fail"] == "False"
    listed = list(cloud.orchestration.stacks(name="played", status="COMPLETE"))
    assert [one.id for one in listed] == [made["id"]]
    assert cloud.delete_stack(name_or_id=made["id"], wait=True)
    assert cloud.get_stack("played") is None
