"""Queues of the messaging service into which servers put their results.

Source: spec/software-config.md, section 7.
"""

import json
import uuid
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import ResourceContext

MESSAGES = "messaging"


async def make(ctx: ResourceContext) -> dict[str, str | None]:
    """Create the queue under the physical name; return the private data that names it."""
    name = ctx.physical_name
    await _request(ctx, "PUT", f"/v2/queues/{segment(name)}", json={})
    return {"queue": name}


async def popped(ctx: ResourceContext, queue: str) -> Any:
    """Take one message from the queue and return its content, or None if the queue is empty."""
    path = f"/v2/queues/{segment(queue)}/messages?pop=1"
    body = await _request(ctx, "DELETE", path)
    messages = body.get("messages") or ()
    if not messages:
        return None
    content = messages[0]["body"]
    if not isinstance(content, str):
        return content
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return {}


async def drop(ctx: ResourceContext, queue: str) -> None:
    """Delete the queue."""
    try:
        await _request(ctx, "DELETE", f"/v2/queues/{segment(queue)}")
    except CloudFault as fault:
        if not fault.not_found:
            raise


async def _request(ctx: ResourceContext, method: str, path: str, **more: Any) -> Body:
    headers = {"Client-ID": str(uuid.uuid5(uuid.NAMESPACE_URL, ctx.record_id))}
    answer = await ctx.cloud.request(
        MESSAGES, method, path, headers=headers, idempotent=True, **more
    )
    return answer.body if isinstance(answer.body, dict) else {}
