"""OS::Heat::SoftwareDeployment: a configuration that runs on a server, and its results.

Source: docs/spec/software-config.md, sections 2 to 5 and 7.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.path import segment
from hearth.model.state import Action, Status
from hearth.resources.base import (
    Change,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import AnyAttribute, IntentKey, ReportsResults
from hearth.resources.deployments import Deployments, Run
from hearth.resources.heat import queues
from hearth.resources.heat.derived_config import (
    WITH_KEYS,
    WITH_USER,
    derived,
    filled,
    input_values,
    replacing_inputs,
)
from hearth.resources.heat.objects import drop_object as delete_object
from hearth.resources.heat.objects import (
    empty_object,
    make_signal_object,
    orphan_objects,
    signal_in,
)
from hearth.resources.heat.stack_user import StackUser
from hearth.resources.nova import states
from hearth.schema import LIST, MAP, STRING, AllowedValues, Attr, Prop, Support

ACTIONS = ("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")
DEFAULT_ACTIONS = ("CREATE", "UPDATE")
TRANSPORTS = ("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL", "ZAQAR_SIGNAL")
FETCHED = ("TEMP_URL_SIGNAL", "ZAQAR_SIGNAL")  # where results lie until somebody fetches them
COMPONENT = "component"
DATA_AVAILABLE = "Deploy data available"
NOT_WAITING = "Not waiting for outputs signal"
LOOK_AGAIN_S = 2.0
UNTIL_TOLD_S = 3600.0  # a message ends this pause
DEPLOYED_SERVER = "OS::Heat::DeployedServer"
SERVER_LOOK_S = 60.0  # how often the status of the server is read, beside the results
LOOKED_AT = "server_looked_at"  # key of the body while the results are waited for
OUT_OF_REACH = "out_of_reach"
"""Key of private data: the guest hears nothing of this resource, because the stack is suspended, or
because the server asks the stack that created it, before an adoption."""


class SoftwareDeployment(ReportsResults, StackUser, AnyAttribute):
    """Runs a configuration on a server and waits for the results that the server reports."""

    type_name = "OS::Heat::SoftwareDeployment"
    support = Support(version="2014.1")
    service = "orchestration"
    identified_by = IntentKey.OWN_ID
    known_by = "the id of its record; its user has the key in name and description"
    runs_on = ("server",)
    properties = {
        "actions": Prop(
            LIST,
            "Actions of the stack that run the configuration.",
            default=list(DEFAULT_ACTIONS),
            update_allowed=True,
            constraints=(AllowedValues(list(ACTIONS)),),
        ),
        "config": Prop(STRING, "Id of the configuration.", update_allowed=True),
        "input_values": Prop(MAP, "Values of its inputs, by name.", update_allowed=True),
        "name": Prop(
            STRING,
            "Name of the deployment; a server applies its deployments in the order of their names.",
            update_allowed=True,
        ),
        "server": Prop(STRING, "Id of the server.", required=True),
        "signal_transport": Prop(
            STRING,
            "How the server reports the results.",
            default="CFN_SIGNAL",
            constraints=(AllowedValues(list(TRANSPORTS)),),
        ),
    }
    attributes = {
        "deploy_status_code": Attr(STRING, "Exit status of the configuration."),
        "deploy_stderr": Attr(STRING, "Standard error of the configuration."),
        "deploy_stdout": Attr(STRING, "Standard output of the configuration."),
    }

    # -- what is done ----------------------------------------------------------------------

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self._run_steps()

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self._run_steps()

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (*self._run_steps(), Step("shut-out", self.shut_out))

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("let-in", self.let_in), *self._run_steps())

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        # the server was asked for nothing if no create succeeded and none stored a run
        had_run = (ctx.created or ctx.physical_id is not None) and OUT_OF_REACH not in ctx.data
        runs = self._run_steps() if had_run else ()
        return (*runs, Step("drop", self.drop), Step("drop-user", self.drop_user))

    def _run_steps(self) -> tuple[Step, ...]:
        return Step("prepare", self.prepare), Step("run", self.run, poll=self.wait)

    async def prepare(self, ctx: ResourceContext) -> Made:
        """Choose the id of the next run in private data, and create what is needed to receive its
        signal.

        If the action does not run the configuration, no id is chosen.
        """
        source = await self._source(ctx)
        if not runs(ctx, source):
            return Made(data={"next_config": None})
        data: dict[str, str | None] = {"next_config": ctx.new_id()}
        data["replaced_for"] = json.dumps(replacing_inputs(source))
        transport = ctx.given("signal_transport")
        if transport in WITH_USER and "user_id" not in ctx.data:
            data |= (await self.make_user(ctx)).data
            present = {key: value for key, value in data.items() if value is not None}
            # a repeated call gets the one of before
            ctx = replace(ctx, data={**ctx.data, **present})
        if transport in WITH_KEYS:
            data |= (await self.make_keys(ctx)).data
        elif transport == "ZAQAR_SIGNAL":
            data["queue"] = name = queues.queue_name(ctx)
            await queues.make_queue(ctx, name)
            before = await queues.messages_in(ctx, name)  # the results of earlier runs
            await queues.drop_messages(ctx, name, [*before])
        elif transport == "TEMP_URL_SIGNAL" and "signal_url" not in ctx.data:
            data |= await make_signal_object(ctx)
        elif transport == "TEMP_URL_SIGNAL" and "object_name" in ctx.data:
            await empty_object(ctx, ctx.data["container"], ctx.data["object_name"])
        return Made(data=data)

    async def run(self, ctx: ResourceContext) -> Made | None:
        """Store the run and send the server its configuration, if `prepare` chose an id."""
        config_id, former = ctx.data.get("next_config"), ctx.data.get("config_id")
        if config_id is None:
            return None
        source = await self._source(ctx)
        waits = ctx.given("signal_transport") != "NO_SIGNAL"
        await deployments_of(ctx).run(
            Run(
                deployment_id=ctx.record_id,
                server_id=str(ctx.given("server")),
                config_id=config_id,
                config=derived(ctx, source, self.config(ctx, source)),
                action=ctx.action.value,
                status=(Status.IN_PROGRESS if waits else Status.COMPLETE).value,
                reason=DATA_AVAILABLE if waits else NOT_WAITING,
                input_values=dict(ctx.given("input_values") or {}),
                user_project_id=ctx.stack.user_project_id,
                former_config_id=None if former == config_id else former,
            )
        )
        return Made(physical_id=ctx.record_id, data={"config_id": config_id})

    async def wait(self, ctx: ResourceContext) -> Progress:
        """Report whether the run is complete or has failed, from the results of the server."""
        if ctx.data.get("next_config") is None:
            return Ready()
        deployment = await deployments_of(ctx).find(ctx.record_id)
        if deployment is None:
            return Failed("Deployment to server failed: the deployment was deleted", "Error")
        match deployment.status:
            case Status.COMPLETE:
                return Ready(self._outputs(ctx, deployment.values))
            case Status.FAILED:
                return Failed(f"Deployment to server failed: {deployment.reason}", "Error")
        looked_at = (ctx.body or {}).get(LOOKED_AT)
        if looked_at is None or ctx.now - looked_at >= SERVER_LOOK_S:
            if (end := await self._without_guest(ctx)) is not None:
                return end
            looked_at = ctx.now
        if ctx.given("signal_transport") not in FETCHED:
            return Later(UNTIL_TOLD_S)
        try:
            results = await self._fetched(ctx)
        except NotFound:  # an earlier delete may have removed the place of the results
            if ctx.action is Action.DELETE:
                return Ready()
            raise
        if results is None:
            return Later(LOOK_AGAIN_S, body={LOOKED_AT: looked_at})
        await deployments_of(ctx).take(ctx.record_id, results)
        return await self.wait(ctx)

    async def given_up(self, ctx: ResourceContext) -> None:
        await deployments_of(ctx).cancel(ctx.record_id)

    async def drop(self, ctx: ResourceContext) -> Made:
        """Delete the deployment, its configuration, and the object or queue for its signal."""
        data = ctx.data
        await deployments_of(ctx).drop(ctx.record_id, data.get("config_id"))
        if "object_name" in data:
            await delete_object(ctx, data["container"], data["object_name"])
        if "queue" in data:
            await queues.drop_queue(ctx, data["queue"])
        return Made(data=dict.fromkeys(("config_id", "next_config", "object_name", "queue")))

    async def orphan_objects(self, ctx: ResourceContext) -> Sequence[str]:
        if ctx.given("signal_transport") != "TEMP_URL_SIGNAL" or "object_name" in ctx.data:
            return ()
        return await orphan_objects(ctx, ctx.stack.id, ctx.physical_name)

    async def drop_user(self, ctx: ResourceContext) -> Made:
        return await super().drop_user(ctx) if ctx.data.get("user_id") else Made()

    async def shut_out(self, ctx: ResourceContext) -> Made | None:
        if ctx.data.get("user_id"):
            await super().shut_out(ctx)
        return Made(data={OUT_OF_REACH: "yes"})

    async def let_in(self, ctx: ResourceContext) -> Made | None:
        if ctx.data.get("user_id"):
            await super().let_in(ctx)
        return Made(data={OUT_OF_REACH: None})

    def brought(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().brought(data), OUT_OF_REACH: "yes"}

    # -- what is decided -------------------------------------------------------------------

    def must_replace(self, change: Change) -> str | None:
        before, after = (side.get("input_values") or {} for side in (change.before, change.after))
        for name in json.loads(change.data.get("replaced_for", "[]")):
            if before.get(name) != after.get(name):
                return f"the input {name} is declared replace_on_change"
        return super().must_replace(change)

    def config(self, ctx: ResourceContext, source: Mapping[str, Any] | None) -> Any:
        """Return the text or map that the server must apply."""
        return (source or {}).get("config") or ""

    # -- attributes ------------------------------------------------------------------------

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return dict(ctx.body or {})

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        deployment = await deployments_of(ctx).find(ctx.record_id)
        if name == "show":
            return None if deployment is None else deployment.body
        outputs = self._outputs(
            ctx, deployment.values if deployment else dict.fromkeys(self.attributes)
        )
        if name not in outputs:
            raise LookupError(f"The deployment {ctx.name} has no output {name}.")
        return outputs[name]

    def _outputs(self, ctx: ResourceContext, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of the attributes; empty if the deployment has no configuration."""
        return values if ctx.given("config") else {}

    # -- helpers ---------------------------------------------------------------------------

    async def _source(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the configuration that the property `config` names; None if the property is not
        set.

        Raises CloudFault if there is no such configuration, except in a delete.
        """
        config_id = ctx.given("config")
        if not config_id:
            return None
        config = await deployments_of(ctx).config(str(config_id))
        if config is None and ctx.action is not Action.DELETE:
            message = f"The Software Config ({config_id}) could not be found."
            raise NotFound("orchestration", message)
        return config

    async def _fetched(self, ctx: ResourceContext) -> Any:
        """Return the results in the Swift object or queue that receives signals, or None if there
        are none.

        Raises NotFound if the object was deleted.
        """
        if ctx.given("signal_transport") == "ZAQAR_SIGNAL":
            messages = await queues.messages_in(ctx, ctx.data["queue"])
            return next(iter(messages.values()), None)
        if "object_name" not in ctx.data:
            raise NotFound("object-store", "The object for the results was deleted.")
        return await signal_in(ctx, ctx.data["container"], ctx.data["object_name"])

    async def _without_guest(self, ctx: ResourceContext) -> Progress | None:
        """Return the end of a run whose server can report no results; None if it may report them.

        A delete waits for no server that is not running. Another action of a server that is gone
        or in status ERROR has failed. A server was created just before a create. A server that is
        neither in Nova nor in a stack is a machine that Hearth cannot look at.
        """
        server, deletes = str(ctx.given("server")), ctx.action is Action.DELETE
        if ctx.action is Action.CREATE:
            return None
        kind = await deployments_of(ctx).stands_for(server)
        if kind == DEPLOYED_SERVER:
            return None
        try:
            status = await _status_of(ctx, server)
        except CloudFault:
            if deletes:
                raise
            return None
        if deletes:
            return Ready() if status in states.WITHOUT_GUEST else None
        if status not in states.LOST or (status is None and kind is None):
            return None
        condition = "no longer exists" if status is None else f"is in status {status}"
        return Failed(f"Deployment to server failed: server {server} {condition}", "Error")


async def _status_of(ctx: ResourceContext, server: str) -> str | None:
    """Return the status of the server; None if it does not exist. Raises CloudFault."""
    try:
        answer = await ctx.cloud.request("compute", "GET", f"/servers/{segment(server)}")
    except NotFound:
        return None
    return str(answer.part("server").get("status"))


class StructuredDeployment(SoftwareDeployment):
    """Runs a configuration that is a map, in which names of inputs are replaced by their values."""

    type_name = "OS::Heat::StructuredDeployment"
    properties = {
        **SoftwareDeployment.properties,
        "input_key": Prop(
            STRING,
            "In the configuration, a map with only this key stands for the value of an input.",
            default="get_input",
        ),
        "input_values_validate": Prop(
            STRING,
            "LAX: an input without a value is null; STRICT: it is an error.",
            default="LAX",
            constraints=(AllowedValues(["LAX", "STRICT"]),),
        ),
    }

    def config(self, ctx: ResourceContext, source: Mapping[str, Any] | None) -> Any:
        values, key = input_values(ctx, source), str(ctx.given("input_key"))
        strict = ctx.given("input_values_validate") == "STRICT"
        return filled((source or {}).get("config") or {}, key, values, strict=strict)


def runs(ctx: ResourceContext, source: Mapping[str, Any] | None) -> bool:
    """Return whether the current action of `ctx` runs the configuration `source`."""
    action = ctx.action.value
    if source is None and ctx.given("config"):
        return False
    if source is not None and source["group"] == COMPONENT:
        parts = (source.get("config") or {}).get("configs") or ()
        return any(action in (part.get("actions") or DEFAULT_ACTIONS) for part in parts)
    return action in (ctx.given("actions") or ())


def deployments_of(ctx: ResourceContext) -> Deployments:
    """Return the access to stored deployments, which this context must have."""
    assert ctx.deployments is not None, "this context has no deployments"
    return ctx.deployments
