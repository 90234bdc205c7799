"""OS::Cinder::Volume: a block device that exists independently of servers."""

import json
from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import (
    FOR_CREATE,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import SnapshotAtDelete, Snapshots
from hearth.resources.cinder import backups
from hearth.resources.collection import (
    NOTHING_SHOWN,
    Collection,
    CollectionResource,
    id_in,
    in_between,
    unknown_status,
    went_to,
)
from hearth.resources.mark import mark, unmarked
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.resources.scheduler_hints import scheduler_hints
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AtLeastOne,
    AtMostOne,
    Attr,
    Plain,
    Prop,
    Range,
    Replace,
    Support,
    SupportStatus,
)

SERVICE = "block-storage"
VERSION_EXTEND_IN_USE = "3.42"
UNDER_WAY = frozenset(
    {
        "attaching",
        "backing-up",
        "creating",
        "deleting",
        "detaching",
        "downloading",
        "extending",
        "managing",
        "migrating",
        "reserved",
        "restoring-backup",
        "retyping",
        "reverting",
        "uploading",
    }
)
DETACHED = frozenset({"available", "error", "error_restoring", "error_extending", "error_deleting"})


class Volume(CollectionResource, SnapshotAtDelete, Snapshots):
    """A block device that exists independently of the servers it is attached to."""

    type_name = "OS::Cinder::Volume"
    holds_data = True
    properties = {
        "availability_zone": Prop(STRING, "Availability zone.", empty_is_none=True),
        "backup_id": Prop(
            STRING, "Backup to restore.", update_allowed=True, constraint="cinder.backup"
        ),
        "description": OPTIONAL_DESCRIPTION,
        "image": Prop(STRING, "The image, by name or id.", constraint="glance.image"),
        "imageRef": Prop(
            STRING,
            "Use image instead.",
            support=Support(
                SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.1")
            ),
        ),
        "metadata": Prop(MAP, "Arbitrary keys and values.", default={}, update_allowed=True),
        "multiattach": Prop(
            BOOLEAN,
            "true: several servers can attach it.",
            default=False,
            support=Support(
                SupportStatus.HIDDEN, "13.0.0", previous=Support(SupportStatus.SUPPORTED, "6.0.0")
            ),
        ),
        "name": NAME,
        "read_only": Prop(
            BOOLEAN, "true: the volume is read-only.", update_allowed=True, since="5.0.0"
        ),
        "scheduler_hints": Prop(MAP, "Hints for the scheduler.", since="2015.1"),
        "size": Prop(
            INTEGER, "Size in gigabytes.", update_allowed=True, constraints=(Range(min=1),)
        ),
        "snapshot_id": Prop(STRING, "Snapshot to start from.", constraint="cinder.snapshot"),
        "source_volid": Prop(STRING, "Volume to clone.", constraint="cinder.volume"),
        "volume_type": Prop(
            STRING, "Volume type, by name or id.", update_allowed=True, constraint="cinder.vtype"
        ),
    }
    attributes = {
        "attachments": Attr(
            STRING,
            "Its attachments, as text.",
            cached=False,
            support=Support(
                SupportStatus.DEPRECATED,
                "9.0.0",
                previous=Support(SupportStatus.SUPPORTED, "2015.1"),
            ),
        ),
        "attachments_list": Attr(LIST, "Its attachments.", cached=False, since="9.0.0"),
        "availability_zone": Attr(STRING, "Its availability zone."),
        "bootable": Attr(STRING, "Whether a server can boot from it."),
        "created_at": Attr(STRING, "When it was created."),
        "display_description": Attr(STRING, "Its description."),
        "display_name": Attr(STRING, "Its name."),
        "encrypted": Attr(STRING, "Whether it is encrypted."),
        "metadata": Attr(STRING, "Its metadata, as text."),
        "metadata_values": Attr(MAP, "Its metadata."),
        "multiattach": Attr(BOOLEAN, "true: several servers can attach it.", since="6.0.0"),
        "size": Attr(STRING, "Its size in gigabytes."),
        "snapshot_id": Attr(STRING, "Snapshot from which it was created."),
        "source_volid": Attr(STRING, "Volume from which it was created."),
        "status": Attr(STRING, "Its status.", cached=False),
        "volume_type": Attr(STRING, "Its volume type."),
    }
    translation = (Replace(("image",), value_path=("imageRef",)),)
    service = SERVICE
    only_grow = frozenset({"size"})
    undescribed = None
    collection = Collection(SERVICE, "/volumes", body="volume", detail="/volumes/detail")
    not_sent = frozenset({"backup_id", "read_only", "scheduler_hints", "image", "multiattach"})
    open_ended = frozenset({"metadata"})
    unobserved = {"image": FOR_CREATE, "imageRef": FOR_CREATE, "scheduler_hints": FOR_CREATE}
    relations = (
        Plain(AtLeastOne("size", "backup_id", "snapshot_id", "source_volid")),
        Plain(AtMostOne("snapshot_id", "source_volid", "image", "imageRef")),
    )

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        create: tuple[Step, ...] = (Step("create", self.create, self.find, self.poll),)
        if ctx.given("backup_id"):
            create = (backups.restore_step(self.poll), Step("rename", self.rename))
        describe = (Step("describe", self.describe),) if ctx.given("description") else ()
        return (*create, *describe, *self.after_create(ctx))

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("read-only", self.guard),) if ctx.given("read_only") else ()

    def fields(self, ctx: ResourceContext) -> Body:
        fields = super().fields(ctx)
        if ctx.given("image") or ctx.given("imageRef"):
            fields["imageRef"] = ctx.given("image") or ctx.given("imageRef")
        if ctx.given("multiattach"):
            fields["multiattach"] = True
        if not fields.get("metadata"):
            fields.pop("metadata", None)
        return fields

    async def create(self, ctx: ResourceContext) -> Made:
        body: Body = {"volume": {**self.fields(ctx), "description": mark(ctx)}}
        if hints := await scheduler_hints(ctx, ctx.given("scheduler_hints")):
            body["OS-SCH-HNT:scheduler_hints"] = hints
        answer = await ctx.cloud.request(SERVICE, "POST", "/volumes", json=body)
        volume = answer.part("volume")
        return Made(physical_id=id_in(volume), body=volume)

    async def rename(self, ctx: ResourceContext) -> Made | None:
        """Set the name and metadata of a volume that was restored from a backup."""
        fields: Body = {"name": ctx.wanted_name}
        if ctx.given("metadata"):
            fields["metadata"] = ctx.given("metadata")
        return await self.change(ctx, fields)

    async def guard(self, ctx: ResourceContext) -> Made | None:
        """Set or clear the volume's read-only flag."""
        flag = {"readonly": bool(ctx.given("read_only"))}
        await self.act(ctx, {"os-update_readonly_flag": flag})
        return None

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        names = ctx.changed
        steps: list[Step] = []
        if names & {"name", "description"}:
            steps.append(Step("update", self.update))
        if "metadata" in names:
            steps.append(Step("metadata", self.put_metadata))
        if "volume_type" in names:
            steps.append(Step("retype", self.retype, poll=self.poll))
        if "size" in names:
            steps.append(Step("extend", self.extend, self.extended, self.grown))
        if "read_only" in names:
            steps.append(Step("read-only", self.guard))
        if "backup_id" in names and ctx.given("backup_id"):
            steps.append(backups.restore_step(self.poll))
        return tuple(steps)

    async def update(self, ctx: ResourceContext) -> Made | None:
        fields: Body = {}
        if "name" in ctx.changed:
            fields["name"] = ctx.wanted_name
        if "description" in ctx.changed:
            fields["description"] = ctx.given("description") or ""
        return await self.change(ctx, fields)

    async def put_metadata(self, ctx: ResourceContext) -> Made | None:
        """Replace the metadata of the volume by the metadata in the properties."""
        metadata = {str(k): str(v) for k, v in (ctx.given("metadata") or {}).items()}
        path = f"/volumes/{segment(ctx.physical)}/metadata"
        await ctx.cloud.request(SERVICE, "PUT", path, json={"metadata": metadata}, idempotent=True)
        return None

    async def retype(self, ctx: ResourceContext) -> Made | None:
        """Change the volume's type, unless it has this type already."""
        body = await self.show(ctx) or {}
        if body.get("volume_type") != ctx.given("volume_type"):
            action = {"new_type": ctx.given("volume_type"), "migration_policy": "on-demand"}
            await self.act(ctx, {"os-retype": action})
        return Made(body={"status": "retyping"})

    async def extend(self, ctx: ResourceContext) -> Made | None:
        """Extend the volume, which may be attached; send no call if the volume is larger already,
        because somebody has extended it.

        If the template reduces the size, the poll function `grown` reports the error.
        """
        if int(ctx.before.get("size") or 0) > int(ctx.properties["size"]):
            return None  # `grown` says so
        body = await self.show(ctx) or {}
        if int(body.get("size") or 0) >= int(ctx.properties["size"]):
            return None
        version = VERSION_EXTEND_IN_USE if body.get("status") == "in-use" else None
        await self.act(ctx, {"os-extend": {"new_size": ctx.properties["size"]}}, version)
        return None

    async def extended(self, ctx: ResourceContext) -> Made | None:
        body = await self.show(ctx) or {}
        begun = body.get("status") == "extending" or body.get("size") == ctx.given("size")
        return Made(body=body) if begun else None

    async def grown(self, ctx: ResourceContext) -> Progress:
        """Report whether the volume has its new size; a request to shrink the volume is a
        failure.
        """
        if int(ctx.before.get("size") or 0) > int(ctx.properties["size"]):
            return Failed("Shrinking volume is not supported.", "NotSupported")
        body = await self.show(ctx) or {}
        if not body:
            return Later(seen=NOTHING_SHOWN)
        if body.get("status") == "extending":
            return in_between("extending", body)
        if int(body.get("size") or 0) >= int(ctx.properties["size"]):
            return Ready(body)
        if body.get("status") in {"available", "in-use"}:
            return Later(body=body, seen=f"size {body.get('size')}")
        return Failed(went_to(body.get("status"), "Volume resize failed"))

    def progress(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
        if "status" not in body:
            return Later(seen=NOTHING_SHOWN)
        status = str(body["status"]).lower()
        if status in {"available", "in-use"}:
            return Ready(body)
        if status.startswith("error"):
            return Failed(went_to(status, "Unknown"), retry=True)
        if status in UNDER_WAY:
            return in_between(status, body)
        return unknown_status(ctx.name, body.get("status"), "Unknown")

    def at_rest(self, body: Mapping[str, Any]) -> bool:
        return str(body.get("status", "")).lower() not in UNDER_WAY

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        if ctx.physical_id is None:
            return ()
        return (
            Step("settle", self.nothing, poll=self.settled),
            Step("delete", self.delete, poll=self.gone),
        )

    async def settled(self, ctx: ResourceContext) -> Progress:
        """Report whether the volume is deleted or, if it still exists, detached."""
        progress = await super().gone(ctx)
        if isinstance(progress, Later) and (progress.body or {}).get("status") in DETACHED:
            return Ready(progress.body)
        return progress

    async def gone(self, ctx: ResourceContext) -> Progress:
        progress = await super().gone(ctx)
        if isinstance(progress, Later) and (progress.body or {}).get("status") == "error_deleting":
            return Failed(went_to("error_deleting", "Unknown"), retry=True)
        return progress

    def snapshot_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (backups.BACKUP,)

    async def drop_snapshot(self, ctx: ResourceContext) -> None:
        await backups.drop(ctx)

    def restored(self, properties: Mapping[str, Any], data: Mapping[str, str]) -> Mapping[str, Any]:
        # the sources stay: without them, the next update to the template would replace the volume
        backup = data.get("backup_id")
        return {**properties, "backup_id": backup} if backup else properties

    def snapshot_delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (backups.BACKUP, *self.delete_steps(ctx)) if ctx.physical_id else ()

    async def act(self, ctx: ResourceContext, action: Body, version: str | None = None) -> None:
        """Call one action of the volume: `action` is the request body, `version` the
        microversion.
        """
        path = f"/volumes/{segment(ctx.physical)}/action"
        await ctx.cloud.request(SERVICE, "POST", path, json=action, microversion=version)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        values = shown_of(ctx.body or {})
        return {
            n: v for n, v in values.items() if n in self.attributes and self.attributes[n].cached
        }

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        body = await self.show(ctx) or {}
        return dict(body) if name == "show" else shown_of(body).get(name)


def shown_of(body: Mapping[str, Any]) -> Body:
    """Return the attributes of a volume, computed from its response body."""
    if not body:
        return {}
    return {
        **body,
        "display_name": body.get("name"),
        "display_description": unmarked(body.get("description")) or "",
        "metadata": json.dumps(body.get("metadata") or {}),
        "metadata_values": body.get("metadata") or {},
        "attachments": str(body.get("attachments") or []),
        "attachments_list": body.get("attachments") or [],
    }
