"""OS::Glance::WebImage: an image that the image service fetches from the web."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import Failed, Made, Progress, Ready, ResourceContext, Step
from hearth.resources.collection import (
    Collection,
    CollectionResource,
    forgiving,
    id_in,
    in_between,
    unknown_status,
    went_to,
)
from hearth.resources.mark import mark
from hearth.resources.properties import FIXED_NAME
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedPattern,
    AllowedValues,
    OnlyFor,
    Prop,
    Range,
    Same,
    Support,
)

KEY = "hearth_key"
PATCH = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
AMAZON = ("aki", "ari", "ami")
IMAGE_ID = AllowedPattern(
    r"^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$"
)
FREE = frozenset({"architecture", "kernel_id", "os_distro", "os_version", "ramdisk_id"})
"""Optional image properties. The service does not accept null for them, so they are removed."""


class WebImage(CollectionResource):
    """An image whose data the image service downloads."""

    type_name = "OS::Glance::WebImage"
    support = Support(version="12.0.0")
    properties = {
        "active": Prop(
            BOOLEAN,
            "true: the image is active; false: it is deactivated; for administrators.",
            default=True,
            update_allowed=True,
            since="16.0.0",
        ),
        "architecture": Prop(STRING, "Architecture of the processor.", update_allowed=True),
        "container_format": Prop(
            STRING,
            "Container format of the data; bare for none.",
            required=True,
            constraints=(AllowedValues(["ami", "ari", "aki", "bare", "ovf", "ova", "docker"]),),
        ),
        "disk_format": Prop(
            STRING,
            "Disk format of the data.",
            required=True,
            constraints=(
                AllowedValues(
                    [
                        "ami",
                        "ari",
                        "aki",
                        "vhd",
                        "vhdx",
                        "vmdk",
                        "raw",
                        "qcow2",
                        "vdi",
                        "iso",
                        "ploop",
                    ]
                ),
            ),
        ),
        "extra_properties": Prop(
            MAP, "Arbitrary keys and values.", default={}, update_allowed=True, since="17.0.0"
        ),
        "id": Prop(STRING, "Its id; generated when not given."),
        "kernel_id": Prop(
            STRING, "Image of the kernel, by id.", update_allowed=True, constraints=(IMAGE_ID,)
        ),
        "location": Prop(STRING, "URL from which the service downloads the data.", required=True),
        "members": Prop(
            LIST,
            "Ids of further projects that may use a shared image.",
            update_allowed=True,
            schema=Prop(STRING),
            since="16.0.0",
        ),
        "min_disk": Prop(
            INTEGER,
            "Gigabytes of disk that a server needs to boot it.",
            default=0,
            constraints=(Range(min=0),),
        ),
        "min_ram": Prop(
            INTEGER,
            "Megabytes of memory that a server needs to boot it.",
            default=0,
            constraints=(Range(min=0),),
        ),
        "name": FIXED_NAME,
        "os_distro": Prop(STRING, "Distribution of the operating system.", update_allowed=True),
        "os_version": Prop(STRING, "Version of the operating system.", update_allowed=True),
        "owner": Prop(
            STRING,
            "Id of the project it belongs to; only administrators may choose another project.",
            update_allowed=True,
        ),
        "protected": Prop(
            BOOLEAN,
            "true: it cannot be deleted, not even with the stack.",
            default=False,
            update_allowed=True,
        ),
        "ramdisk_id": Prop(
            STRING, "Image of the RAM disk, by id.", update_allowed=True, constraints=(IMAGE_ID,)
        ),
        "tags": Prop(LIST, "Tags.", update_allowed=True),
        "visibility": Prop(
            STRING,
            "Visibility; only administrators may set public.",
            default="private",
            update_allowed=True,
            constraints=(AllowedValues(["public", "private", "community", "shared"]),),
        ),
    }
    service = "image"
    known_by = "the property hearth_key, which is removed when the id is recorded"
    collection = Collection("image", "/v2/images", body="image", key_field=None)
    not_sent = frozenset({"active", "extra_properties", "location", "members"})
    relations = (
        Same("container_format", "disk_format", among=AMAZON),
        OnlyFor("members", "visibility", "shared"),
    )

    # steps

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps = [
            Step("forget-key", self.forget_key),
            Step("import", self.fetch, poll=self.fetched),
        ]
        if ctx.given("members"):
            steps.append(Step("members", self.share))
        if not ctx.given("active"):
            steps.append(Step("active", self.switch))
        return tuple(steps)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps = [Step("update", self.update)] if ctx.changed - {"active", "members"} else []
        if "members" in ctx.changed:  # only while the image is shared
            steps.insert(len(steps) if ctx.given("members") else 0, Step("members", self.share))
        if "active" in ctx.changed:
            steps.append(Step("active", self.switch))
        return tuple(steps)

    def fields(self, ctx: ResourceContext) -> Body:
        return {**extras(ctx.properties), **super().fields(ctx)}

    async def create(self, ctx: ResourceContext) -> Made:
        fields = {**self.fields(ctx), KEY: mark(ctx)}
        image = (await ctx.cloud.request("image", "POST", "/v2/images", json=fields)).body
        return Made(physical_id=id_in(image), body=image)

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        members = await ctx.cloud.listing(
            "image", f"/v2/images?visibility=all&{KEY}={segment(mark(ctx))}"
        )
        return [member for member in members if member.get(KEY) == mark(ctx)]

    async def poll(self, ctx: ResourceContext) -> Progress:
        """Report ready at once, because a later step imports the data."""
        return Ready(ctx.body)

    async def forget_key(self, ctx: ResourceContext) -> Made | None:
        """Remove the intent key from the image, because it is not needed once the image's id is
        recorded.
        """
        return await self.patch(ctx, {}, {KEY})

    async def fetch(self, ctx: ResourceContext) -> Made | None:
        """Request the import of the data, unless it is already running."""
        if str((await self.show(ctx) or {}).get("status")) == "queued":
            method = {"name": "web-download", "uri": ctx.properties["location"]}
            await ctx.request("POST", "import", {"method": method})
        return None

    async def fetched(self, ctx: ResourceContext) -> Progress:
        """Report whether the data is imported. After a failed import the image stays in status
        "queued".
        """
        body = await self.show(ctx) or {}
        status = str(body.get("status"))
        if status in {"active", "deactivated"}:
            return Ready(body)
        if status in {"killed", "deleted"} or body.get("os_glance_failed_import"):
            reason = f"location: {ctx.properties['location']} could not be imported"
            return Failed(went_to(status, reason), retry=True)
        if status in {"queued", "saving", "importing", "uploading"}:
            return in_between(status, body)
        return unknown_status(ctx.name, status, "Unknown")

    async def update(self, ctx: ResourceContext) -> Made | None:
        """Change and remove image properties in one call."""
        fields = {**extras(ctx.properties), **self.changed_fields(ctx)}
        lost = extras(ctx.before).keys() - fields.keys()
        lost |= {name for name in FREE & fields.keys() if fields[name] is None}
        changes = {name: value for name, value in fields.items() if name not in lost}
        if "tags" in changes:
            changes["tags"] = changes["tags"] or []
        changes = {name: value for name, value in changes.items() if value is not None}
        return await self.patch(ctx, changes, set(lost))

    async def patch(self, ctx: ResourceContext, fields: Body, lost: set[str]) -> Made | None:
        """Set the image properties `fields` and remove those in `lost`, as far as the image has
        them.
        """
        now = await self.show(ctx) or {}
        changes: list[Body] = [
            {"op": "replace" if name in now else "add", "path": pointer(name), "value": value}
            for name, value in fields.items()
        ]
        removals = [{"op": "remove", "path": pointer(name)} for name in sorted(lost & now.keys())]
        if not changes and not removals:
            return None
        again = not removals  # what is gone already cannot be removed: it is looked at first
        answer = await ctx.request(
            "PATCH", json=[*changes, *removals], headers=PATCH, idempotent=again
        )
        return Made(body=answer.body)

    async def share(self, ctx: ResourceContext) -> Made | None:
        """Share the image with the projects in the property `members`, and with no other
        project.
        """
        rows = (await ctx.request("GET", "members")).body["members"]
        now, projects = {row["member_id"] for row in rows}, set(ctx.given("members") or [])
        for project in sorted(projects - now):
            await ctx.request("POST", "members", {"member": project})
        for project in sorted(now - projects):
            await forgiving(ctx.request("DELETE", f"members/{segment(project)}", idempotent=True))
        return None

    async def switch(self, ctx: ResourceContext) -> Made | None:
        """Activate or deactivate the image."""
        verb = "reactivate" if ctx.given("active") else "deactivate"
        await ctx.request("POST", f"actions/{verb}", idempotent=True)
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        return await self.fetched(ctx)


def extras(properties: Mapping[str, Any]) -> Body:
    """Return the property `extra_properties` with all values as text, which is all the service
    accepts.
    """
    extra_properties = properties.get("extra_properties") or {}
    return {str(name): str(value) for name, value in extra_properties.items()}


def pointer(name: str) -> str:
    """Return the JSON pointer of an image property."""
    return "/" + name.replace("~", "~0").replace("/", "~1")
