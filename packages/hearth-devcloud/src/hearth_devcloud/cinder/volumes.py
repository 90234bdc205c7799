"""The volumes API: create, list, show, update and delete volumes; their metadata."""

from __future__ import annotations

from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.cinder import quotas
from hearth_devcloud.cinder.base import DEFAULT_TYPE, bad, find, links, mine, missing
from hearth_devcloud.collection import is_uuid
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import filtered, ordered, page
from hearth_devcloud.store import Resource, stamp_micro

_DELETABLE = ("available", "error", "error_restoring", "error_extending", "error_managing")
_FAILS = ("devcloud", "cloudstub")


def new_volume(
    cloud: Cloud, project_id: str, attributes: Body, *, implicit: bool = False
) -> Resource:
    """Create a volume and return it. It is in the status creating, and becomes available later.

    `attributes` contains the requested values, and three settings of the emulation: `slow_s` is the
    time until the volume is available, `at_once` makes it available without delay, and `fails`
    gives it the status error. `implicit` is true if the volume is created as part of another
    object; the audit log shows this.
    """
    store = cloud.store
    volume_id = store.new_id()
    body: Body = {
        "id": volume_id,
        "status": "creating",
        "size": attributes["size"],
        "availability_zone": attributes.get("availability_zone") or "nova",
        "created_at": stamp_micro(store.time),
        "updated_at": None,
        "name": attributes.get("name"),
        "description": attributes.get("description"),
        "volume_type": attributes.get("volume_type") or DEFAULT_TYPE,
        "snapshot_id": attributes.get("snapshot_id"),
        "source_volid": attributes.get("source_volid"),
        "metadata": attributes.get("metadata") or {},
        "user_id": attributes.get("user_id", ""),
        "bootable": "true" if attributes.get("image") else "false",
        "encrypted": False,
        "replication_status": None,
        "consistencygroup_id": attributes.get("consistencygroup_id"),
        "multiattach": bool(attributes.get("multiattach")),
        "attachments": [],
    }
    hidden: Body = {"fails": bool(attributes.get("fails")), "image": attributes.get("image")}
    volume = store.insert(
        Resource(volume_id, tables.VOLUMES, project_id, body, hidden), implicit=implicit
    )
    if attributes.get("at_once"):
        body["status"] = "available"
        return volume
    slow_s = attributes.get("slow_s")
    store.later(cloud.settings.volume_s if slow_s is None else slow_s, volume, "volume.ready")
    return volume


def touch(cloud: Cloud, volume: Resource) -> None:
    """Set the field `updated_at` of a volume to the current time."""
    volume.body["updated_at"] = stamp_micro(cloud.store.time)
    cloud.store.changed = True


def ready(cloud: Cloud, volume: Resource) -> None:
    """Complete a task of a volume, snapshot or backup: set the status `hidden["target"]`.

    The default is available. If the task fails, the status is `hidden["failed"]` or error.
    """
    target = volume.hidden.pop("target", "available")
    if volume.hidden.pop("fails", False):
        target = volume.hidden.pop("failed", "error")
        if volume.table == tables.VOLUMES:
            _tell(cloud, volume)
    volume.body["status"] = target
    if (size := volume.hidden.pop("new_size", None)) and target != "error_extending":
        volume.body["size"] = size
    touch(cloud, volume)


def _tell(cloud: Cloud, volume: Resource) -> None:
    """Store a user message about a failed volume, for GET /messages."""
    store = cloud.store
    body: Body = {
        "id": store.new_id(),
        "event_id": "VOLUME_VOLUME_008_012",
        "user_message": "The volume could not be made.",
        "message_level": "ERROR",
        "created_at": stamp_micro(store.time),
        "guaranteed_until": stamp_micro(store.time + 30 * 86400),
        "request_id": f"req-{store.new_id()}",
        "resource_type": "VOLUME",
        "resource_uuid": volume.id,
    }
    message = Resource(body["id"], "volume.messages", volume.project_id, body, seed=True)
    store.insert(message)


def gone(cloud: Cloud, volume: Resource) -> None:
    """Remove a volume, snapshot or backup whose deletion is complete."""
    cloud.store.remove(volume)


def view(call: Call, volume: Resource, *, full: bool = True) -> Body:
    """Return a volume in the format of the API.

    If `full` is false, omit the fields that the reply to a create request does not have.
    """
    body = volume.body
    fields: Body = {key: body[key] for key in list(body)[:12] if key != "user_id"}
    fields["links"] = links(call, "volumes", volume.id)
    for key in list(body)[12:]:
        fields[key] = body[key]
    if body["attachments"] and not call.caller.is_admin:
        fields["attachments"] = [{**a, "host_name": None} for a in body["attachments"]]
    if volume.hidden.get("image") and full:
        fields["volume_image_metadata"] = volume.hidden["image"]
    if not full:
        return fields
    admin = call.caller.is_admin
    if call.version >= (3, 13):
        fields["group_id"] = None
    if admin:
        fields["migration_status"] = None
        if call.version >= (3, 21):
            fields["provider_id"] = None
    if call.version >= (3, 48):
        fields |= {"shared_targets": True, "service_uuid": "d0a7e9a6-0000-4000-8000-000000000001"}
    if call.version >= (3, 61):
        fields["cluster_name"] = None
    if call.version >= (3, 63):
        fields["volume_type_id"] = type_of(call, body["volume_type"]).id
    if call.version >= (3, 65):
        fields["consumes_quota"] = True
    fields["os-vol-tenant-attr:tenant_id"] = volume.project_id
    if admin:
        fields |= {
            "os-vol-mig-status-attr:migstat": None,
            "os-vol-mig-status-attr:name_id": None,
            "os-vol-host-attr:host": f"devcloud@{body['volume_type']}#pool",
        }
    return fields


def type_of(call: Call, name: object) -> Resource:
    """Return the volume type with this name or id. Raises Refusal 404."""
    for volume_type in call.cloud.store.all("volume.types"):
        if name in (volume_type.id, volume_type.body["name"]):
            return volume_type
    raise missing("Volume type", name)


def _size(value: Any) -> int | None:
    if value is None:
        return None
    try:
        size = int(value)
    except (TypeError, ValueError):
        raise bad("Invalid input for field/attribute size: expected an integer") from None
    if size <= 0:
        raise bad("Volume size must be an integer greater than 0")
    return size


def create(call: Call) -> Reply:
    """Handle POST of a volume; reply with status 202."""
    attributes, caller, store = call.object("volume"), call.caller, call.cloud.store
    values = {**attributes, "size": _size(attributes.get("size")), "user_id": caller.user_id}
    sources = [key for key in ("snapshot_id", "source_volid", "imageRef") if attributes.get(key)]
    if len(sources) > 1:
        raise bad("only one of snapshot_id, source_volid and imageRef is allowed")
    for key in ("name", "description"):
        if attributes.get(key) is not None and len(str(attributes[key])) > 255:
            raise bad(f"{key} has more than 255 characters")
    if attributes.get("availability_zone") not in (None, "nova"):
        raise bad(f"Availability zone '{attributes['availability_zone']}' is invalid")
    if attributes.get("volume_type"):
        values["volume_type"] = type_of(call, attributes["volume_type"]).body["name"]
    _from_source(call, attributes, values)
    if values["size"] is None:
        raise bad("size is required if the source of the volume does not determine it")
    project_id = caller.project_id or ""
    quotas.check(call.cloud, project_id, {"volumes": 1, "gigabytes": values["size"]})
    metadata = attributes.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise bad("Invalid input for field/attribute metadata: expected an object")
    values["fails"] = call.effects.error or any(metadata.get(key) == "fail" for key in _FAILS)
    values["slow_s"] = call.effects.slow_s
    volume = new_volume(call.cloud, project_id, values)
    store.changed = True
    return Reply(202, {"volume": view(call, volume, full=False)})


def _from_source(call: Call, attributes: Body, values: Body) -> None:
    store = call.cloud.store
    least = 0
    if attributes.get("snapshot_id"):
        snapshot = find(call, "snapshots", attributes["snapshot_id"], "Snapshot")
        least = snapshot.body["size"]
        origin = store.get(tables.VOLUMES, snapshot.body["volume_id"])
        if origin is not None:
            values["volume_type"] = values.get("volume_type") or origin.body["volume_type"]
            values["image"] = origin.hidden.get("image")
    elif attributes.get("source_volid"):
        origin = find(call, "volumes", attributes["source_volid"], "Volume")
        least = origin.body["size"]
        values["volume_type"] = values.get("volume_type") or origin.body["volume_type"]
        values["image"] = origin.hidden.get("image")
    elif attributes.get("imageRef"):
        reference = attributes["imageRef"]
        image = store.get(tables.IMAGES, reference) if is_uuid(reference) else None
        if image is None:
            images = store.where(tables.IMAGES, name=reference)
            image = images[0] if len(images) == 1 else None
        if image is None:
            raise bad(f"Invalid image identifier or unable to access requested image: {reference}")
        values["image"] = image_metadata(image)
        least = image.body["min_disk"]
    if values["size"] is None:
        values["size"] = least or None
    elif values["size"] < least:
        raise bad(f"Volume size {values['size']}GB cannot be smaller than its source {least}GB")


def image_metadata(image: Resource) -> Body:
    """Return the metadata that a volume copies from its image; all values are text."""
    body = image.body
    keys = ("checksum", "container_format", "disk_format", "min_disk", "min_ram", "size")
    return {
        "image_id": image.id,
        "image_name": body["name"],
        **{key: str(body[key]) for key in keys},
        **image.hidden.get("extra", {}),
    }


def _page(call: Call, *, detail: bool) -> Reply:
    ignore = frozenset({"limit", "marker", "sort", "sort_key", "sort_dir", "all_tenants", "offset"})
    volumes = filtered(mine(call, "volumes"), call.query, ignore | {"metadata", "project_id"})
    volumes, has_next = page(ordered(volumes, call), call, marker_status=404)
    views = [view(call, volume) if detail else _brief(call, volume) for volume in volumes]
    body: Body = {"volumes": views}
    if has_next:
        query = "&".join(p for p in call.raw_query.split("&") if not p.startswith("marker="))
        href = f"{call.base}/volume{call.path}?{query}&marker={volumes[-1].id}"
        body["volumes_links"] = [{"rel": "next", "href": href}]
    return Reply(200, body)


def _brief(call: Call, volume: Resource) -> Body:
    return {
        "id": volume.id,
        "name": volume.body["name"],
        "links": links(call, "volumes", volume.id),
    }


def brief(call: Call) -> Reply:
    """Handle GET /volumes: list the volumes in brief."""
    return _page(call, detail=False)


def detail(call: Call) -> Reply:
    """Handle GET /volumes/detail: list the volumes with all fields."""
    return _page(call, detail=True)


def summary(call: Call) -> Reply:
    """Handle GET /volumes/summary: show the number and total size of the volumes."""
    owned = mine(call, "volumes")
    total = sum(volume.body["size"] for volume in owned)
    return Reply(200, {"volume-summary": {"total_count": len(owned), "total_size": total}})


def own(call: Call) -> Resource:
    """Return the volume that the path names. Raises Refusal 404."""
    return find(call, "volumes", call.ids[0], "Volume")


def show(call: Call) -> Reply:
    """Handle GET of a volume."""
    return Reply(200, {"volume": view(call, own(call))})


def update(call: Call) -> Reply:
    """Handle PUT of a volume's name, description or metadata."""
    volume, attributes = own(call), call.object("volume")
    for key, alias in (("name", "display_name"), ("description", "display_description")):
        if key in attributes or alias in attributes:
            volume.body[key] = attributes.get(key, attributes.get(alias))
    if "metadata" in attributes:
        volume.body["metadata"] = attributes["metadata"]
    touch(call.cloud, volume)
    return Reply(200, {"volume": view(call, volume, full=False)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a volume; reply with status 202."""
    volume = own(call)
    force = (call.argument("force") or "").lower() == "true"
    if volume.body["status"] not in _DELETABLE and not force:
        text = "Volume status must be available or error"
        raise bad(f"Invalid volume: {text}, but is {volume.body['status']}")
    store = call.cloud.store
    snapshots = store.where(tables.VOLUME_SNAPSHOTS, volume_id=volume.id)
    if snapshots:
        if (call.argument("cascade") or "").lower() != "true":
            raise bad("Invalid volume: the volume has dependent snapshots")
        for snapshot in snapshots:
            store.remove(snapshot)
    volume.body["status"] = "deleting"
    if call.effects.error:
        volume.hidden["target"] = "error_deleting"
        store.later(0, volume, "volume.ready")
    else:
        store.later(call.effects.slow_s or 0, volume, "volume.deleted")
    return Reply(202, None, {"Content-Type": "text/html; charset=UTF-8"})


def _metadata_of(call: Call) -> Resource:
    kinds = {"volumes": "Volume", "snapshots": "Snapshot"}
    table = call.segments[1]
    return find(call, table, call.ids[0], kinds[table])


def metadata(call: Call) -> Reply:
    """Handle GET of the metadata of a volume or snapshot."""
    return Reply(200, {"metadata": _metadata_of(call).body["metadata"]})


def _given(call: Call, key: str) -> Body:
    metadata = call.object(key)
    if not all(
        isinstance(v, str) and len(v) <= 255 and 0 < len(k) <= 255 for k, v in metadata.items()
    ):
        message = "keys need 1 to 255 characters; values are strings of at most 255 characters"
        raise bad(f"Invalid input for field/attribute {key}: {message}")
    return metadata


def add_metadata(call: Call) -> Reply:
    """Handle POST of metadata: add it to the metadata of a volume or snapshot."""
    volume = _metadata_of(call)
    volume.body["metadata"] = {**volume.body["metadata"], **_given(call, "metadata")}
    return Reply(200, {"metadata": volume.body["metadata"]})


def set_metadata(call: Call) -> Reply:
    """Handle PUT of metadata: replace all metadata of a volume or snapshot."""
    volume = _metadata_of(call)
    volume.body["metadata"] = _given(call, "metadata")
    return Reply(200, {"metadata": volume.body["metadata"]})


def item(call: Call) -> Reply:
    """Handle GET of a metadata item."""
    metadata = _metadata_of(call).body["metadata"]
    if call.ids[1] not in metadata:
        raise missing("Metadata key", call.ids[1])
    return Reply(200, {"meta": {call.ids[1]: metadata[call.ids[1]]}})


def set_item(call: Call) -> Reply:
    """Handle PUT of a metadata item."""
    volume, metadata = _metadata_of(call), _given(call, "meta")
    volume.body["metadata"] = {**volume.body["metadata"], **metadata}
    return Reply(200, {"meta": metadata})


def remove_item(call: Call) -> Reply:
    """Handle DELETE of a metadata item."""
    volume = _metadata_of(call)
    if call.ids[1] not in volume.body["metadata"]:
        raise missing("Metadata key", call.ids[1])
    metadata = {k: v for k, v in volume.body["metadata"].items() if k != call.ids[1]}
    volume.body["metadata"] = metadata
    return Reply(200, None, {"Content-Type": "text/html; charset=UTF-8"})


def metadata_routes(path: str) -> list[Route]:
    """Return the routes for the metadata of the objects at a path."""
    return [
        ("GET", path + "/{}/metadata", metadata),
        ("POST", path + "/{}/metadata", add_metadata),
        ("PUT", path + "/{}/metadata", set_metadata),
        ("GET", path + "/{}/metadata/{}", item),
        ("PUT", path + "/{}/metadata/{}", set_item),
        ("DELETE", path + "/{}/metadata/{}", remove_item),
    ]


def require(condition: bool, message: str) -> None:
    """Raise Refusal 400 unless the condition holds."""
    if not condition:
        raise Refusal(400, message=message)


_PATH = "/v3/volumes"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, brief),
    ("GET", _PATH + "/detail", detail),
    ("GET", _PATH + "/summary", summary),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    *metadata_routes(_PATH),
]
