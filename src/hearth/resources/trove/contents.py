"""The databases and users in a database instance, as an update changes them.

Only databases and users that the template contains or contained are changed: others in the instance
stay as they are. All functions can be repeated.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext
from hearth.resources.collection import forgiving
from hearth.resources.trove.base import SERVICE

ANY_HOST = "%"


def sent(user: Mapping[str, Any]) -> Body:
    """Return a user in the format of the service."""
    return {**user, "databases": [{"name": name} for name in user["databases"]]}


async def settle_databases(ctx: ResourceContext) -> Made | None:
    """Create new databases, and delete those that the template no longer contains.

    If users change too, the delete is left to `drop_databases`, after the change of the users.
    """
    wanted = _by_name(ctx.given("databases"))
    listed = {str(one["name"]) for one in await _listing(ctx, "/databases")}
    fresh = [dict(one) for name, one in wanted.items() if name not in listed]
    if fresh:
        await _send(ctx, "POST", "/databases", {"databases": fresh})
    if "users" not in ctx.changed:
        await drop_databases(ctx)
    return None


async def drop_databases(ctx: ResourceContext) -> Made | None:
    """Delete the databases that the template no longer contains."""
    lost = _by_name(ctx.before.get("databases")).keys() - _by_name(ctx.given("databases")).keys()
    for name in sorted(lost):
        await forgiving(_send(ctx, "DELETE", f"/databases/{segment(name)}"))
    return None


async def settle_users(ctx: ResourceContext) -> Made | None:
    """Delete, create and change users, until they are as in the template."""
    wanted, before = _by_name(ctx.given("users")), _by_name(ctx.before.get("users"))
    listed = {str(one["name"]): one for one in await _listing(ctx, "/users")}
    for name in sorted(before.keys() - wanted.keys()):
        if name in listed:
            await forgiving(_send(ctx, "DELETE", _path(listed[name])))
    fresh = [sent(one) for name, one in wanted.items() if name not in listed]
    if fresh:
        await _send(ctx, "POST", "/users", {"users": fresh})
    for name in sorted(wanted.keys() & listed.keys()):
        await _change(ctx, wanted[name], before.get(name) or {}, listed[name])
    return None


async def _change(
    ctx: ResourceContext, wanted: Mapping[str, Any], before: Mapping[str, Any], now: Body
) -> None:
    """Change one user: first the databases that it may use, then password and host."""
    allowed = {str(one["name"]) for one in now.get("databases") or []}
    more = [{"name": name} for name in sorted(set(wanted["databases"]) - allowed)]
    if more:
        await _send(ctx, "PUT", f"{_path(now)}/databases", {"databases": more})
    lost = set(before.get("databases") or []) - set(wanted["databases"])
    for name in sorted(lost & allowed):
        await forgiving(_send(ctx, "DELETE", f"{_path(now)}/databases/{segment(name)}"))
    changed: Body = {}
    if wanted["password"] != before.get("password"):
        changed["password"] = wanted["password"]
    if wanted["host"] != now.get("host", ANY_HOST):
        changed["host"] = wanted["host"]
    if changed:
        await _send(ctx, "PUT", _path(now), {"user": changed})


def _path(user: Body) -> str:
    """Return the last part of the URL of a user; the host is left out if it is every host."""
    name, host = str(user["name"]), str(user.get("host") or ANY_HOST)
    plain = host == ANY_HOST and "@" not in name
    return f"/users/{segment(name if plain else f'{name}@{host}')}"


def _by_name(rows: Iterable[Mapping[str, Any]] | None) -> dict[str, Mapping[str, Any]]:
    return {str(one["name"]): one for one in rows or ()}


def _url(ctx: ResourceContext) -> str:
    return f"/instances/{segment(ctx.physical)}"


async def _listing(ctx: ResourceContext, path: str) -> list[Body]:
    return list(await ctx.cloud.listing(SERVICE, _url(ctx) + path))


async def _send(ctx: ResourceContext, method: str, path: str, body: Body | None = None) -> None:
    await ctx.cloud.request(
        SERVICE,
        method,
        _url(ctx) + path,
        json=body,
        idempotent=method != "POST",
    )
