"""Snapshots of servers: an image for each, whose id is in the record's private data."""

from hearth.cloud.path import segment
from hearth.resources.base import Failed, Later, Made, Progress, Ready, ResourceContext, Step
from hearth.resources.collection import forgiving

VERSION_IMAGE_ID = "2.45"  # first version that returns the image id


async def begin(ctx: ResourceContext) -> Made:
    """Create an image with the intent key in its metadata."""
    name = f"{ctx.physical_name[:200]}-snapshot"
    answer = await ctx.cloud.request(
        "compute",
        "POST",
        f"/servers/{segment(ctx.physical)}/action",
        json={"createImage": {"name": name, "metadata": {"hearth_key": mark(ctx)}}},
        microversion=VERSION_IMAGE_ID,
    )
    return Made(data={"snapshot_image_id": str(answer.body["image_id"])})


async def find(ctx: ResourceContext) -> Made | None:
    """Return the image that an earlier attempt of this action created, or None."""
    for image in await ctx.cloud.listing("image", "/v2/images"):
        if image.get("hearth_key") == mark(ctx):
            return Made(data={"snapshot_image_id": str(image["id"])})
    return None


async def ready(ctx: ResourceContext) -> Progress:
    """Report whether the image is complete or has failed."""
    ident = ctx.data["snapshot_image_id"]
    image = await ctx.cloud.member("image", "/v2/images", ident)
    match str(image.get("status")).lower():
        case "active":
            return Ready()
        case "queued" | "saving" | "uploading" | "importing" as status:
            return Later(seen=f"image {ident} in status {status}")
        case _:
            return Failed(f"The snapshot image {ident} went to status {image.get('status')}.")


async def drop(ctx: ResourceContext) -> None:
    """Delete the image that the private data names, if there is one."""
    if ident := ctx.data.get("snapshot_image_id"):
        path = f"/v2/images/{segment(ident)}"
        await forgiving(ctx.cloud.request("image", "DELETE", path, idempotent=True))


def mark(ctx: ResourceContext) -> str:
    """Return the intent key of the image that this action creates.

    The key contains the start time of the action, so no two actions have the same key.
    """
    return f"{ctx.key}:{ctx.started_at:.3f}"


IMAGE = Step("snapshot", begin, find, ready)
