"""Snapshots of servers: an image, kept in the record's private data."""

from hearth.cloud.path import segment
from hearth.resources.base import Failed, Later, Live, Made, Progress, Ready, Step
from hearth.resources.collection import forgiving

VERSION_IMAGE_ID = "2.45"  # the answer names the image


async def begin(live: Live) -> Made:
    """Have an image made; the key is in its metadata."""
    name = f"{live.physical_name[:200]}-snapshot"
    answer = await live.cloud.request(
        "compute",
        "POST",
        f"/servers/{segment(live.physical)}/action",
        json={"createImage": {"name": name, "metadata": {"hearth_key": mark(live)}}},
        microversion=VERSION_IMAGE_ID,
    )
    return Made(data={"snapshot_image_id": str(answer.body["image_id"])})


async def find(live: Live) -> Made | None:
    """The image that an earlier call of this action had made."""
    for image in await live.cloud.listing("image", "/v2/images"):
        if image.get("hearth_key") == mark(live):
            return Made(data={"snapshot_image_id": str(image["id"])})
    return None


async def ready(live: Live) -> Progress:
    """Whether the image is there."""
    ident = live.data["snapshot_image_id"]
    image = await live.cloud.member("image", "/v2/images", ident)
    match str(image.get("status")).lower():
        case "active":
            return Ready()
        case "error" | "deleted" | "killed":
            return Failed(f"The image of the snapshot went to {image.get('status')}")
        case _:
            return Later()


async def drop(live: Live) -> None:
    """Delete the image, if there is one."""
    if ident := live.data.get("snapshot_image_id"):
        path = f"/v2/images/{segment(ident)}"
        await forgiving(live.cloud.request("image", "DELETE", path, idempotent=True))


def mark(live: Live) -> str:
    """One snapshot of one record: actions begin at different times."""
    return f"{live.key}:{live.started_at:.3f}"


IMAGE = Step("snapshot", begin, find, ready)
