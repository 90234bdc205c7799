"""How the agent in a server gets its metadata document.

The agent polls an API, a Swift object or a queue. Hearth writes the document to the object or
queue, which is called a *channel*. The document's section os-collect-config contains the transport
and its credentials. Source: docs/spec/software-config.md, section 8.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault
from hearth.resources.base import Made, ResourceContext, Step, Users
from hearth.resources.heat.objects import (
    OBJECTS,
    drop_object,
    in_new_container,
    orphan_objects,
    put_document,
    temporary_url_key,
)
from hearth.resources.heat.queues import drop_queue, make_queue, post, queue_name
from hearth.resources.heat.signed_url import NEVER, temporary_url
from hearth.resources.heat.stack_user import StackUser

SECTION = "os-collect-config"
COLLECTORS = {
    "POLL_SERVER_CFN": "cfn",
    "POLL_SERVER_HEAT": "heat",
    "POLL_TEMP_URL": "request",
    "ZAQAR_MESSAGE": "zaqar",
}
PROPERTIES = frozenset({"software_config_transport", "deployment_swift_data"})
"""The server properties that configure the transport."""
CONTAINER, OBJECT, QUEUE = "metadata_container", "metadata_object", "metadata_queue"
FORMER = "former_channels"
"""Keys of private data.

The first three name the container, the object and the queue of the current channel. The last
contains the former channels as a JSON list.
"""
_user = StackUser()
ORPHAN_PREFIXES = StackUser.orphan_prefixes


class ConfigTransport(Struct, frozen=True):
    """The steps with which a server type delivers the metadata document to the agent.

    `default_collectors` are the names of the agent's collectors that run before the chosen
    transport.
    """

    default_collectors: tuple[str, ...] = ()

    def steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps of a create: create the user, object or queue, then write the
        document.
        """
        before: tuple[Step, ...] = ()
        match transport_of(ctx):
            case "POLL_SERVER_HEAT":
                before = _user.user_steps(ctx)
            case "POLL_TEMP_URL":
                before = (Step("metadata-object", make_object),)
            case "ZAQAR_MESSAGE":
                before = (*_user.user_steps(ctx), Step("metadata-queue", make_own_queue))
            case _:
                before = _user.user_steps(ctx, keys=True)
        return (*before, Step("collector", self.write))

    def change_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps for a change of the transport's properties or of the template's
        metadata.

        The agent learns about a new channel from the document in the previous channel, so the
        previous channel is kept.
        """
        if ctx.changed & PROPERTIES:
            leaves = channel_in(ctx.data) not in ({}, channel_of(ctx))
            return (*((Step("leave-channel", leave),) if leaves else ()), *self.steps(ctx))
        return (Step("collector", self.write),) if ctx.template_metadata is not None else ()

    async def write(self, ctx: ResourceContext) -> Made:
        """Write the metadata document to the current channel and to the former ones."""
        document = self.document(ctx, await _now(ctx))
        await push(ctx.cloud, ctx.users, ctx.data, document)
        for channel in former(ctx):
            with suppress(
                CloudFault
            ):  # only an agent that has not yet moved to the new channel reads it
                await push(ctx.cloud, ctx.users, _as_current(ctx.data, channel), document)
        return Made(metadata=document)

    def document(self, ctx: ResourceContext, before: Mapping[str, Any]) -> Body:
        """Return the metadata document, with the section os-collect-config for the current
        transport.

        `before` is the current metadata. Settings of a former transport become null.
        """
        after = ctx.template_metadata
        settings = dict(before.get(SECTION) or {})
        if after is not None:
            settings |= after.get(SECTION) or {}
        kind = COLLECTORS[transport_of(ctx)]
        section: Body = {}
        for name, value in settings.items():
            is_former = name in COLLECTORS.values() and name != kind and isinstance(value, dict)
            section[name] = dict.fromkeys(value) if is_former else value
        section["collectors"] = [*self.default_collectors, kind, "local"]
        section[kind] = access(ctx, kind)
        base = before if after is None else after
        return {**base, SECTION: section, "deployments": before.get("deployments", [])}


async def _now(ctx: ResourceContext) -> Mapping[str, Any]:
    """Return the resource's current metadata from the database; deployments may have changed it."""
    if ctx.physical_id is None or ctx.read_metadata is None:
        return ctx.metadata
    return await ctx.read_metadata(ctx.physical_id) or ctx.metadata


def drop_steps(ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps that delete the channels and the user."""
    channels = (Step("drop-channels", drop_channels),) if _doomed(ctx) else ()
    return (*channels, *_user.drop_user_steps(ctx))


async def orphan_parts(ctx: ResourceContext) -> list[str]:
    """Return what lost calls left: each orphan user or key pair, as `StackUser.orphans` does, and
    the object.

    An orphan user was created under the record's intent key, but its id is not in the record.
    """
    return [*await _user.orphans(ctx), *await orphan_channel(ctx)]


async def orphan_channel(ctx: ResourceContext) -> list[str]:
    """Return the object that a lost call left, as `objects.orphan_objects` does."""
    if transport_of(ctx) != "POLL_TEMP_URL" or OBJECT in ctx.data:
        return []
    return await orphan_objects(ctx, *swift_location(ctx))


async def drop_orphan(ctx: ResourceContext, orphan: str) -> None:
    """Delete what `orphan_parts` has found."""
    await _user.delete_orphan(ctx, orphan)


def shut_out(ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps of a suspend: disable the server's user."""
    return _user.suspend_steps(ctx)


def let_in(ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps of a resume: enable the server's user."""
    return _user.resume_steps(ctx)


def transport_of(ctx: ResourceContext) -> str:
    """Return the property `software_config_transport`, or its default."""
    return str(ctx.given("software_config_transport") or "POLL_SERVER_CFN")


def access(ctx: ResourceContext, kind: str) -> Body:
    """Return the settings of the collector `kind` (cfn, heat, zaqar, request): URLs, credentials,
    names.
    """
    data, stack = ctx.data, ctx.stack
    user = {
        "user_id": data.get("user_id"),
        "password": data.get("password"),
        "auth_url": stack.identity_url,
        "project_id": stack.user_project_id or stack.project_id,
        "region_name": stack.region,
    }
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
            return {**user, "stack_id": f"{stack.name}/{stack.id}", "resource_name": ctx.name}
        case "zaqar":
            return {**user, "queue_id": data.get(QUEUE)}
        case _:
            return {"metadata_url": data.get("metadata_url")}


# channels


async def push(cloud: Cloud, users: Users | None, data: Mapping[str, str], document: Any) -> None:
    """Write the document to the channel that a server's private data names; do nothing if it names
    none.

    `cloud` and `users` are those of the server's stack. Raises CloudFault.
    """
    if OBJECT in data:
        await put_document(cloud, data[CONTAINER], data[OBJECT], document)
    if QUEUE in data and users is not None:
        theirs = await users.cloud(data["user_id"], data["password"])
        await post(theirs, data[QUEUE], document)


def channel_in(data: Mapping[str, str]) -> dict[str, str]:
    """Return the current channel, as stored in private data; empty if there is none."""
    return {key: data[key] for key in (CONTAINER, OBJECT, QUEUE) if key in data}


def channel_of(ctx: ResourceContext) -> dict[str, str]:
    """Return the channel for the transport in the properties; empty if that transport uses no
    channel.
    """
    match transport_of(ctx):
        case "POLL_TEMP_URL":
            container, name = swift_location(ctx)
            return {CONTAINER: container, OBJECT: name}
        case "ZAQAR_MESSAGE":
            return {QUEUE: queue_name(ctx)}
        case _:
            return {}


def former(ctx: ResourceContext) -> list[dict[str, str]]:
    """Return the former channels, oldest first."""
    channels: list[dict[str, str]] = json.loads(ctx.data.get(FORMER, "[]"))
    return channels


def swift_location(ctx: ResourceContext) -> tuple[str, str]:
    """Return (container, object name) of the Swift object that the agent polls."""
    swift_data: dict[str, Any] = ctx.given("deployment_swift_data") or {}
    container, name = swift_data.get("container"), swift_data.get("object")
    return container or ctx.physical_name, name or ctx.record_id


async def leave(ctx: ResourceContext) -> Made:
    """Move the current channel to the list of former channels, which exist as long as the
    server.
    """
    channel = channel_in(ctx.data)
    channels = json.dumps([*former(ctx), channel]) if channel else None
    return Made(data={FORMER: channels or ctx.data.get(FORMER), **dict.fromkeys(channel)})


async def make_object(ctx: ResourceContext) -> Made:
    """Create the Swift object that the agent polls, and its temporary URL."""
    container, name = swift_location(ctx)
    key = await temporary_url_key(ctx)
    async with in_new_container(ctx.cloud, container):
        await put_document(ctx.cloud, container, name, {})
    base = await ctx.cloud.endpoint(OBJECTS)
    url = temporary_url(base, key, container, name, ends=NEVER, verb="GET")
    return Made(data={"metadata_url": url, **_after_create(ctx)})


async def make_own_queue(ctx: ResourceContext) -> Made:
    """Create the queue that the agent reads."""
    await make_queue(ctx, queue_name(ctx))
    return Made(data=_after_create(ctx))


async def drop_channels(ctx: ResourceContext) -> Made:
    """Delete the current and all former channels; delete a container when it is empty."""
    for channel in _doomed(ctx):
        if OBJECT in channel:
            await drop_object(ctx, channel[CONTAINER], channel[OBJECT])
        elif ctx.data.get("user_id"):
            await drop_queue(ctx, channel[QUEUE])
    return Made(data=dict.fromkeys((CONTAINER, OBJECT, QUEUE, FORMER, "metadata_url")))


def _doomed(ctx: ResourceContext) -> list[dict[str, str]]:
    """Return all channels to delete, including a queue whose creation was not confirmed."""
    channels = [channel_in(ctx.data), *former(ctx)]
    if QUEUE in (current := channel_of(ctx)) and ctx.data.get("user_id"):
        channels.append(current)
    return [
        channel for i, channel in enumerate(channels) if channel and channel not in channels[:i]
    ]


def _after_create(ctx: ResourceContext) -> dict[str, str | None]:
    """Return the changes to private data after the channel for the current properties was created.

    That channel becomes the current one and is removed from the list of former channels.
    """
    channel = channel_of(ctx)
    remaining = [old for old in former(ctx) if old != channel]
    return {**channel, FORMER: json.dumps(remaining) if remaining else None}


def _as_current(data: Mapping[str, str], channel: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in data.items() if k in ("user_id", "password")} | dict(channel)
