"""The images API: metadata, data, patches, tags, members and import."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Fault,
    Field,
    Invalid,
    integer,
    is_uuid,
    list_of,
    nullable,
    one_of,
    text,
)
from hearth_devcloud.glance import web
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import same
from hearth_devcloud.store import Resource, stamp_z

_EMPTY = {"Content-Type": "text/html; charset=UTF-8"}
_PATCH_TYPES = (
    "application/openstack-images-v2.1-json-patch",
    "application/openstack-images-v2.0-json-patch",
)
DISK_FORMATS = ["ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"]
CONTAINER_FORMATS = ["ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"]


def _true_or_false(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not of type 'boolean'")
    return value


def _own_id(value: Any) -> str:
    if not is_uuid(value):
        raise ValueError(f"{value!r} is not a UUID")
    return str(value)


IMAGES = Collection(
    "image",
    "images",
    "image",
    {
        "id": Field(_own_id, update=False),
        "name": Field(nullable(text())),
        "disk_format": Field(nullable(one_of(*DISK_FORMATS))),
        "container_format": Field(nullable(one_of(*CONTAINER_FORMATS))),
        "visibility": Field(one_of("public", "private", "shared", "community"), default="shared"),
        "protected": Field(_true_or_false, default=False),
        "min_ram": Field(integer(0), default=0),
        "min_disk": Field(integer(0), default=0),
        "owner": Field(nullable(text())),
        "os_hidden": Field(_true_or_false, default=False),
        "tags": Field(list_of(text()), default=list),
        **dict.fromkeys(
            [
                "size",
                "virtual_size",
                "status",
                "checksum",
                "os_hash_algo",
                "os_hash_value",
                "created_at",
                "updated_at",
                "self",
                "file",
                "schema",
                "stores",
                "direct_url",
                "locations",
            ],
            READ_ONLY,
        ),
    },
    extra=True,
)
_JSON_TYPES: dict[str, str | list[str]] = {
    **dict.fromkeys(("min_disk", "min_ram"), "integer"),
    "size": ["null", "integer"],
    "virtual_size": ["null", "integer"],
    **dict.fromkeys(("protected", "os_hidden"), "boolean"),
    **dict.fromkeys(("tags", "locations"), "array"),
    **dict.fromkeys(
        (
            "id",
            "visibility",
            "status",
            "created_at",
            "updated_at",
            "self",
            "file",
            "schema",
            "stores",
            "direct_url",
        ),
        "string",
    ),
}


def json_type(field: str) -> str | list[str]:
    """Return the JSON Schema type of an image field."""
    return _JSON_TYPES.get(field, ["null", "string"])


_SHOWN = [
    "name",
    "disk_format",
    "container_format",
    "visibility",
    "size",
    "virtual_size",
    "status",
    "checksum",
    "protected",
    "min_ram",
    "min_disk",
    "owner",
    "os_hidden",
    "os_hash_algo",
    "os_hash_value",
    "id",
    "created_at",
    "updated_at",
    "tags",
]


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Glance: HTML, or JSON if the header Accept requests it."""
    phrase = HTTPStatus(fault.status).phrase
    if "application/json" not in (call.headers.get("Accept") or ""):
        html = f"<html><head><title>{fault.status} {phrase}</title></head>"
        return Reply(fault.status, f"{html}<body>{fault.message}</body></html>", dict(_EMPTY))
    body = {"message": fault.message, "code": f"{fault.status} {phrase}", "title": phrase}
    return Reply(fault.status, body, dict(fault.headers))


def _bad(message: str) -> Refusal:
    return Refusal(400, message=message)


def _forbidden(message: str) -> Refusal:
    return Refusal(403, message=message)


def refuse_reader(call: Call) -> Refusal:
    """Return the error for a write of a reader."""
    return _forbidden("You are not authorized to complete this action.")


def new_image(
    cloud: Cloud, project_id: str, attributes: Body, extra: Body, data: bytes | None = None
) -> Resource:
    """Create an image and return it. It is active if `data` is given, otherwise queued.

    `attributes` are its standard fields, and `extra` its custom properties.
    """
    store = cloud.store
    values = {name: field.initial() for name, field in IMAGES.fields.items()} | attributes
    image_id = values["id"] or store.new_id()
    now = stamp_z(store.time)
    body = {key: values.get(key) for key in _SHOWN}
    body.update(
        id=image_id,
        owner=values.get("owner") or project_id,
        status="queued",
        created_at=now,
        updated_at=now,
    )
    hidden: Body = {"extra": dict(extra), "data": None, "members": {}}
    image = store.insert(Resource(image_id, tables.IMAGES, body["owner"], body, hidden))
    if data is not None:
        fill(cloud, image, data)
    return image


def fill(cloud: Cloud, image: Resource, data: bytes) -> None:
    """Store the data of an image and set its status to active."""
    image.hidden["data"] = data
    image.body.update(
        size=len(data),
        virtual_size=len(data),
        status="active",
        checksum=hashlib.md5(data, usedforsecurity=False).hexdigest(),
        os_hash_algo="sha512",
        os_hash_value=hashlib.sha512(data).hexdigest(),
        updated_at=stamp_z(cloud.store.time),
    )
    cloud.store.changed = True


def view(image: Resource) -> Body:
    """Return an image in the format of the API."""
    path = f"/v2/images/{image.id}"
    body = image.body
    fields = {**image.hidden.get("extra", {}), **{key: body.get(key) for key in _SHOWN}}
    fields |= {"self": path, "file": path + "/file", "schema": "/v2/schemas/image"}
    if body["status"] in ("active", "deactivated"):
        fields["stores"] = "fs"
    return fields


def _may_see(call: Call, image: Resource) -> bool:
    caller = call.caller
    if caller.is_admin or image.project_id == caller.project_id:
        return True
    if image.body["visibility"] in ("public", "community"):
        return True
    return image.body["visibility"] == "shared" and caller.project_id in image.hidden.get(
        "members", {}
    )


def _find(call: Call) -> Resource:
    image = call.cloud.store.get(tables.IMAGES, call.ids[0])
    if image is None or not _may_see(call, image):
        raise Refusal(404, message=f"No image found with ID {call.ids[0]}")
    return image


def _mine(call: Call) -> Resource:
    image = _find(call)
    if not call.caller.is_admin and image.project_id != call.caller.project_id:
        raise _forbidden("You are not permitted to change this image.")
    return image


def _may_show(call: Call, visibility: object) -> None:
    if visibility == "public" and not call.caller.is_admin:
        raise _forbidden("You are not authorized to publicize an image.")


def _explain(error: Invalid) -> Refusal:
    if error.fault is Fault.READ_ONLY:
        return _forbidden(f"Attribute '{error.names[0]}' is read-only.")
    return _bad(f"Provided object does not match schema 'image': {error.message}")


def _json(call: Call) -> Any:
    return call.json()


def create(call: Call) -> Reply:
    """Handle POST of an image; reply with status 201 and the new image in status queued."""
    attributes = _json(call)
    if not isinstance(attributes, dict):
        raise _bad("Request body must be a JSON object")
    try:
        values = IMAGES.for_create(attributes)
    except Invalid as error:
        raise _explain(error) from None
    extra = {key: value for key, value in values.items() if key not in IMAGES.fields}
    if any(not isinstance(value, str) for value in extra.values()):
        raise _bad(
            "Provided object does not match schema 'image': custom properties must be strings"
        )
    _may_show(call, values["visibility"])
    if values["owner"] not in (None, call.caller.project_id) and not call.caller.is_admin:
        raise _forbidden("You are not permitted to create images owned by another.")
    if values["id"] is not None and call.cloud.store.get(tables.IMAGES, values["id"]) is not None:
        raise Refusal(409, message=f"Image ID {values['id']} already exists!")
    declared = {key: value for key, value in values.items() if key in IMAGES.fields}
    image = new_image(call.cloud, call.caller.project_id or "", declared, extra)
    location = {"Location": f"{call.base}/image/v2/images/{image.id}"}
    return Reply(201, view(image), location)


def images(call: Call) -> Reply:
    """Handle GET of the images: list those that match the query, newest first by default.

    Only the first sort key of a request is used; a sort direction without a key is ignored.
    """
    matching = [t for t in call.cloud.store.all(tables.IMAGES) if _listed(call, t)]
    matching = matching[::-1]
    order = (call.argument("sort") or "").partition(",")[0]
    key, _, direction = order.partition(":")
    key, direction = call.argument("sort_key") or key, call.argument("sort_dir") or direction
    if key == "created_at":
        matching = matching[::-1] if direction == "asc" else matching
    elif key:
        matching.sort(key=lambda t: str(t.body.get(key)), reverse=direction == "desc")
    if marker := call.argument("marker"):
        index = next((i for i, t in enumerate(matching) if t.id == marker), None)
        if index is None:
            raise _bad(f"Invalid marker. Image {marker} could not be found.")
        matching = matching[index + 1 :]
    limit_text = call.argument("limit")
    if limit_text is not None and not limit_text.isdecimal():
        raise _bad("limit param must be an integer")
    limit = int(limit_text) if limit_text is not None else 1000
    page_images = matching[:limit]
    query = f"?{call.raw_query}" if call.raw_query else ""
    body: Body = {
        "images": [view(image) for image in page_images],
        "first": f"/v2/images{query}",
        "schema": "/v2/schemas/images",
    }
    if len(matching) > limit and page_images:
        arguments = "&".join(
            p for p in call.raw_query.split("&") if p and not p.startswith("marker=")
        )
        body["next"] = (
            f"/v2/images?{arguments + '&' if arguments else ''}marker={page_images[-1].id}"
        )
    return Reply(200, body)


_CONTROLS = ("limit", "marker", "sort", "sort_key", "sort_dir", "member_status")


def _listed(call: Call, image: Resource) -> bool:
    if not _may_see(call, image):
        return False
    body = image.body
    community = body["visibility"] == "community" and image.project_id != call.caller.project_id
    if community and call.argument("visibility") not in ("community", "all"):
        return False
    for key, values in call.query.items():
        match key:
            case "tag":
                fits = set(values) <= set(body["tags"])
            case "visibility" if values == ["all"]:
                fits = True
            case "size_min":
                fits = (body["size"] or 0) >= number(values[0])
            case "size_max":
                fits = (body["size"] or 0) <= number(values[0])
            case _ if key in _CONTROLS:
                fits = True
            case _:
                value = image.hidden.get("extra", {}).get(key, body.get(key))
                choices = [v for v in values for v in v.removeprefix("in:").split(",")]
                fits = any(same(want.strip('"'), value) for want in choices)
        if not fits:
            return False
    return True


def number(text_: str) -> int:
    """Convert a text of digits to an integer. Raises Refusal 400."""
    if not text_.isdecimal():
        raise _bad(f"{text_} is not a whole number of 0 or more")
    return int(text_)


def show(call: Call) -> Reply:
    """Handle GET of an image."""
    return Reply(200, view(_find(call)))


def delete(call: Call) -> Reply:
    """Handle DELETE of an image; reply with status 204."""
    image = _mine(call)
    if image.body["protected"]:
        raise _forbidden(f"Image {image.id} is protected and cannot be deleted.")
    call.cloud.store.remove(image)
    call.cloud.downloads.pop(image.id, None)
    return Reply(204, None, dict(_EMPTY))


def upload(call: Call) -> Reply:
    """Handle PUT of the data; reply with status 204."""
    image = _mine(call)
    if (call.headers.get("Content-Type") or "") != "application/octet-stream":
        raise Refusal(415, message="Unsupported Media Type")
    if image.body["status"] != "queued":
        raise Refusal(409, message=f"Image status transition from {image.body['status']} to saving")
    if not image.body["disk_format"] or not image.body["container_format"]:
        raise _bad("Properties disk_format, container_format must be set prior to saving data.")
    fill(call.cloud, image, call.raw)
    return Reply(204, None, dict(_EMPTY))


def download(call: Call) -> Reply:
    """Handle GET of the data of an image; reply with status 204 if it has none."""
    image = _find(call)
    if image.body["status"] == "deactivated":
        raise _forbidden("The requested image has been deactivated.")
    if image.hidden["data"] is None:
        return Reply(204)
    data: bytes = image.hidden["data"]
    return Reply(200, data, {"Content-MD5": str(image.body["checksum"])})


def stage(call: Call) -> Reply:
    """Handle PUT of data for a later import; reply with status 204."""
    image = _mine(call)
    image.hidden["staged"] = call.raw
    image.body["status"] = "uploading"
    return Reply(204, None, dict(_EMPTY))


def patch(call: Call) -> Reply:
    """Handle PATCH of an image with a JSON patch."""
    if (call.headers.get("Content-Type") or "").partition(";")[0] not in _PATCH_TYPES:
        raise Refusal(415, message="Unsupported Media Type")
    image, changes = _mine(call), _json(call)
    if not isinstance(changes, list):
        raise _bad("Request body must be a JSON array of operation objects.")
    for change in changes:
        _apply(call, image, change)
    image.body["updated_at"] = stamp_z(call.cloud.store.time)
    return Reply(200, view(image))


def _apply(call: Call, image: Resource, change: Any) -> None:
    if not isinstance(change, dict):
        raise _bad("Operations must be JSON objects.")
    operation = change.get("op") or next(
        (o for o in ("add", "replace", "remove") if o in change), ""
    )
    path = str(change.get("path") or change.get(operation, ""))
    key = path.strip("/").replace("~1", "/").replace("~0", "~")
    if operation not in ("add", "replace", "remove") or not key:
        raise _bad("An operation needs a path, and an op that is add, replace or remove")
    extra = image.hidden.setdefault("extra", {})
    if key in IMAGES.fields:
        if operation == "remove":
            raise _forbidden(f"Property {key} may not be removed.")
        try:
            changes = IMAGES.for_update({key: change.get("value")})
        except Invalid as error:
            raise _explain(error) from None
        fixed = ("disk_format", "container_format")
        if key in fixed and image.body["status"] not in ("queued", "importing"):
            raise _forbidden(f"Attribute {key} can be only replaced for a queued image.")
        if key == "visibility":
            _may_show(call, changes[key])
        image.body.update(changes)
        return
    if operation != "add" and key not in extra:
        raise Refusal(409, message=f"Property {key} does not exist.")
    if operation == "remove":
        del extra[key]
        return
    if not isinstance(change.get("value"), str):
        raise _bad(f"The value of property {key} must be a string")
    extra[key] = change["value"]


def add_tag(call: Call) -> Reply:
    """Handle PUT of one tag; reply with status 204."""
    image = _mine(call)
    image.body["tags"] = list(dict.fromkeys([*image.body["tags"], call.ids[1]]))
    return Reply(204, None, dict(_EMPTY))


def remove_tag(call: Call) -> Reply:
    """Handle DELETE of one tag; reply with status 204."""
    image = _mine(call)
    if call.ids[1] not in image.body["tags"]:
        raise Refusal(404, message=f"Tag {call.ids[1]} could not be found")
    image.body["tags"] = [tag for tag in image.body["tags"] if tag != call.ids[1]]
    return Reply(204, None, dict(_EMPTY))


def deactivate(call: Call) -> Reply:
    """Handle POST deactivate: forbid downloads of the image."""
    image = _mine(call)
    if image.body["status"] not in ("active", "deactivated"):
        raise _forbidden("Only an active image can be deactivated.")
    image.body["status"] = "deactivated"
    return Reply(204, None, dict(_EMPTY))


def reactivate(call: Call) -> Reply:
    """Handle POST reactivate: allow downloads of the image again."""
    image = _mine(call)
    image.body["status"] = "active"
    return Reply(204, None, dict(_EMPTY))


def import_data(call: Call) -> Reply:
    """Handle POST import: take the data from the staging area or a URL; reply with status 202."""
    image, method = _mine(call), call.object("method")
    name = method.get("name")
    if name not in ("glance-direct", "web-download", "copy-image"):
        raise _bad(f"Unknown import method name '{name}'.")
    if not image.body["disk_format"] or not image.body["container_format"]:
        raise Refusal(
            409, message="'disk_format' and 'container_format' need to be set before import"
        )
    if name == "web-download":
        if not web.allowed(method.get("uri")):
            raise _bad("URI for web-download does not pass filtering")
        _only_from(image, "queued")
        image.hidden["uri"] = method["uri"]
        image.body["status"] = "importing"
        _importing(call.cloud, image, now="fs", failed="")
        call.cloud.store.later(0, image, "image.fetch")
        return Reply(202)
    _only_from(image, "uploading")
    fill(call.cloud, image, image.hidden.pop("staged"))
    return Reply(202)


def _only_from(image: Resource, status: str) -> None:
    if image.body["status"] != status:
        raise Refusal(409, message=f"Image status must be {status}, but is {image.body['status']}")


def _importing(cloud: Cloud, image: Resource, *, now: str, failed: str) -> None:
    """Set the progress of an import, which has at most one target store.

    `now` is the store if the import is in progress, and `failed` is the store if the import has
    failed; otherwise they are empty.
    """
    image.hidden.setdefault("extra", {}).update(
        {"os_glance_importing_to_stores": now, "os_glance_failed_import": failed}
    )
    image.body["updated_at"] = stamp_z(cloud.store.time)
    cloud.store.changed = True


def fetch(cloud: Cloud, image: Resource) -> None:
    """Continue the import of an image from a URL.

    Store the data if the download is complete; set the image to queued if it failed; otherwise
    schedule another check.
    """
    uri = image.hidden["uri"]
    if (name := web.mirrored(uri)) is not None:
        seeded = [
            seeded_image
            for seeded_image in cloud.store.where(tables.IMAGES, name=name)
            if seeded_image.seed
        ]
        data = seeded[0].hidden["data"] if seeded else None
    else:
        coming = cloud.downloads.get(image.id)
        if coming is None:
            coming = cloud.downloads[image.id] = web.begin(uri)
        if not coming.done():
            cloud.store.later(web.LOOK_AGAIN_S, image, "image.fetch")
            return
        del cloud.downloads[image.id]
        data = coming.result()
    if data is None:
        image.body["status"] = "queued"
        _importing(cloud, image, now="", failed="fs")
    else:
        _importing(cloud, image, now="", failed="")
        fill(cloud, image, data)


TRANSITIONS = {"image.fetch": fetch}


def _member(image: Resource, project_id: str) -> Body:
    return {
        "member_id": project_id,
        "image_id": image.id,
        **image.hidden["members"][project_id],
        "schema": "/v2/schemas/member",
    }


def members(call: Call) -> Reply:
    """Handle GET of the members of an image."""
    image = _find(call)
    member_list = [_member(image, project_id) for project_id in image.hidden.get("members", {})]
    return Reply(200, {"members": member_list, "schema": "/v2/schemas/members"})


def add_member(call: Call) -> Reply:
    """Handle POST of a member."""
    image, request = _mine(call), _json(call)
    project_id = request.get("member") if isinstance(request, dict) else None
    if not isinstance(project_id, str):
        raise _bad("Member must be specified")
    if image.body["visibility"] != "shared":
        raise _forbidden("Only shared images have members.")
    present = image.hidden.setdefault("members", {})
    if project_id in present:
        raise Refusal(409, message=f"Member {project_id} is duplicated for image {image.id}")
    now = stamp_z(call.cloud.store.time)
    present[project_id] = {"status": "pending", "created_at": now, "updated_at": now}
    return Reply(200, _member(image, project_id))


def _has_member(call: Call, image: Resource) -> str:
    if call.ids[1] not in image.hidden.get("members", {}):
        raise Refusal(404, message=f"{call.ids[1]} not found in the member list of {image.id}.")
    return call.ids[1]


def member(call: Call) -> Reply:
    """Handle GET of a member."""
    image = _find(call)
    return Reply(200, _member(image, _has_member(call, image)))


def set_member(call: Call) -> Reply:
    """Handle PUT of a member's status."""
    image, request = _find(call), _json(call)
    project_id = _has_member(call, image)
    status = request.get("status") if isinstance(request, dict) else None
    if status not in ("pending", "accepted", "rejected"):
        raise _bad(f"Invalid status: {status}")
    image.hidden["members"][project_id]["status"] = status
    return Reply(200, _member(image, project_id))


def remove_member(call: Call) -> Reply:
    """Handle DELETE of a member; reply with status 204."""
    image = _mine(call)
    del image.hidden["members"][_has_member(call, image)]
    return Reply(204)


_PATH = "/v2/images"
_ONE = _PATH + "/{}"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, images),
    ("GET", _ONE, show),
    ("PATCH", _ONE, patch),
    ("DELETE", _ONE, delete),
    ("PUT", _ONE + "/file", upload),
    ("GET", _ONE + "/file", download),
    ("PUT", _ONE + "/stage", stage),
    ("POST", _ONE + "/import", import_data),
    ("PUT", _ONE + "/tags/{}", add_tag),
    ("DELETE", _ONE + "/tags/{}", remove_tag),
    ("POST", _ONE + "/actions/deactivate", deactivate),
    ("POST", _ONE + "/actions/reactivate", reactivate),
    ("GET", _ONE + "/members", members),
    ("POST", _ONE + "/members", add_member),
    ("GET", _ONE + "/members/{}", member),
    ("PUT", _ONE + "/members/{}", set_member),
    ("DELETE", _ONE + "/members/{}", remove_member),
]
