"""OS::Heat::Stack: a stack of its own, made through the orchestration API."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.state import Action
from hearth.resources.base import (
    Change,
    Failed,
    IntentKey,
    Later,
    Live,
    Made,
    Progress,
    Ready,
    ResourceType,
    Step,
)
from hearth.resources.collection import forgiving
from hearth.schema import BOOLEAN, INTEGER, MAP, STRING, Attr, Prop

SERVICE = "orchestration"


class Stack(ResourceType):
    """A stack beside this one, with a template and parameters of its own.

    Its name is the generated one, which no other stack of the project has.
    """

    type_name = "OS::Heat::Stack"
    properties = {
        "context": Prop(
            MAP,
            "Where to make the stack.",
            update_allowed=True,
            schema={
                "ca_cert": Prop(
                    STRING,
                    "Certificate of the authority to trust.",
                    update_allowed=True,
                    since="12.0.0",
                ),
                "credential_secret_id": Prop(
                    STRING, "Secret that holds the credential.", update_allowed=True, since="12.0.0"
                ),
                "insecure": Prop(
                    BOOLEAN,
                    "Whether to trust any certificate.",
                    default=False,
                    update_allowed=True,
                    since="12.0.0",
                ),
                "region_name": Prop(STRING, "Name of the region."),
            },
        ),
        "parameters": Prop(MAP, "Parameters of the stack.", default={}, update_allowed=True),
        "template": Prop(STRING, "Its template, as text.", required=True, update_allowed=True),
        "timeout": Prop(INTEGER, "Minutes that an operation may take.", update_allowed=True),
    }
    attributes = {
        "outputs": Attr(MAP, "Its outputs."),
        "stack_name": Attr(STRING, "Its name."),
    }
    service = SERVICE
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the stack keeps"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("create", self.create, self.find, self.wait),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("update", self.update, self.updated, self.wait),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("delete", self.delete, poll=self.wait),) if live.physical_id else ()

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("check", self.act, poll=self.wait),)

    def suspend_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("suspend", self.act, self.acted, self.wait),)

    def resume_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("resume", self.act, self.acted, self.wait),)

    def check_properties(self, properties: Mapping[str, Any]) -> Iterable[str]:
        context = properties.get("context") or {}
        for name in ("credential_secret_id", "ca_cert"):
            if context.get(name):
                yield f"context.{name} is not supported: stacks are made in this cloud"

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        """Why the stack could not be made where it shall be. Raises CloudFault."""
        own = (await cloud.whoami()).region
        region = str((properties.get("context") or {}).get("region_name") or own)
        if region != str(own):
            return [await _elsewhere(cloud, region)]
        template = properties.get("template")
        if template is None:  # not known yet
            return []
        try:
            await cloud.request(
                SERVICE, "POST", "/validate", json={"template": template}, idempotent=True
            )
        except CloudFault as fault:
            if fault.status != 400:
                raise
            words = f'using Heat endpoint at region "{region}" due to "ERROR: {fault.message}"'
            return [f"Failed validating stack template {words}"]
        return []

    def must_replace(self, change: Change) -> str | None:
        def region(properties: Mapping[str, Any]) -> Any:
            return (properties.get("context") or {}).get("region_name")

        moved = "context" in change.changed and region(change.before) != region(change.after)
        return "the region changed" if moved else None

    async def replace_failed(self, live: Live) -> bool:
        """A failed stack is updated."""
        return live.physical_id is None

    async def create(self, live: Live) -> Made:
        """Ask for the stack."""
        region = (live.given("context") or {}).get("region_name")
        if region and live.stack.region and region != live.stack.region:
            words = f"Stacks in another region ({region}) are not supported."
            raise CloudFault(SERVICE, 400, "NotSupported", words)
        fields = {**self.fields(live), "stack_name": live.physical_name, "disable_rollback": True}
        answer = await live.cloud.request(SERVICE, "POST", "/stacks", json=fields)
        return Made(physical_id=str(answer.part("stack")["id"]))

    async def find(self, live: Live) -> Made | None:
        for stack in await live.cloud.listing(SERVICE, f"/stacks?name={live.physical_name}"):
            if stack.get("stack_name") == live.physical_name:
                return Made(physical_id=str(stack["id"]), body=stack)
        return None

    async def update(self, live: Live) -> Made | None:
        """Ask for the update."""
        await live.cloud.request(SERVICE, "PUT", self.path(live), json=self.fields(live))
        return None

    async def updated(self, live: Live) -> Made | None:
        """Whether an update is under way."""
        body = await self.show(live) or {}
        return Made(body=body) if body.get("stack_status") == "UPDATE_IN_PROGRESS" else None

    async def delete(self, live: Live) -> Made | None:
        """Ask for the end of the stack; what is gone already is done."""
        await forgiving(live.cloud.request(SERVICE, "DELETE", self.path(live), idempotent=True))
        return None

    async def act(self, live: Live) -> Made | None:
        """Have the stack do what is done to this resource."""
        action = {live.action.value.lower(): None}
        await live.cloud.request(SERVICE, "POST", f"{self.path(live)}/actions", json=action)
        return None

    async def acted(self, live: Live) -> Made | None:
        """Whether it does so already."""
        body = await self.show(live) or {}
        begun = str(body.get("stack_status", "")).startswith(f"{live.action.value}_")
        return Made(body=body) if begun else None

    async def wait(self, live: Live) -> Progress:
        """Whether the stack has ended what it was asked for."""
        try:
            body = await self.show(live) or {}
        except CloudFault as fault:
            if fault.not_found and live.action is Action.DELETE:
                return Ready()
            raise
        action, _, status = str(body.get("stack_status", "")).partition("_")
        if action != live.action.value or status == "IN_PROGRESS":
            return Later(body=body)
        if status == "COMPLETE":
            return Ready(body)
        return Failed(str(body.get("stack_status_reason") or f"{action}_{status}"), "Error")

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        return (await live.cloud.request(SERVICE, "GET", self.path(live))).part("stack")

    def recordable(self, live: Live) -> dict[str, Any]:
        shown: dict[str, Any] = {"stack_name": live.physical_name}
        if live.body and "outputs" in live.body:
            rows = live.body["outputs"]
            shown["outputs"] = {row["output_key"]: row.get("output_value") for row in rows}
        return shown

    async def attribute(self, live: Live, name: str) -> Any:
        live.body = await self.show(live)
        return live.body if name == "show" else self.recordable(live).get(name)

    def fields(self, live: Live) -> Body:
        """What create and update have in common."""
        fields: Body = {
            "template": live.properties["template"],
            "parameters": dict(live.given("parameters") or {}),
        }
        if live.given("timeout"):
            fields["timeout_mins"] = live.given("timeout")
        return fields

    def path(self, live: Live) -> str:
        """The stack's URL."""
        return f"/stacks/{live.physical_name}/{live.physical}"


async def _elsewhere(cloud: Cloud, region: str) -> str:
    """Why no stack can be made in another region. The first form is one that programs read."""
    answer = await cloud.request("identity", "GET", "/v3/auth/catalog")
    for service in answer.body["catalog"]:
        if service["type"] == SERVICE and any(
            region in (one.get("region_id"), one.get("region")) for one in service["endpoints"]
        ):
            return f"Stacks in another region ({region}) are not supported."
    return (
        f'Cannot establish connection to Heat endpoint at region "{region}" due to '
        f'"public endpoint for {SERVICE} service in {region} region not found"'
    )
