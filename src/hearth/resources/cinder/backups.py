"""Backups of volumes: snapshots of the resource, and a source for new volumes."""

from collections.abc import Awaitable, Callable

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import Failed, Later, Made, Progress, Ready, ResourceContext, Step
from hearth.resources.collection import forgiving, id_in
from hearth.resources.mark import mark

SERVICE = "block-storage"


def own_mark(ctx: ResourceContext) -> str:
    """Return the intent key of the backup that this action creates.

    The key contains the start time of the action, so the key is different for each action.
    """
    return f"{mark(ctx)}:{ctx.started_at:.3f}"


async def begin(ctx: ResourceContext) -> Made:
    """Start a backup whose description is the intent key."""
    fields = {
        "volume_id": ctx.physical,
        "name": f"{ctx.physical_name}-snapshot",
        "description": own_mark(ctx),
        "force": True,
    }
    answer = await ctx.cloud.request(SERVICE, "POST", "/backups", json={"backup": fields})
    return Made(data={"backup_id": str(answer.part("backup")["id"])})


async def find(ctx: ResourceContext) -> Made | None:
    """Return the backup that an earlier attempt of this action created, or None."""
    for backup in await ctx.cloud.listing(SERVICE, "/backups/detail"):
        if backup.get("description") == own_mark(ctx):
            return Made(data={"backup_id": str(backup["id"])})
    return None


async def drop(ctx: ResourceContext) -> None:
    """Delete the backup that the private data names, if there is one."""
    if ident := ctx.data.get("backup_id"):
        await forgiving(
            ctx.cloud.request(SERVICE, "DELETE", f"/backups/{segment(ident)}", idempotent=True)
        )


async def ready(ctx: ResourceContext) -> Progress:
    """Return whether the backup is complete: ready, not yet, or failed."""
    backup = await ctx.cloud.member(
        SERVICE, "/backups", ctx.data["backup_id"], detail="/backups/detail"
    )
    match backup.get("status"):
        case "available":
            return Ready()
        case "creating":
            return Later(seen="backup in status creating")
        case status:
            return Failed(f"The backup {ctx.data['backup_id']} went to status {status}.")


BACKUP = Step("backup", begin, find, ready)


def restore_step(poll: Callable[[ResourceContext], Awaitable[Progress]]) -> Step:
    """Return the step that restores the backup given by the property `backup_id`.

    The backup is restored into the existing volume, or into a new one if there is none. `poll`
    reports the progress of that volume.
    """

    async def restore(ctx: ResourceContext) -> Made:
        fields: Body = {"name": ctx.physical_name}
        if ctx.physical_id is not None:
            fields = {"volume_id": ctx.physical_id}
        path = f"/backups/{segment(ctx.properties['backup_id'])}/restore"
        answer = await ctx.cloud.request(SERVICE, "POST", path, json={"restore": fields})
        return Made(physical_id=id_in(answer.part("restore"), "volume_id"))

    async def restored(ctx: ResourceContext) -> Made | None:
        if ctx.physical_id is not None:
            return None
        for body in await ctx.cloud.listing(SERVICE, "/volumes/detail"):
            if body.get("name") == ctx.physical_name:
                return Made(physical_id=str(body["id"]), body=body)
        return None

    return Step("restore", restore, restored, poll)
