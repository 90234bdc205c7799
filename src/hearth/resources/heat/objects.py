"""Swift objects that receive signals through a temporary URL."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import Any

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault, NoAnswer, NotFound
from hearth.cloud.path import segment
from hearth.model.json_text import parse_json
from hearth.resources.base import ResourceContext
from hearth.resources.heat.password import password_of
from hearth.resources.heat.signed_url import NEVER, temporary_url

OBJECTS = "object-store"
KEY = "x-account-meta-temp-url-key"
ORPHAN = "object:"  # before the path of an object that a lost call left


async def temporary_url_key(ctx: ResourceContext) -> str:
    """Return the Swift account's key for temporary URLs; set one if there is none.

    All stacks of a project set the same key. With keys of their own, callers at the same time would
    make each other's URLs invalid.
    """
    account = await ctx.cloud.request(OBJECTS, "HEAD", "")
    if not account.headers.get(KEY):
        headers = {"X-Account-Meta-Temp-URL-Key": ctx.account_secret() or password_of(ctx)}
        await ctx.cloud.request(OBJECTS, "POST", "", headers=headers, idempotent=True)
        account = await ctx.cloud.request(OBJECTS, "HEAD", "")
    return account.headers[KEY]


@asynccontextmanager
async def in_new_container(cloud: Cloud, container: str) -> AsyncIterator[None]:
    """Create a container, unless it exists. If the calls that follow are refused, delete it again,
    unless it has objects.
    """
    await cloud.request(OBJECTS, "PUT", f"/{segment(container)}", idempotent=True)
    try:
        yield
    except NoAnswer:  # there may be an object, for which the engine searches
        raise
    except CloudFault:
        with suppress(CloudFault):
            await drop_container(cloud, container)
        raise


async def make_signal_object(ctx: ResourceContext) -> dict[str, str | None]:
    """Create the object that receives a server's signal.

    Returns the private data to store: the temporary URL, the container and the object's name.
    """
    container, name = ctx.stack.id, ctx.physical_name
    key = await temporary_url_key(ctx)
    path = f"/{segment(container)}/{segment(name)}"
    async with in_new_container(ctx.cloud, container):
        await ctx.cloud.request(OBJECTS, "PUT", path, data=b"", idempotent=True)
    base = await ctx.cloud.endpoint(OBJECTS)
    url = temporary_url(base, key, container, name, ends=NEVER)
    return {"signal_url": url, "object_name": name, "container": container}


async def orphan_objects(ctx: ResourceContext, container: str, name: str) -> list[str]:
    """Return what a lost call left of an object: the object, or its container if that is empty.

    The result is empty or has one item, the path of the object with the prefix "object:".
    """
    try:
        response = await ctx.cloud.request(OBJECTS, "HEAD", f"/{segment(container)}")
    except NotFound:
        return []
    path = f"/{segment(container)}/{segment(name)}"
    if response.headers.get("x-container-object-count") != "0":
        try:
            await ctx.cloud.request(OBJECTS, "HEAD", path)
        except NotFound:
            return []
    return [ORPHAN + container + "/" + name]


async def drop_orphan(ctx: ResourceContext, orphan: str) -> None:
    """Delete what `orphan_objects` has found."""
    container, _, name = orphan.removeprefix(ORPHAN).partition("/")
    await drop_object(ctx, container, name)


async def empty_object(ctx: ResourceContext, container: str, name: str) -> None:
    """Remove the signal from an object, so that the next one is recognized without a comparison of
    the clocks of Swift and Hearth. Do nothing if the container is gone.
    """
    path = f"/{segment(container)}/{segment(name)}"
    with suppress(NotFound):
        await ctx.cloud.request(OBJECTS, "PUT", path, data=b"", idempotent=True)


async def signal_in(ctx: ResourceContext, container: str, name: str) -> Any:
    """Return the signal in an object; None if it is empty.

    A signal that is not valid JSON is returned as an empty map.
    """
    path = f"/{segment(container)}/{segment(name)}"
    head = (await ctx.cloud.request(OBJECTS, "HEAD", path)).headers
    if head.get("content-length") == "0":
        return None
    body = (await ctx.cloud.request(OBJECTS, "GET", path)).body
    if not isinstance(body, str):
        return body
    try:
        return parse_json(body)
    except ValueError:
        return {}


def written_at(headers: Mapping[str, str]) -> float:
    """Return when an object was written, in seconds since 1970; 0 if the headers do not contain the
    time.
    """
    try:
        return float(headers["x-timestamp"])
    except (KeyError, ValueError):
        pass
    try:
        return parsedate_to_datetime(headers["last-modified"]).timestamp()
    except (KeyError, ValueError):
        return 0.0


async def put_document(cloud: Cloud, container: str, name: str, document: Any) -> None:
    """Write a document into an object, as JSON."""
    path = f"/{segment(container)}/{segment(name)}"
    await cloud.request(OBJECTS, "PUT", path, data=json.dumps(document), idempotent=True)


async def drop_object(ctx: ResourceContext, container: str, name: str) -> None:
    """Delete an object with all its versions, then its container if it is empty.

    In a container that keeps versions, each delete restores the previous version, so the delete is
    repeated until the object is not found.
    """
    path = f"/{segment(container)}/{segment(name)}"
    try:
        while True:
            await ctx.cloud.request(OBJECTS, "DELETE", path, idempotent=True)
    except NotFound:
        pass
    await drop_container(ctx.cloud, container)


async def drop_container(cloud: Cloud, container: str) -> None:
    """Delete a container, if it exists and is empty.

    Raises the fault if Swift reports a conflict although no object is in the container: the delete
    must be repeated then, because nobody else would do it.
    """
    path = f"/{segment(container)}"
    try:
        await cloud.request(OBJECTS, "DELETE", path, idempotent=True)
    except NotFound:
        pass
    except CloudFault as fault:
        if not fault.conflict or await _is_empty(cloud, path):
            raise


async def _is_empty(cloud: Cloud, path: str) -> bool:
    """Return whether a container has no objects; one that is gone has none either."""
    try:
        response = await cloud.request(OBJECTS, "HEAD", path)
    except NotFound:
        return True
    return response.headers.get("x-container-object-count") == "0"
