"""The actions on volumes: `POST /volumes/{id}/action`, where the key of the body is the action."""

from __future__ import annotations

from collections.abc import Callable

from hearth_devcloud.cinder import attachments, quotas, volumes
from hearth_devcloud.cinder.base import admin_only, bad, find
from hearth_devcloud.glance.images import new_image
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.store import Thing


def act(call: Call) -> Reply:
    """Handle POST of an action on a volume; the only key of the body is the name of the action."""
    body = call.json()
    thing = volumes.own(call)
    if not isinstance(body, dict) or len(body) != 1:
        raise bad("The body must be an object with exactly one key, the action")
    verb, given = next(iter(body.items()))
    handler = HANDLERS.get(verb)
    if handler is None:
        raise bad(f"There is no such action: {verb}")
    reply = handler(call, thing, given if isinstance(given, dict) else {})
    volumes.touch(call.cloud, thing)
    return reply


def _begin(call: Call, thing: Thing, status: str, target: str, failed: str = "error") -> None:
    thing.body["status"] = status
    thing.hidden.update(target=target, fails=call.effects.error, failed=failed)
    call.cloud.store.later(call.effects.slow_s or 0, thing, "volume.ready")


def _extend(call: Call, thing: Thing, given: Body) -> Reply:
    size = given.get("new_size")
    if not isinstance(size, int) or size <= thing.body["size"]:
        raise bad("New size for extend must be greater than current size.")
    status = thing.body["status"]
    if status != "available" and not (status == "in-use" and call.version >= (3, 42)):
        raise bad(f"Volume {thing.id} status must be available, but current status is: {status}")
    more = size - thing.body["size"]
    quotas.check(call.cloud, thing.project_id or "", {"gigabytes": more})
    thing.hidden["new_size"] = size
    _begin(call, thing, "extending", status, "error_extending")
    return Reply(202, None, {"Content-Type": "application/json"})


def _bootable(call: Call, thing: Thing, given: Body) -> Reply:
    thing.body["bootable"] = str(given.get("bootable")).lower()
    return Reply(200, None, {"Content-Type": "application/json"})


def _readonly(call: Call, thing: Thing, given: Body) -> Reply:
    flag = str(given.get("readonly"))
    thing.body["metadata"] = {**thing.body["metadata"], "readonly": flag.capitalize()}
    return Reply(202, None, {"Content-Type": "application/json"})


def _retype(call: Call, thing: Thing, given: Body) -> Reply:
    wanted = volumes.type_of(call, given.get("new_type"))
    if wanted.body["name"] == thing.body["volume_type"]:
        raise bad("Retype requires a different volume type")
    if thing.body["status"] not in ("available", "in-use"):
        raise bad(
            f"Volume {thing.id} must be available or in-use for a retype, but its status is: "
            f"{thing.body['status']}"
        )
    target = thing.body["status"]
    thing.body["volume_type"] = wanted.body["name"]
    _begin(call, thing, "retyping", target)
    return Reply(202, None, {"Content-Type": "application/json"})


def _reset(call: Call, thing: Thing, given: Body) -> Reply:
    admin_only(call)
    if given.get("status"):
        thing.body["status"] = given["status"]
    if given.get("attach_status") == "detached":
        thing.body["attachments"] = []
    return Reply(202, None, {"Content-Type": "application/json"})


def _reserve(call: Call, thing: Thing, given: Body) -> Reply:
    if thing.body["status"] != "available":
        raise bad("Invalid volume: status must be available to reserve")
    thing.body["status"] = "attaching"
    return Reply(202, None, {"Content-Type": "application/json"})


def _unreserve(call: Call, thing: Thing, given: Body) -> Reply:
    thing.body["status"] = "in-use" if thing.body["attachments"] else "available"
    return Reply(202, None, {"Content-Type": "application/json"})


def _attach(call: Call, thing: Thing, given: Body) -> Reply:
    if thing.body["status"] not in ("available", "attaching"):
        raise bad("Invalid volume: status must be available or attaching")
    server_id, device = str(given.get("instance_uuid")), str(given.get("mountpoint"))
    attachments.attach(call.cloud, thing, server_id, device)
    return Reply(202, None, {"Content-Type": "application/json"})


def _detach(call: Call, thing: Thing, given: Body) -> Reply:
    present = [item["attachment_id"] for item in thing.body["attachments"]]
    wanted = given.get("attachment_id") or (present[0] if present else None)
    if wanted is None or wanted not in present:
        raise bad("Invalid volume: the volume does not have this attachment")
    attachments.detach(call.cloud, thing, wanted, after_s=call.effects.slow_s or 0.0)
    return Reply(202, None, {"Content-Type": "application/json"})


def _force_delete(call: Call, thing: Thing, given: Body) -> Reply:
    admin_only(call)
    thing.body["status"] = "deleting"
    call.cloud.store.later(0, thing, "volume.deleted")
    return Reply(202, None, {"Content-Type": "application/json"})


def _upload(call: Call, thing: Thing, given: Body) -> Reply:
    if not isinstance(given.get("image_name"), str):
        raise bad("'image_name' is required and must be a string")
    formats = {
        "disk_format": given.get("disk_format", "raw"),
        "container_format": given.get("container_format", "bare"),
    }
    image = new_image(
        call.cloud,
        thing.project_id or "",
        {"name": given["image_name"], "visibility": given.get("visibility", "shared"), **formats},
        {},
        data=b"\0" * 1024,
    )
    _begin(call, thing, "uploading", thing.body["status"])
    kind = volumes.type_of(call, thing.body["volume_type"])
    shown = {
        "id": thing.id,
        "updated_at": thing.body["updated_at"],
        "status": "uploading",
        "display_description": thing.body["description"],
        "size": thing.body["size"],
        "volume_type": {
            "id": kind.id,
            "name": kind.body["name"],
            "description": kind.body["description"],
            "is_public": True,
            "extra_specs": kind.body["extra_specs"],
            "qos_specs_id": None,
            "created_at": thing.body["created_at"],
            "updated_at": None,
            "deleted_at": None,
            "deleted": False,
        },
        "image_id": image.id,
        **formats,
        "image_name": given["image_name"],
        "protected": False,
        "visibility": given.get("visibility", "shared"),
    }
    return Reply(202, {"os-volume_upload_image": shown})


def _revert(call: Call, thing: Thing, given: Body) -> Reply:
    snapshot = find(call, "snapshots", given.get("snapshot_id"), "Snapshot")
    if snapshot.body["volume_id"] != thing.id:
        raise bad("The snapshot belongs to another volume")
    _begin(call, thing, "reverting", "available")
    return Reply(202, None, {"Content-Type": "application/json"})


def _image_metadata(call: Call, thing: Thing, given: Body) -> Reply:
    present = {**(thing.hidden.get("image") or {}), **(given.get("metadata") or {})}
    thing.hidden["image"] = present
    return Reply(200, {"metadata": present})


HANDLERS: dict[str, Callable[[Call, Thing, Body], Reply]] = {
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

ROUTES: list[Route] = [("POST", "/v3/volumes/{}/action", act)]
