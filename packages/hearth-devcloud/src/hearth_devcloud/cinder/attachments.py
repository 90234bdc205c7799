"""Attachments of volumes: functions for Nova, and the attachments API for other clients."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.cinder.base import bad, find, mine
from hearth_devcloud.cinder.volumes import image_metadata, new_volume, ready, touch
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource, stamp_micro

_TABLE = "volume.attachments"


def attach(
    cloud: Cloud, volume: Resource, server_id: str, device: str, *, after_s: float = 0.0
) -> Body:
    """Start to attach a volume to a server; return the attachment.

    The volume becomes in-use after `after_s` seconds.
    """
    store = cloud.store
    attachment: Body = {
        "id": volume.id,
        "attachment_id": store.new_id(),
        "volume_id": volume.id,
        "server_id": server_id,
        "host_name": "devcloud",
        "device": device,
        "attached_at": stamp_micro(store.time),
    }
    volume.body["attachments"] = [*volume.body["attachments"], attachment]
    volume.body["status"] = "attaching"
    volume.hidden["target"] = "in-use"
    touch(cloud, volume)
    store.later(after_s, volume, "volume.ready")
    return attachment


def detach(
    cloud: Cloud,
    volume: Resource,
    attachment_id: str,
    *,
    after_s: float = 0.0,
    at_once: bool = False,
) -> None:
    """Start to detach a volume; the attachment is removed after `after_s` seconds.

    If `at_once` is true, it is removed before the function returns.
    """
    volume.hidden["leaving"] = attachment_id
    volume.body["status"] = "detaching"
    if at_once:
        detached(cloud, volume)
    else:
        cloud.store.later(after_s, volume, "volume.detached")


def detached(cloud: Cloud, volume: Resource) -> None:
    """Remove the attachment of a volume that is being detached."""
    leaving = volume.hidden.pop("leaving", None)
    attachments = [a for a in volume.body["attachments"] if a["attachment_id"] != leaving]
    volume.body["attachments"] = attachments
    volume.hidden["target"] = "in-use" if attachments else "available"
    ready(cloud, volume)


def volume_for_server(cloud: Cloud, server: Resource, device: Body) -> Resource:
    """Create a volume that Nova needs for a server, and return it; it is available at once.

    `device` is the requested block device; its source is an image, a snapshot, or nothing.
    """
    store = cloud.store
    attributes: Body = {"size": device["size"], "name": "", "user_id": server.body["user_id"]}
    attributes["volume_type"] = device["volume_type"]
    if device["source"] == "image":
        image = store.get(tables.IMAGES, device["id"])
        if image is None:
            raise Refusal(404, message=f"image {device['id']} no longer exists")
        attributes["image"] = image_metadata(image)
    elif device["source"] == "snapshot":
        snapshot = store.get(tables.VOLUME_SNAPSHOTS, device["id"])
        if snapshot is None:
            raise Refusal(404, message=f"snapshot {device['id']} no longer exists")
        attributes |= {"snapshot_id": snapshot.id, "size": device["size"] or snapshot.body["size"]}
    return new_volume(
        cloud, server.project_id or "", {**attributes, "at_once": True}, implicit=True
    )


def _view(attachment: Resource) -> Body:
    return dict(attachment.body)


def reserve(call: Call) -> Reply:
    """Handle POST of an attachment: create it and reserve the volume for a server."""
    attributes = call.object("attachment")
    volume = find(call, "volumes", attributes.get("volume_uuid"), "Volume")
    if volume.body["status"] != "available":
        raise bad(f"Invalid volume: status must be available, but is {volume.body['status']}")
    store = call.cloud.store
    body: Body = {
        "id": store.new_id(),
        "status": "reserved",
        "instance": attributes.get("instance_uuid"),
        "volume_id": volume.id,
        "attached_at": "",
        "detached_at": "",
        "attach_mode": "ro",
        "connection_info": {},
    }
    attachment = store.insert(Resource(body["id"], _TABLE, call.caller.project_id, body))
    volume.body["status"] = "reserved"
    touch(call.cloud, volume)
    return Reply(200, {"attachment": _view(attachment)})


def attachments(call: Call) -> Reply:
    """Handle GET of all attachments."""
    keys = ("id", "status", "instance", "volume_id")
    views = [
        {key: attachment.body[key] for key in keys} for attachment in mine(call, "attachments")
    ]
    return Reply(200, {"attachments": views})


def show(call: Call) -> Reply:
    """Handle GET of an attachment."""
    return Reply(200, {"attachment": _view(find(call, "attachments", call.ids[0], "Attachment"))})


def delete(call: Call) -> Reply:
    """Handle DELETE of an attachment: without other attachments the volume becomes available."""
    attachment = find(call, "attachments", call.ids[0], "Attachment")
    store = call.cloud.store
    store.remove(attachment)
    volume = store.get(tables.VOLUMES, attachment.body["volume_id"])
    remaining = store.where(_TABLE, volume_id=attachment.body["volume_id"])
    if volume is not None and not remaining:
        volume.body["status"] = "available"
        touch(call.cloud, volume)
    keys = ("id", "status", "instance", "volume_id")
    return Reply(200, {"attachments": [{key: t.body[key] for key in keys} for t in remaining]})


ROUTES: list[Route] = [
    ("POST", "/v3/attachments", reserve),
    ("GET", "/v3/attachments", attachments),
    ("GET", "/v3/attachments/{}", show),
    ("DELETE", "/v3/attachments/{}", delete),
]
