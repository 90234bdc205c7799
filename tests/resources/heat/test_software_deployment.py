"""Deployments: the runs that they ask for, how they wait, and their attributes."""

import asyncio
from itertools import count

import pytest
from msgspec.structs import replace

from hearth.cloud import CloudFault
from hearth.cloud.contract import Response
from hearth.cloud.fault import NotFound
from hearth.model.state import Action
from hearth.resources.actions import action_steps
from hearth.resources.base import Change, Failed, Later, Ready
from hearth.resources.deployments import Deployments, DeploymentState
from hearth.resources.heat.derived_config import filled
from hearth.resources.heat.objects import KEY
from tests.resources.fake import context_of
from tests.resources.heat.test_wait_conditions import Desk

DEPLOYMENT = "OS::Heat::SoftwareDeployment"
STRUCTURED = "OS::Heat::StructuredDeployment"
SOURCE = {
    "name": "setup",
    "group": "script",
    "config": "echo",
    "inputs": [
        {"name": "colour", "type": "String", "default": "blue"},
        {"name": "disk", "type": "String", "replace_on_change": True},
    ],
    "outputs": [{"name": "result", "type": "String", "error_output": False}],
    "options": {"modulepath": "/etc"},
}
COMPONENT = {
    **SOURCE,
    "group": "component",
    "config": {"configs": [{"config": "a", "tool": "script"}, {"actions": ["DELETE"]}]},
}


class Shelf(Deployments):
    """Deployments in memory; `state` is how the one there is stands."""

    def __init__(self, source=SOURCE, server_type="OS::Heat::DeployedServer"):
        self.source, self.server_type = source, server_type
        self.runs, self.results, self.dropped, self.state = [], [], [], None

    async def config(self, config_id):
        return self.source

    async def find(self, deployment_id):
        return self.state

    async def run(self, run):
        self.runs.append(run)
        self.state = DeploymentState(run.status, run.reason, 10.0, {"deploy_stdout": None}, {})

    async def take(self, deployment_id, results):
        self.results.append(results)
        self.ends("COMPLETE", {"deploy_stdout": "out"})

    async def drop(self, deployment_id, config_id):
        self.dropped.append((deployment_id, config_id))

    async def stands_for(self, server_id):
        return self.server_type

    def ends(self, status, values, reason="Outputs received"):
        self.state = replace(self.state, status=status, values=values, reason=reason)


class Away:
    """A cloud without servers."""

    async def request(self, service, method, path, **more):
        raise NotFound(service, "no such server")


def deployment(kind=DEPLOYMENT, shelf=None, **properties):
    ids = (f"run-{number}" for number in count(1))
    given = {"server": "server", "config": "c", "signal_transport": "HEAT_SIGNAL", **properties}
    return context_of(
        kind, given, users=Desk(), deployments=shelf or Shelf(), new_id=lambda: next(ids),
        cloud=Away(),
    )  # fmt: skip


def done(ctx, action=Action.CREATE):
    """Do the steps of an action; the last progress."""
    ctx.action, progress = action, Ready()
    for step in action_steps(ctx.kind, action, ctx):
        made = asyncio.run(step.do(ctx))
        if made is not None:
            ctx.physical_id = made.physical_id or ctx.physical_id
            merged = {**ctx.data, **made.data}
            ctx.data = {k: v for k, v in merged.items() if v is not None}
        if step.poll is not None:
            progress = asyncio.run(step.poll(ctx))
    return progress


def inputs(run):
    return {one["name"]: one["value"] for one in run.config["inputs"]}


def test_a_run_has_the_values_of_its_inputs_and_what_the_server_needs_to_report():
    ctx = deployment(input_values={"disk": "vda", "more": 1})
    assert done(ctx) == Later(3600.0)
    (run,) = ctx.deployments.runs
    shown = inputs(run)
    assert list(shown)[:4] == ["colour", "disk", "more", "deploy_server_id"]
    assert (shown["colour"], shown["disk"], shown["more"]) == ("blue", "vda", 1)
    assert shown["deploy_action"] == "CREATE"
    assert shown["deploy_user_id"] == ctx.data["user_id"]
    assert shown["deploy_project_id"] == "users"
    assert (run.config["name"], run.config["group"]) == ("setup", "script")
    assert (run.deployment_id, run.config_id, run.former_config_id) == ("record", "run-1", None)


def test_the_next_run_replaces_the_configuration_of_the_last():
    ctx = deployment()
    done(ctx)
    done(ctx, Action.UPDATE)
    assert [(r.config_id, r.former_config_id) for r in ctx.deployments.runs] == [
        ("run-1", None), ("run-2", "run-1"),
    ]  # fmt: skip


def test_a_run_that_is_repeated_after_a_crash_has_the_same_id():
    ctx = deployment()
    prepare, run = action_steps(ctx.kind, Action.CREATE, ctx)
    ctx.data = {k: v for k, v in asyncio.run(prepare.do(ctx)).data.items() if v is not None}
    asyncio.run(run.do(ctx))
    asyncio.run(run.do(ctx))  # its end was not committed
    assert [one.config_id for one in ctx.deployments.runs] == ["run-1", "run-1"]


def test_a_preparation_that_is_repeated_after_a_refused_key_pair_tells_its_user_again():
    class Refusing(Desk):
        async def key_pair(self, user_id, *, key):
            self.key_pair = super().key_pair
            raise CloudFault("identity", 503, "Unavailable", "no")

    ctx = deployment(signal_transport="CFN_SIGNAL")
    ctx.users = Refusing()
    prepare, _ = action_steps(ctx.kind, Action.CREATE, ctx)
    with pytest.raises(CloudFault):
        asyncio.run(prepare.do(ctx))
    made = asyncio.run(prepare.do(ctx)).data
    assert made["user_id"] in ctx.users.users
    assert made["access_key"] == "ACCESS"


@pytest.mark.parametrize("action", [Action.CREATE, Action.UPDATE, Action.SUSPEND, Action.DELETE])
def test_an_action_that_is_not_listed_does_nothing(action):
    ctx = deployment(actions=["RESUME"])
    assert done(ctx, action) == Ready()
    assert ctx.deployments.runs == []
    assert ctx.users.users == {}


@pytest.mark.parametrize(("action", "runs"), [("CREATE", 1), ("DELETE", 1), ("SUSPEND", 0)])
def test_a_component_runs_where_one_of_its_parts_does(action, runs):
    ctx = deployment(shelf=Shelf(COMPONENT), actions=["SUSPEND"])
    done(ctx, Action(action))
    assert len(ctx.deployments.runs) == runs


def test_without_a_signal_nobody_is_waited_for():
    ctx = deployment(signal_transport="NO_SIGNAL")
    assert isinstance(done(ctx), Ready)
    (run,) = ctx.deployments.runs
    assert (run.status, run.reason) == ("COMPLETE", "Not waiting for outputs signal")


def test_a_failure_is_shown_in_the_servers_words():
    ctx = deployment()
    done(ctx)
    ctx.deployments.ends("FAILED", {}, "result : wrong")
    failed = asyncio.run(ctx.kind.wait(ctx))
    assert failed == Failed("Deployment to server failed: result : wrong", "Error")


def test_what_was_deleted_meanwhile_is_a_failure():
    ctx = deployment()
    done(ctx)
    ctx.deployments.state = None
    assert isinstance(asyncio.run(ctx.kind.wait(ctx)), Failed)


@pytest.mark.parametrize(
    ("server_type", "waits"), [("OS::Heat::DeployedServer", True), (None, False)]
)
def test_a_delete_waits_only_for_a_server_that_is_there(server_type, waits):
    ctx = deployment(shelf=Shelf(server_type=server_type), actions=["DELETE"])
    ctx.action = Action.DELETE
    prepare, run, *_ = action_steps(ctx.kind, Action.DELETE, ctx)
    ctx.data = dict(asyncio.run(prepare.do(ctx)).data)
    asyncio.run(run.do(ctx))
    assert isinstance(asyncio.run(run.poll(ctx)), Later if waits else Ready)


class With(Away):
    """A cloud with one server, in this status."""

    def __init__(self, status):
        self.status = status

    async def request(self, service, method, path, **more):
        return Response(200, {}, {"server": {"id": "server", "status": self.status}})


@pytest.mark.parametrize(
    ("status", "after_delete", "after_update"),
    [
        ("ACTIVE", Later, Later),
        ("REBOOT", Later, Later),
        ("SHUTOFF", Ready, Later),
        ("SUSPENDED", Ready, Later),
        ("SHELVED_OFFLOADED", Ready, Later),
        ("ERROR", Ready, Failed),
        (None, Ready, Failed),
    ],
)
def test_nobody_waits_for_a_guest_that_cannot_run(status, after_delete, after_update):
    for action, end in ((Action.DELETE, after_delete), (Action.UPDATE, after_update)):
        shelf = Shelf(server_type="OS::Nova::Server")
        ctx = deployment(shelf=shelf, actions=["DELETE", "UPDATE"])
        ctx.cloud = Away() if status is None else With(status)
        ctx.action, ctx.physical_id = action, "deployment"
        prepare, run, *_ = action_steps(ctx.kind, action, ctx)
        ctx.data = {**ctx.data, **asyncio.run(prepare.do(ctx)).data}
        asyncio.run(run.do(ctx))
        assert isinstance(asyncio.run(run.poll(ctx)), end)


class Swift(Away):
    """An account whose clock is behind: {path: content}."""

    def __init__(self):
        self.objects = {}

    async def endpoint(self, service):
        return "http://swift/v1/AUTH_p"

    async def request(self, service, method, path, data=None, **more):
        if service != "object-store":
            return await super().request(service, method, path)
        if method == "PUT":
            self.objects[path] = data
        length = str(len(self.objects.get(path) or ""))
        headers = {"x-timestamp": "1.0", "content-length": length, KEY: "key"}
        return Response(200, headers, self.objects.get(path))


def test_a_signal_counts_whatever_the_clock_of_swift_and_only_for_the_run_it_came_after():
    ctx = deployment(signal_transport="TEMP_URL_SIGNAL")
    ctx.cloud, shelf = Swift(), ctx.deployments
    path = f"/{ctx.stack.id}/{ctx.physical_name}"
    for action, sent in ((Action.CREATE, '{"a": 1}'), (Action.UPDATE, '{"a": 2}')):
        assert isinstance(done(ctx, action), Later)
        ctx.cloud.objects[path] = sent
        assert isinstance(asyncio.run(ctx.kind.wait(ctx)), Ready)
    assert shelf.results == [{"a": 1}, {"a": 2}]


def test_a_delete_waits_for_no_signal_in_a_container_that_is_gone():
    ctx = deployment(signal_transport="TEMP_URL_SIGNAL")
    ctx.cloud = Swift()
    assert isinstance(done(ctx), Later)
    ctx.cloud = Away()
    prepare, run = action_steps(ctx.kind, Action.DELETE, ctx)[:2]
    assert prepare.name == "prepare"
    ctx.action = Action.DELETE
    for step in (prepare, run):
        asyncio.run(step.do(ctx))
    assert isinstance(asyncio.run(run.poll(ctx)), Ready)


def test_a_delete_removes_the_deployment_its_run_and_its_user():
    ctx = deployment()
    done(ctx)
    done(ctx, Action.DELETE)
    assert ctx.deployments.dropped == [("record", "run-1")]
    assert ctx.users.users == {}


@pytest.mark.parametrize(("made", "runs"), [(False, 0), (True, 1)])
def test_the_delete_of_a_deployment_that_was_never_made_runs_nothing(made, runs):
    ctx = deployment(actions=["DELETE"])  # a create that runs nothing leaves no physical id either
    ctx.created = made
    done(ctx, Action.DELETE)
    assert len(ctx.deployments.runs) == runs
    assert ctx.users.users == {}


def test_a_strict_deployment_without_an_input_is_deleted():
    shelf = Shelf({**SOURCE, "config": {"port": {"get_input": "port"}}})
    ctx = deployment(
        STRUCTURED, shelf, input_values_validate="STRICT", actions=["CREATE", "DELETE"]
    )
    ctx.created = False
    with pytest.raises(CloudFault, match="port"):
        done(ctx)
    done(ctx, Action.DELETE)
    assert shelf.runs == []
    assert ctx.users.users == {}


def test_its_user_is_disabled_while_it_sleeps():
    ctx = deployment(actions=["CREATE"])
    done(ctx)
    done(ctx, Action.SUSPEND)
    assert [on for _, on in ctx.users.users.values()] == [False]
    done(ctx, Action.RESUME)
    assert [on for _, on in ctx.users.users.values()] == [True]


def test_attributes_are_the_outputs_and_nothing_else():
    ctx = deployment()
    done(ctx)
    ctx.deployments.ends("COMPLETE", {"deploy_stdout": "out", "result": None})
    progress = asyncio.run(ctx.kind.wait(ctx))
    ctx.body = progress.body
    assert ctx.kind.recordable(ctx) == {"deploy_stdout": "out", "result": None}
    assert asyncio.run(ctx.kind.attribute(ctx, "result")) is None
    with pytest.raises(LookupError):
        asyncio.run(ctx.kind.attribute(ctx, "other"))


def test_without_a_configuration_there_are_no_attributes():
    ctx = deployment(config=None)
    done(ctx)
    with pytest.raises(LookupError):
        asyncio.run(ctx.kind.attribute(ctx, "deploy_stdout"))


@pytest.mark.parametrize(("name", "replaces"), [("disk", True), ("colour", False)])
def test_another_value_of_a_replacing_input_replaces(name, replaces):
    ctx = deployment()
    done(ctx)
    change = Change(
        {"input_values": {name: "a"}}, {"input_values": {name: "b"}},
        frozenset({"input_values"}), ctx.data,
    )  # fmt: skip
    assert (ctx.kind.must_replace(change) is not None) is replaces


def test_a_configuration_that_is_gone_fails_a_create_and_not_a_delete():
    ctx = deployment(shelf=Shelf(source=None))
    with pytest.raises(CloudFault):
        done(ctx)
    assert done(ctx, Action.DELETE) == Ready()


CONFIG = {"a": [{"get_input": "x"}, {"get_input": "x", "b": 1}], "c": {"get_input": ["x"]}}


def test_names_of_inputs_are_replaced_by_their_values_wherever_they_stand():
    found = filled(CONFIG, "get_input", {"x": {"get_input": "y"}}, strict=True)
    assert found == {**CONFIG, "a": [{"get_input": "y"}, CONFIG["a"][1]]}


def test_an_input_without_a_value_is_null_or_refused():
    assert filled({"get_input": "x"}, "get_input", {}, strict=False) is None
    with pytest.raises(CloudFault, match="x"):
        filled({"get_input": "x"}, "get_input", {}, strict=True)


def test_a_structured_deployment_is_filled_in():
    shelf = Shelf({**SOURCE, "config": {"port": {"value_of": "port"}}})
    ctx = deployment(STRUCTURED, shelf, input_key="value_of", input_values={"port": 80})
    done(ctx)
    assert shelf.runs[0].config["config"] == {"port": 80}


GROUP = "OS::Heat::SoftwareDeploymentGroup"
SERVERS = {"a": "1", "b": "2", "c": "3"}


def group(servers=SERVERS, policy=None, before=None, action=Action.CREATE, **more):
    given = {"update_policy": policy or {}, "definitions": before or {}, "action": action, **more}
    return context_of(GROUP, {"servers": servers, "config": "c"}, **given)


def test_a_group_makes_a_member_for_each_server():
    members = group().kind.child(group()).template["resources"]
    assert list(members) == ["a", "b", "c"]
    assert members["b"]["properties"]["server"] == "2"


def stages(ctx):
    """The names of the members that each stage changes."""
    found, wanted = [], ctx.kind.child(ctx)
    while wanted is not None:
        after = wanted.template["resources"]
        found.append([name for name in after if ctx.definitions.get(name) != after[name]])
        ctx.definitions = after
        wanted = ctx.kind.next_child(ctx)
    return found


def test_batches_begin_with_the_first_at_a_create_and_with_the_last_at_an_update():
    policy = {"max_batch_size": 2, "pause_time": 0}
    assert stages(group(policy={"batch_create": policy})) == [["a", "b"], ["c"]]
    before = group(dict.fromkeys(SERVERS, "old"))
    old = before.kind.child(before).template["resources"]
    later = group(policy={"rolling_update": policy}, before=old, action=Action.UPDATE)
    assert stages(later) == [["b", "c"], ["a"]]


def test_members_that_are_no_longer_named_go_with_the_first_batch():
    ctx = group()
    old = ctx.kind.child(ctx).template["resources"]
    policy = {"rolling_update": {"max_batch_size": 1, "pause_time": 0}}
    less = group({"a": "1", "z": "9"}, policy, old, Action.UPDATE)
    assert list(less.kind.child(less).template["resources"]) == ["a", "z"]


def test_pauses_that_take_all_the_time_are_refused():
    ctx = group(policy={"batch_create": {"max_batch_size": 1, "pause_time": 1800}})
    with pytest.raises(ValueError, match="timeout"):
        ctx.kind.child(ctx)


def test_attributes_of_a_group_are_maps_by_member():
    attributes = {"deploy_stdout": "out", "result": 1}
    members = {name: {"reference": name, "attributes": attributes} for name in "ab"}
    ctx = group(members=members)
    assert ctx.kind.recordable(ctx)["deploy_stdouts"] == {"a": "out", "b": "out"}
    assert asyncio.run(ctx.kind.attribute(ctx, "result")) == {"a": 1, "b": 1}
