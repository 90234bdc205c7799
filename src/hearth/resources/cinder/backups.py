"""Backups of volumes: made as snapshots of the resource, and what a volume can be made from."""

from collections.abc import Awaitable, Callable

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import Failed, Later, Live, Made, Progress, Ready, Step
from hearth.resources.collection import forgiving
from hearth.resources.mark import mark

SERVICE = "block-storage"


def own_mark(live: Live) -> str:
    """One backup of one record: actions begin at different times."""
    return f"{mark(live)}:{live.started_at:.3f}"


async def begin(live: Live) -> Made:
    """Have a backup made; the key is its description."""
    fields = {
        "volume_id": live.physical,
        "name": f"{live.physical_name}-snapshot",
        "description": own_mark(live),
        "force": True,
    }
    answer = await live.cloud.request(SERVICE, "POST", "/backups", json={"backup": fields})
    return Made(data={"backup_id": str(answer.part("backup")["id"])})


async def find(live: Live) -> Made | None:
    """The backup that an earlier call of this action had made."""
    for backup in await live.cloud.listing(SERVICE, "/backups/detail"):
        if backup.get("description") == own_mark(live):
            return Made(data={"backup_id": str(backup["id"])})
    return None


async def drop(live: Live) -> None:
    """Delete the backup, if there is one."""
    if ident := live.data.get("backup_id"):
        await forgiving(
            live.cloud.request(SERVICE, "DELETE", f"/backups/{segment(ident)}", idempotent=True)
        )


async def ready(live: Live) -> Progress:
    """Whether the backup is there."""
    backup = await live.cloud.member(
        SERVICE, "/backups", live.data["backup_id"], detail="/backups/detail"
    )
    match backup.get("status"):
        case "available":
            return Ready()
        case "creating":
            return Later()
        case status:
            return Failed(f"The backup went to {status}")


BACKUP = Step("backup", begin, find, ready)


def restore_step(poll: Callable[[Live], Awaitable[Progress]]) -> Step:
    """Return the step that restores the backup of the properties, into a new volume or its own.

    `poll` reports the progress of the volume.
    """

    async def restore(live: Live) -> Made:
        fields: Body = {"name": live.physical_name}
        if live.physical_id is not None:
            fields = {"volume_id": live.physical_id}
        path = f"/backups/{segment(live.properties['backup_id'])}/restore"
        answer = await live.cloud.request(SERVICE, "POST", path, json={"restore": fields})
        return Made(physical_id=str(answer.part("restore")["volume_id"]))

    async def restored(live: Live) -> Made | None:
        if live.physical_id is not None:
            return None
        for body in await live.cloud.listing(SERVICE, "/volumes/detail"):
            if body.get("name") == live.physical_name:
                return Made(physical_id=str(body["id"]), body=body)
        return None

    return Step("restore", restore, restored, poll)
