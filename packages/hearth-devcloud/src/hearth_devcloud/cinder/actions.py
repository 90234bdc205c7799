"""The actions on volumes: `POST /volumes/{id}/action`, where the key of the body is the action."""

from __future__ import annotations

from collections.abc import Callable

from hearth_devcloud.cinder import attachments, quotas, volumes
from hearth_devcloud.cinder.base import admin_only, bad, find
from hearth_devcloud.glance.images import new_image
from hearth_devcloud.http import Actions, Body, Call, Reply, Route
from hearth_devcloud.store import Resource


def act(call: Call) -> Reply:
    """Handle POST of an action on a volume; the only key of the body is the name of the action."""
    volume = volumes.own(call)
    verb, arguments = next(iter(call.json().items()))
    reply = HANDLERS[verb](call, volume, arguments if isinstance(arguments, dict) else {})
    volumes.touch(call.cloud, volume)
    return reply


def _begin(call: Call, volume: Resource, status: str, target: str, failed: str = "error") -> None:
    volume.body["status"] = status
    volume.hidden.update(target=target, fails=call.effects.error, failed=failed)
    call.cloud.store.later(call.effects.slow_s or 0, volume, "volume.ready")


def _extend(call: Call, volume: Resource, arguments: Body) -> Reply:
    size = arguments.get("new_size")
    if not isinstance(size, int) or size <= volume.body["size"]:
        raise bad("New size for extend must be greater than current size.")
    status = volume.body["status"]
    if status != "available" and not (status == "in-use" and call.version >= (3, 42)):
        raise bad(f"Volume {volume.id} status must be available, but current status is: {status}")
    increase = size - volume.body["size"]
    quotas.check(call.cloud, volume.project_id or "", {"gigabytes": increase})
    volume.hidden["new_size"] = size
    _begin(call, volume, "extending", status, "error_extending")
    return Reply(202, None, {"Content-Type": "application/json"})


def _bootable(call: Call, volume: Resource, arguments: Body) -> Reply:
    volume.body["bootable"] = str(arguments.get("bootable")).lower()
    return Reply(200, None, {"Content-Type": "application/json"})


def _readonly(call: Call, volume: Resource, arguments: Body) -> Reply:
    flag = str(arguments.get("readonly"))
    volume.body["metadata"] = {**volume.body["metadata"], "readonly": flag.capitalize()}
    return Reply(202, None, {"Content-Type": "application/json"})


def _retype(call: Call, volume: Resource, arguments: Body) -> Reply:
    new_type = volumes.type_of(call, arguments.get("new_type"))
    if new_type.body["name"] == volume.body["volume_type"]:
        raise bad("Retype requires a different volume type")
    if volume.body["status"] not in ("available", "in-use"):
        raise bad(
            f"Volume {volume.id} must be available or in-use for a retype, but its status is: "
            f"{volume.body['status']}"
        )
    target = volume.body["status"]
    volume.body["volume_type"] = new_type.body["name"]
    _begin(call, volume, "retyping", target)
    return Reply(202, None, {"Content-Type": "application/json"})


def _reset(call: Call, volume: Resource, arguments: Body) -> Reply:
    admin_only(call)
    if arguments.get("status"):
        volume.body["status"] = arguments["status"]
    if arguments.get("attach_status") == "detached":
        volume.body["attachments"] = []
    return Reply(202, None, {"Content-Type": "application/json"})


def _reserve(call: Call, volume: Resource, arguments: Body) -> Reply:
    if volume.body["status"] != "available":
        raise bad("Invalid volume: status must be available to reserve")
    volume.body["status"] = "attaching"
    return Reply(202, None, {"Content-Type": "application/json"})


def _unreserve(call: Call, volume: Resource, arguments: Body) -> Reply:
    volume.body["status"] = "in-use" if volume.body["attachments"] else "available"
    return Reply(202, None, {"Content-Type": "application/json"})


def _attach(call: Call, volume: Resource, arguments: Body) -> Reply:
    if volume.body["status"] not in ("available", "attaching"):
        raise bad("Invalid volume: status must be available or attaching")
    server_id, device = str(arguments.get("instance_uuid")), str(arguments.get("mountpoint"))
    attachments.attach(call.cloud, volume, server_id, device)
    return Reply(202, None, {"Content-Type": "application/json"})


def _detach(call: Call, volume: Resource, arguments: Body) -> Reply:
    present = [item["attachment_id"] for item in volume.body["attachments"]]
    attachment_id = arguments.get("attachment_id") or (present[0] if present else None)
    if attachment_id is None or attachment_id not in present:
        raise bad("Invalid volume: the volume does not have this attachment")
    attachments.detach(call.cloud, volume, attachment_id, after_s=call.effects.slow_s or 0.0)
    return Reply(202, None, {"Content-Type": "application/json"})


def _force_delete(call: Call, volume: Resource, arguments: Body) -> Reply:
    admin_only(call)
    volume.body["status"] = "deleting"
    call.cloud.store.later(0, volume, "volume.deleted")
    return Reply(202, None, {"Content-Type": "application/json"})


def _upload(call: Call, volume: Resource, arguments: Body) -> Reply:
    if not isinstance(arguments.get("image_name"), str):
        raise bad("'image_name' is required and must be a string")
    formats = {
        "disk_format": arguments.get("disk_format", "raw"),
        "container_format": arguments.get("container_format", "bare"),
    }
    image = new_image(
        call.cloud,
        volume.project_id or "",
        {
            "name": arguments["image_name"],
            "visibility": arguments.get("visibility", "shared"),
            **formats,
        },
        {},
        data=b"\0" * 1024,
    )
    _begin(call, volume, "uploading", volume.body["status"])
    kind = volumes.type_of(call, volume.body["volume_type"])
    view = {
        "id": volume.id,
        "updated_at": volume.body["updated_at"],
        "status": "uploading",
        "display_description": volume.body["description"],
        "size": volume.body["size"],
        "volume_type": {
            "id": kind.id,
            "name": kind.body["name"],
            "description": kind.body["description"],
            "is_public": True,
            "extra_specs": kind.body["extra_specs"],
            "qos_specs_id": None,
            "created_at": volume.body["created_at"],
            "updated_at": None,
            "deleted_at": None,
            "deleted": False,
        },
        "image_id": image.id,
        **formats,
        "image_name": arguments["image_name"],
        "protected": False,
        "visibility": arguments.get("visibility", "shared"),
    }
    return Reply(202, {"os-volume_upload_image": view})


def _revert(call: Call, volume: Resource, arguments: Body) -> Reply:
    snapshot = find(call, "snapshots", arguments.get("snapshot_id"), "Snapshot")
    if snapshot.body["volume_id"] != volume.id:
        raise bad("The snapshot belongs to another volume")
    _begin(call, volume, "reverting", "available")
    return Reply(202, None, {"Content-Type": "application/json"})


def _image_metadata(call: Call, volume: Resource, arguments: Body) -> Reply:
    present = {**(volume.hidden.get("image") or {}), **(arguments.get("metadata") or {})}
    volume.hidden["image"] = present
    return Reply(200, {"metadata": present})


HANDLERS: dict[str, Callable[[Call, Resource, Body], Reply]] = {
    "os-extend": _extend,
    "os-set_bootable": _bootable,
    "os-update_readonly_flag": _readonly,
    "os-retype": _retype,
    "os-reset_status": _reset,
    "os-reserve": _reserve,
    "os-unreserve": _unreserve,
    "os-begin_detaching": _unreserve,
    "os-attach": _attach,
    "os-detach": _detach,
    "os-force_delete": _force_delete,
    "os-volume_upload_image": _upload,
    "os-set_image_metadata": _image_metadata,
    "revert": _revert,
}

ROUTES: list[Route] = [("POST", "/v3/volumes/{}/action", Actions(tuple(HANDLERS), act))]
