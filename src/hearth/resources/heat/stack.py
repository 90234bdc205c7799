"""OS::Heat::Stack: a separate stack, created through the orchestration API.

It can be in another region, or in another cloud with a credential from the owner's key manager.
Each call reads that secret again; Hearth does not store it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body, Cloud, Response
from hearth.cloud.fault import CloudFault, NoService, NotFound
from hearth.cloud.foreign_credential import NoCredential, foreign_credential
from hearth.cloud.path import segment
from hearth.cloud.reach import Tls
from hearth.model.state import Action
from hearth.resources.barbican.base import payload
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
from hearth.resources.capabilities import AsksCloud, IntentKey, Observable, Suspends, UpdatedAlways
from hearth.resources.collection import forgiving, id_in
from hearth.resources.observed import observed_value
from hearth.schema import BOOLEAN, INTEGER, MAP, STRING, Attr, Prop
from hearth.template.parameters import MASK

SERVICE = "orchestration"
OUT_OF_REACH = "OutOfReach"
WHY = {
    "ConnectFailure": "its auth_url does not answer",
    "NoAnswer": "its auth_url does not answer",
    "SSLError": "the certificate at its auth_url is not trusted",
}
"""The reason in an error message, by the type of the fault.

It is used instead of the fault's message, which could contain the auth_url. The auth_url is part of
the secret credential.
"""


class Stack(Observable, AsksCloud, Suspends, UpdatedAlways):
    """A separate stack with its own template and parameters.

    Its name is the physical name that Hearth generates, which is unique in the project.
    """

    # `UpdatedAlways`: its own resources may have failed or changed
    type_name = "OS::Heat::Stack"
    properties = {
        "context": Prop(
            MAP,
            "Region or cloud of the stack.",
            update_allowed=True,
            schema={
                "ca_cert": Prop(
                    STRING,
                    "CA certificate of the other cloud, in PEM format.",
                    update_allowed=True,
                    since="12.0.0",
                ),
                "credential_secret_id": Prop(
                    STRING,
                    "Id of the secret that holds the credential for another cloud, as JSON.",
                    update_allowed=True,
                    since="12.0.0",
                ),
                "insecure": Prop(
                    BOOLEAN,
                    "true: the certificate of the other cloud is not verified.",
                    default=False,
                    update_allowed=True,
                    since="12.0.0",
                ),
                "region_name": Prop(
                    STRING, "Name of the region; the region of this stack when not given."
                ),
            },
        ),
        "parameters": Prop(MAP, "Parameters of the stack.", default={}, update_allowed=True),
        "template": Prop(STRING, "Its template, as text.", required=True, update_allowed=True),
        "timeout": Prop(INTEGER, "Timeout of an operation, in minutes.", update_allowed=True),
    }
    attributes = {
        "outputs": Attr(MAP, "Its outputs."),
        "stack_name": Attr(STRING, "Its name."),
    }
    service = SERVICE
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the stack keeps"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self.create, self.find, self.wait),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("update", self.update, self.updated, self.wait),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.delete, poll=self.wait),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.act, poll=self.wait),)

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("suspend", self.act, self.acted, self.wait),)

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("resume", self.act, self.acted, self.wait),)

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        """Return the reasons why the target cloud would refuse the stack. Raises CloudFault."""
        context = properties.get("context", {})
        if context is None:  # not known yet
            return []
        try:
            target = await reached(cloud, context)
        except CloudFault as fault:
            if fault.type != OUT_OF_REACH:
                raise
            return [fault.message]
        template = properties.get("template")
        if template is None:  # not known yet
            return []
        try:
            await target.request(
                SERVICE, "POST", "/validate", json={"template": template}, idempotent=True
            )
        except CloudFault as fault:
            if target is cloud and fault.status != 400:
                raise
            region = context.get("region_name") or (await cloud.whoami()).region
            if fault.passing:
                return [_unconnected(region, fault.message)]
            detail = f'using Heat endpoint at region "{region}" due to "ERROR: {fault.message}"'
            return [f"Failed validating stack template {detail}"]
        return []

    def must_replace(self, change: Change) -> str | None:
        def region(properties: Mapping[str, Any]) -> Any:
            return (properties.get("context") or {}).get("region_name")

        moved = "context" in change.changed and region(change.before) != region(change.after)
        return "the region changed" if moved else None

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        """Return true only if the stack was never created; a stack that exists is updated
        instead.
        """
        return ctx.physical_id is None

    async def create(self, ctx: ResourceContext) -> Made:
        """Send the request to create the stack."""
        fields = {**self.fields(ctx), "stack_name": ctx.physical_name, "disable_rollback": True}
        target = await reached(ctx.cloud, ctx.given("context"))
        answer = await target.request(SERVICE, "POST", "/stacks", json=fields)
        return Made(physical_id=id_in(answer.part("stack")))

    async def find(self, ctx: ResourceContext) -> Made | None:
        target = await reached(ctx.cloud, ctx.given("context"))
        for stack in await target.listing(SERVICE, f"/stacks?name={segment(ctx.physical_name)}"):
            if stack.get("stack_name") == ctx.physical_name:
                return Made(physical_id=str(stack["id"]), body=stack)
        return None

    async def update(self, ctx: ResourceContext) -> Made | None:
        """Send the request to update the stack."""
        await self.about(ctx, "PUT", json=self.fields(ctx))
        return None

    async def updated(self, ctx: ResourceContext) -> Made | None:
        """Return the stack if an earlier request has started its update, else None."""
        body = await self.show(ctx) or {}
        return Made(body=body) if body.get("stack_status") == "UPDATE_IN_PROGRESS" else None

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Delete the stack; "not found" is success."""
        await forgiving(self.about(ctx, "DELETE", idempotent=True))
        return None

    async def act(self, ctx: ResourceContext) -> Made | None:
        """Send the request for the current action (check, suspend or resume) to the stack."""
        action = {ctx.action.value.lower(): None}
        await self.about(ctx, "POST", "/actions", json=action)
        return None

    async def acted(self, ctx: ResourceContext) -> Made | None:
        """Return the stack if it has started the current action, else None."""
        body = await self.show(ctx) or {}
        begun = str(body.get("stack_status", "")).startswith(f"{ctx.action.value}_")
        return Made(body=body) if begun else None

    async def wait(self, ctx: ResourceContext) -> Progress:
        """Report whether the stack has completed the current action, or has failed."""
        try:
            body = await self.show(ctx) or {}
        except CloudFault as fault:
            if isinstance(fault, NotFound) and ctx.action is Action.DELETE:
                return Ready()
            raise
        action, _, status = str(body.get("stack_status", "")).partition("_")
        if action != ctx.action.value or status == "IN_PROGRESS":
            return Later(body=body, seen=f"stack_status {action}_{status}")
        if status == "COMPLETE":
            return Ready(body)
        return Failed(str(body.get("stack_status_reason") or f"{action}_{status}"), "Error")

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the current values of the given parameters, except hidden ones."""
        parameters, current = ctx.given("parameters") or {}, body.get("parameters") or {}
        values = {name: current[name] for name in parameters if name in current}
        if not parameters or MASK in values.values():
            return {}
        prop = self.properties["parameters"]
        return {"parameters": observed_value(prop, parameters, parameters, values)}

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return (await self.about(ctx, "GET")).part("stack")

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        if not ctx.body:  # not read yet, as after an adoption
            return {}
        attributes: dict[str, Any] = {"stack_name": ctx.body.get("stack_name", ctx.physical_name)}
        if "outputs" in ctx.body:
            rows = ctx.body["outputs"]
            attributes["outputs"] = {row["output_key"]: row.get("output_value") for row in rows}
        return attributes

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        ctx.body = await self.show(ctx)
        return ctx.body if name == "show" else self.recordable(ctx).get(name)

    async def about(
        self, ctx: ResourceContext, method: str, below: str = "", **options: Any
    ) -> Response:
        """Send a request about the stack to the Orchestration API of the cloud that contains it.

        If it does not have the name of this record, as after an adoption, its id leads to its name.
        Otherwise "not found" would mean that it is deleted.
        """
        target = await reached(ctx.cloud, ctx.given("context"))
        ident = ctx.physical
        try:
            path = f"/stacks/{segment(ctx.physical_name)}/{segment(ident)}{below}"
            return await target.request(SERVICE, method, path, **options)
        except NotFound:
            names = [
                str(stack["stack_name"]) for stack in await target.listing(SERVICE, _by_id(ident))
            ]
            if not names or names[0] == ctx.physical_name:
                raise
        path = f"/stacks/{segment(names[0])}/{segment(ident)}{below}"
        return await target.request(SERVICE, method, path, **options)

    def fields(self, ctx: ResourceContext) -> Body:
        """Return the request fields that are the same for create and update."""
        fields: Body = {
            "template": ctx.properties["template"],
            "parameters": dict(ctx.given("parameters") or {}),
        }
        if ctx.given("timeout"):
            fields["timeout_mins"] = ctx.given("timeout")
        return fields


async def reached(cloud: Cloud, context: Mapping[str, Any] | None) -> Cloud:
    """Return the cloud that the property `context` names: another region or credential, or `cloud`.

    Raises CloudFault, of type OutOfReach if the context is wrong. It is never "not found", because
    that would mean that the stack is deleted.
    """
    context = context or {}
    region, secret = context.get("region_name"), context.get("credential_secret_id")
    insecure, authority = bool(context.get("insecure")), context.get("ca_cert") or None
    if not (region or secret or insecure or authority):
        return cloud
    credential = None
    if secret:
        try:
            credential = foreign_credential(await payload(cloud, secret))
        except NoCredential as wrong:
            raise _out_of_reach(f'The secret "{secret}" holds no credential: {wrong}') from None
        except CloudFault as fault:
            if fault.passing:
                raise
            message = f'The secret "{secret}" of the credential cannot be read: {fault.message}'
            raise _out_of_reach(message) from fault
    tls = Tls(insecure=insecure, ca_text=authority) if insecure or authority else None
    try:
        target = cloud.elsewhere(region=region, credential=credential, tls=tls)
        await target.endpoint(SERVICE)
    except CloudFault as fault:
        if isinstance(fault, NoService):
            region = region or (await cloud.whoami()).region
            reason = f"public endpoint for {SERVICE} service in {region} region not found"
            raise _out_of_reach(_unconnected(region, reason)) from fault
        if fault.type == "WrongCertificate":
            raise _out_of_reach(f"context.ca_cert: {fault.message}") from fault
        if credential is None:
            raise
        reason = WHY.get(fault.type, fault.message)
        message = f'The credential in the secret "{secret}" cannot be used: {reason}'
        raise _out_of_reach(message, 0 if fault.passing else 400) from fault
    return target


def _by_id(ident: str) -> str:
    """Return the path of the list in which only the stack with this id can be."""
    return f"/stacks?id={segment(ident)}"


def _unconnected(region: str | None, reason: str) -> str:
    """Return the error message for a region that cannot be reached; clients parse it."""
    return f'Cannot establish connection to Heat endpoint at region "{region}" due to "{reason}"'


def _out_of_reach(message: str, status: int = 400) -> CloudFault:
    return CloudFault(SERVICE, status, OUT_OF_REACH, message)
