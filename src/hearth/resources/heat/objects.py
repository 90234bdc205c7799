"""Swift objects that receive signals through a temporary URL."""

import json
from typing import Any

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import ResourceContext
from hearth.resources.heat.stack_user import password_of

OBJECTS = "object-store"
KEY = "x-account-meta-temp-url-key"


async def temporary_url_key(ctx: ResourceContext) -> str:
    """Return the account's key for temporary URLs; set one if there is none.

    Concurrent callers may all set a key; each returns the key that is stored in the end.
    """
    account = await ctx.cloud.request(OBJECTS, "HEAD", "")
    if not account.headers.get(KEY):
        headers = {"X-Account-Meta-Temp-URL-Key": password_of(ctx)}
        await ctx.cloud.request(OBJECTS, "POST", "", headers=headers, idempotent=True)
        account = await ctx.cloud.request(OBJECTS, "HEAD", "")
    return account.headers[KEY]


async def put_document(cloud: Cloud, container: str, name: str, document: Any) -> None:
    """Write a document into an object, as JSON."""
    path = f"/{segment(container)}/{segment(name)}"
    await cloud.request(OBJECTS, "PUT", path, data=json.dumps(document), idempotent=True)


async def drop_object(ctx: ResourceContext, container: str, name: str) -> None:
    """Delete an object, and its container if that is empty then.

    In a container with versions, a delete restores the previous version; repeat until none is left.
    """
    path = f"/{segment(container)}/{segment(name)}"
    try:
        while True:
            await ctx.cloud.request(OBJECTS, "DELETE", path, idempotent=True)
    except CloudFault as fault:
        if not fault.not_found:
            raise
    try:
        await ctx.cloud.request(OBJECTS, "DELETE", f"/{segment(container)}", idempotent=True)
    except CloudFault as fault:
        if not (fault.not_found or fault.conflict):
            raise
