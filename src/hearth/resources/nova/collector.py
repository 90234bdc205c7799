"""How the agent in a server gets its metadata: credentials and the section os-collect-config.

Only servers with user data in the format SOFTWARE_CONFIG have it. Source: software-config.md, 8.
"""

from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.heat import objects as heat_objects
from hearth.resources.heat.objects import OBJECTS, put_document, temporary_url_key
from hearth.resources.heat.signed_url import NEVER, temporary_url
from hearth.resources.heat.stack_user import StackUser

SECTION = "os-collect-config"
DEFAULT_COLLECTORS = ("ec2",)
COLLECTORS = {
    "POLL_SERVER_CFN": "cfn",
    "POLL_SERVER_HEAT": "heat",
    "POLL_TEMP_URL": "request",
    "ZAQAR_MESSAGE": "zaqar",
}
USER = "user:"  # before the id of an orphan user, which is no server
_user = StackUser()


def wanted(ctx: ResourceContext) -> bool:
    """Return whether the server accepts software deployments."""
    return bool(ctx.given("user_data_format") == "SOFTWARE_CONFIG")


def steps(ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps that create what the transport needs and then write the metadata."""
    if not wanted(ctx):
        return ()
    before: tuple[Step, ...] = ()
    match ctx.given("software_config_transport"):
        case "POLL_SERVER_HEAT":
            before = _user.user_steps(ctx)
        case "POLL_TEMP_URL":
            before = (Step("metadata-object", make_object),)
        case "ZAQAR_MESSAGE":
            before = (Step("metadata-queue", no_queue),)
        case _:
            before = _user.user_steps(ctx, keys=True)
    return (*before, Step("collector", write))


def change_steps(ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps of an update; they first delete an object that is no longer polled."""
    data = ctx.data
    there = (data.get("metadata_container"), data.get("metadata_object"))
    polled = ctx.given("software_config_transport") == "POLL_TEMP_URL"
    left = "metadata_object" in data and not (polled and there == place(ctx))
    return (*((Step("drop-object", drop_object),) if left else ()), *steps(ctx))


def drop_steps(ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps that delete what the transport needed."""
    objects = (Step("drop-object", drop_object),) if "metadata_object" in ctx.data else ()
    return (*objects, *_user.drop_user_steps(ctx))


async def stray_users(ctx: ResourceContext) -> list[str]:
    """Return users with the record's key that are not recorded, each id with a prefix."""
    return [f"{USER}{ident}" for ident in await _user.orphans(ctx)] if wanted(ctx) else []


async def drop_user(ctx: ResourceContext, user_id: str) -> None:
    """Delete an orphan user."""
    await _user.delete_orphan(ctx, user_id)


def shut_out(ctx: ResourceContext) -> tuple[Step, ...]:
    """Disable the server's user."""
    return _user.suspend_steps(ctx) if ctx.data.get("user_id") else ()


def let_in(ctx: ResourceContext) -> tuple[Step, ...]:
    """Enable the server's user."""
    return _user.resume_steps(ctx) if ctx.data.get("user_id") else ()


async def write(ctx: ResourceContext) -> Made:
    """Write the metadata document: the template's metadata and the section of the agent."""
    text = document(ctx)
    if "metadata_object" in ctx.data:
        data = ctx.data
        there = (data["metadata_container"], data["metadata_object"])
        await put_document(ctx.cloud, *there, text)
    return Made(metadata=text)


def document(ctx: ResourceContext) -> Body:
    """Return the document that the guest reads; the keys of a former transport become null."""
    given = dict(ctx.metadata.get(SECTION) or {})
    kind = COLLECTORS[str(ctx.given("software_config_transport") or "POLL_SERVER_CFN")]
    section: Body = {}
    for name, value in given.items():
        former = name in COLLECTORS.values() and name != kind and isinstance(value, dict)
        section[name] = dict.fromkeys(value) if former else value
    section["collectors"] = [*DEFAULT_COLLECTORS, kind, "local"]
    section[kind] = access(ctx, kind)
    return {**ctx.metadata, SECTION: section, "deployments": ctx.metadata.get("deployments", [])}


def access(ctx: ResourceContext, kind: str) -> Body:
    """Return what the agent needs for a transport, for example addresses and credentials."""
    data, stack = ctx.data, ctx.stack
    match kind:
        case "cfn":
            return {
                "metadata_url": stack.metadata_url or stack.cfn_url,
                "access_key_id": data.get("access_key"),
                "secret_access_key": data.get("secret_key"),
                "stack_name": stack.name,
                "path": f"{ctx.name}.Metadata",
            }
        case "heat":
            return {
                "user_id": data.get("user_id"),
                "password": data.get("password"),
                "auth_url": stack.identity_url,
                "project_id": stack.user_project_id or stack.project_id,
                "stack_id": f"{stack.name}/{stack.id}",
                "resource_name": ctx.name,
                "region_name": stack.region,
            }
        case _:
            return {"metadata_url": data.get("metadata_url")}


async def make_object(ctx: ResourceContext) -> Made:
    """Create the object that the guest polls, and its temporary URL."""
    container, name = place(ctx)
    key = await temporary_url_key(ctx)
    await ctx.cloud.request(OBJECTS, "PUT", f"/{segment(container)}", idempotent=True)
    await put_document(ctx.cloud, container, name, {})
    base = await ctx.cloud.endpoint(OBJECTS)
    url = temporary_url(base, key, container, name, ends=NEVER, verb="GET")
    return Made(
        data={"metadata_url": url, "metadata_container": container, "metadata_object": name}
    )


def place(ctx: ResourceContext) -> tuple[str, str]:
    """Return container and name of the object that the guest polls."""
    given: dict[str, Any] = ctx.given("deployment_swift_data") or {}
    return given.get("container") or ctx.physical_name, given.get("object") or ctx.record_id


async def drop_object(ctx: ResourceContext) -> Made:
    """Delete the object, and the container if that was the last one."""
    await heat_objects.drop_object(ctx, ctx.data["metadata_container"], ctx.data["metadata_object"])
    return Made(data={"metadata_object": None, "metadata_url": None, "metadata_container": None})


async def no_queue(ctx: ResourceContext) -> Made:
    """Raise CloudFault: metadata through a queue is not supported yet."""
    words = "ZAQAR_MESSAGE needs the messaging service, which is not available here."
    raise CloudFault("messaging", 400, "ResourceTypeUnavailable", words)
