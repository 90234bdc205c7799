"""OS::Heat::Stack: a stack of its own, made through the orchestration API.

It may be in another region, or in another cloud by a credential that its owner keeps as a secret.
What the secret says is read for each call and kept nowhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body, Cloud, Response
from hearth.cloud.fault import CloudFault
from hearth.cloud.foreign_credential import NoCredential, foreign_credential
from hearth.cloud.path import segment
from hearth.cloud.reach import Tls
from hearth.model.state import Action
from hearth.resources.barbican.base import payload
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
OUT_OF_REACH = "OutOfReach"
WHY = {
    "ConnectFailure": "its auth_url does not answer",
    "NoAnswer": "its auth_url does not answer",
    "SSLError": "the certificate at its auth_url is not believed",
}
"""What is wrong with a credential, by the fault; its address belongs to the secret."""


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
                    "Certificate of the authority to trust there, as PEM text.",
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
                    "true: any certificate is accepted there.",
                    default=False,
                    update_allowed=True,
                    since="12.0.0",
                ),
                "region_name": Prop(STRING, "Name of the region; this one when not given."),
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

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        """Why the stack could not be made where it shall be. Raises CloudFault."""
        context = properties.get("context", {})
        if context is None:  # not known yet
            return []
        try:
            there = await reached(cloud, context)
        except CloudFault as fault:
            if fault.type != OUT_OF_REACH:
                raise
            return [fault.message]
        template = properties.get("template")
        if template is None:  # not known yet
            return []
        try:
            await there.request(
                SERVICE, "POST", "/validate", json={"template": template}, idempotent=True
            )
        except CloudFault as fault:
            if there is cloud and fault.status != 400:
                raise
            region = context.get("region_name") or (await cloud.whoami()).region
            if fault.passing:
                return [_unconnected(region, fault.message)]
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
        fields = {**self.fields(live), "stack_name": live.physical_name, "disable_rollback": True}
        answer = await self.request(live, "POST", "/stacks", json=fields)
        return Made(physical_id=str(answer.part("stack")["id"]))

    async def find(self, live: Live) -> Made | None:
        there = await reached(live.cloud, live.given("context"))
        for stack in await there.listing(SERVICE, f"/stacks?name={segment(live.physical_name)}"):
            if stack.get("stack_name") == live.physical_name:
                return Made(physical_id=str(stack["id"]), body=stack)
        return None

    async def update(self, live: Live) -> Made | None:
        """Ask for the update."""
        await self.request(live, "PUT", self.path(live), json=self.fields(live))
        return None

    async def updated(self, live: Live) -> Made | None:
        """Whether an update is under way."""
        body = await self.show(live) or {}
        return Made(body=body) if body.get("stack_status") == "UPDATE_IN_PROGRESS" else None

    async def delete(self, live: Live) -> Made | None:
        """Ask for the end of the stack; what is gone already is done."""
        await forgiving(self.request(live, "DELETE", self.path(live), idempotent=True))
        return None

    async def act(self, live: Live) -> Made | None:
        """Have the stack do what is done to this resource."""
        action = {live.action.value.lower(): None}
        await self.request(live, "POST", f"{self.path(live)}/actions", json=action)
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
        return (await self.request(live, "GET", self.path(live))).part("stack")

    def recordable(self, live: Live) -> dict[str, Any]:
        shown: dict[str, Any] = {"stack_name": live.physical_name}
        if live.body and "outputs" in live.body:
            rows = live.body["outputs"]
            shown["outputs"] = {row["output_key"]: row.get("output_value") for row in rows}
        return shown

    async def attribute(self, live: Live, name: str) -> Any:
        live.body = await self.show(live)
        return live.body if name == "show" else self.recordable(live).get(name)

    async def request(self, live: Live, method: str, path: str, **more: Any) -> Response:
        """A call where the stack is."""
        there = await reached(live.cloud, live.given("context"))
        return await there.request(SERVICE, method, path, **more)

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
        return f"/stacks/{segment(live.physical_name)}/{segment(live.physical)}"


async def reached(cloud: Cloud, context: Mapping[str, Any] | None) -> Cloud:
    """The cloud that a context names. Raises CloudFault, of the type OUT_OF_REACH where the context
    is to blame; never one of a thing that is not there: then the stack would seem to be gone."""
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
            words = f'The secret "{secret}" of the credential cannot be read: {fault.message}'
            raise _out_of_reach(words) from fault
    tls = Tls(insecure=insecure, ca_text=authority) if insecure or authority else None
    try:
        there = cloud.elsewhere(region=region, credential=credential, tls=tls)
        await there.endpoint(SERVICE)
    except CloudFault as fault:
        if fault.type == "EndpointNotFound":
            region = region or (await cloud.whoami()).region
            why = f"public endpoint for {SERVICE} service in {region} region not found"
            raise _out_of_reach(_unconnected(region, why)) from fault
        if fault.type == "WrongCertificate":
            raise _out_of_reach(f"context.ca_cert: {fault.message}") from fault
        if credential is None:
            raise
        why = WHY.get(fault.type, fault.message)
        words = f'The credential in the secret "{secret}" does not serve: {why}'
        raise _out_of_reach(words, 0 if fault.passing else 400) from fault
    return there


def _unconnected(region: str | None, why: str) -> str:
    """Programs read this."""
    return f'Cannot establish connection to Heat endpoint at region "{region}" due to "{why}"'


def _out_of_reach(words: str, status: int = 400) -> CloudFault:
    return CloudFault(SERVICE, status, OUT_OF_REACH, words)
