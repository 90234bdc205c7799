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


def user_fields(user: Mapping[str, Any]) -> Body:
    """Return a user in the format of the service."""
    return {**user, "databases": [{"name": name} for name in user["databases"]]}


async def settle_databases(ctx: ResourceContext) -> Made | None:
    """Create new databases, and delete those that the template no longer contains.

    If users change too, the delete is left to `drop_databases`, after the change of the users.
    """
    databases = _by_name(ctx.given("databases"))
    existing = {str(row["name"]) for row in await _listing(ctx, "/databases")}
    fresh = [dict(row) for name, row in databases.items() if name not in existing]
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
    users, before = _by_name(ctx.given("users")), _by_name(ctx.before.get("users"))
    existing = {str(user["name"]): user for user in await _listing(ctx, "/users")}
    for name in sorted(before.keys() - users.keys()):
        if name in existing:
            await forgiving(_send(ctx, "DELETE", _path(existing[name])))
    fresh = [user_fields(user) for name, user in users.items() if name not in existing]
    if fresh:
        await _send(ctx, "POST", "/users", {"users": fresh})
    for name in sorted(users.keys() & existing.keys()):
        await _change(ctx, users[name], before.get(name) or {}, existing[name])
    return None


async def _change(
    ctx: ResourceContext, user: Mapping[str, Any], before: Mapping[str, Any], now: Body
) -> None:
    """Change one user: first the databases that it may use, then password and host."""
    granted = {str(database["name"]) for database in now.get("databases") or []}
    grants = [{"name": name} for name in sorted(set(user["databases"]) - granted)]
    if grants:
        await _send(ctx, "PUT", f"{_path(now)}/databases", {"databases": grants})
    lost = set(before.get("databases") or []) - set(user["databases"])
    for name in sorted(lost & granted):
        await forgiving(_send(ctx, "DELETE", f"{_path(now)}/databases/{segment(name)}"))
    fields: Body = {}
    if user["password"] != before.get("password"):
        fields["password"] = user["password"]
    if user["host"] != now.get("host", ANY_HOST):
        fields["host"] = user["host"]
    if fields:
        await _send(ctx, "PUT", _path(now), {"user": fields})


def _path(user: Body) -> str:
    """Return the last part of the URL of a user; the host is left out if it is every host."""
    name, host = str(user["name"]), str(user.get("host") or ANY_HOST)
    plain = host == ANY_HOST and "@" not in name
    return f"/users/{segment(name if plain else f'{name}@{host}')}"


def _by_name(rows: Iterable[Mapping[str, Any]] | None) -> dict[str, Mapping[str, Any]]:
    return {str(row["name"]): row for row in rows or ()}


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
