"""Queues through which servers and the engine communicate, in the stack's domain project.

All calls use the credentials of the resource's own user. Source: docs/spec/software-config.md, 7.
"""

import re
from collections.abc import Sequence
from typing import Any

from hearth.cloud.contract import Cloud, Response
from hearth.cloud.fault import CloudFault, NotFound, NoToken
from hearth.cloud.path import segment
from hearth.resources.base import ResourceContext
from hearth.resources.heat.stack_user import users_of
from hearth.resources.zaqar.base import CLIENT

MESSAGES = "messaging"
TTL_S = 3600
LISTED_MAX = 20  # messages at a time, as many as the service gives at most
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def queue_name(ctx: ResourceContext) -> str:
    """Return the name of the resource's queue: its physical name, or its record id if that is no
    valid queue name.
    """
    return ctx.physical_name if NAME.fullmatch(ctx.physical_name) else ctx.record_id


async def own_cloud(ctx: ResourceContext) -> Cloud:
    """Return the cloud connection with the credentials of the resource's own user."""
    return await users_of(ctx).cloud(ctx.data["user_id"], ctx.data["password"])


async def make_queue(ctx: ResourceContext, name: str) -> None:
    """Create a queue, unless it exists."""
    await _call(await own_cloud(ctx), "PUT", name)


async def drop_queue(ctx: ResourceContext, name: str) -> None:
    """Delete a queue with its messages, even if the user is disabled."""
    try:
        await users_of(ctx).enable(ctx.data["user_id"], key=ctx.key, enabled=True)
        await _call(await own_cloud(ctx), "DELETE", name)
    except CloudFault as fault:
        user_is_gone = isinstance(fault, NoToken) and fault.status == 401
        if not (user_is_gone or isinstance(fault, NotFound)):
            raise


async def post(cloud: Cloud, name: str, document: Any) -> None:
    """Post a document to a queue. If the answer is lost and the call repeated, it is posted
    twice.
    """
    messages = {"messages": [{"body": document, "ttl": TTL_S}]}
    await _call(cloud, "POST", name, "/messages", json=messages)


async def messages_in(ctx: ResourceContext, name: str) -> dict[str, Any]:
    """Return the oldest messages, at most LISTED_MAX, as {message id: body}; they stay in the
    queue.
    """
    path = f"/messages?echo=true&limit={LISTED_MAX}"
    answer = await _call(await own_cloud(ctx), "GET", name, path)
    messages = (answer.body or {}).get("messages", ())
    return {str(message["id"]): message["body"] for message in messages}


async def drop_messages(ctx: ResourceContext, name: str, ids: Sequence[str]) -> None:
    """Delete the messages with these ids from the queue `name`."""
    if ids:
        await _call(await own_cloud(ctx), "DELETE", name, f"/messages?ids={segment(','.join(ids))}")


async def _call(cloud: Cloud, method: str, name: str, path: str = "", **options: Any) -> Response:
    full_path = f"/v2/queues/{segment(name)}{path}"
    return await cloud.request(
        MESSAGES, method, full_path, headers=CLIENT, idempotent=True, **options
    )
