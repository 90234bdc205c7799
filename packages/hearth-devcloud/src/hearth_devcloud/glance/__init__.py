"""The emulated image service (Glance): disk images for servers and volumes."""

from __future__ import annotations

from hearth_devcloud.glance import images
from hearth_devcloud.glance.images import CONTAINER_FORMATS, DISK_FORMATS
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route, Router, Service

_MINORS = (17, 16, 15, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)


def _is_open(call: Call) -> bool:
    return call.segments in ([], ["versions"])


def _unauthorized(call: Call) -> Reply:
    return images.refusal(call, Refusal(401, message="This server could not verify you"))


def _versions(call: Call) -> Reply:
    links = [{"rel": "self", "href": f"{call.base}/image/v2/"}]
    versions = [
        {"id": f"v2.{n}", "status": "CURRENT" if n == 17 else "SUPPORTED", "links": links}
        for n in _MINORS
    ]
    return Reply(300, {"versions": versions})


def _import_info(call: Call) -> Reply:
    methods = ["glance-direct", "web-download", "copy-image"]
    view = {"description": "Import methods available.", "type": "array", "value": methods}
    return Reply(200, {"import-methods": view})


def _stores(call: Call) -> Reply:
    return Reply(200, {"stores": [{"id": "fs", "default": "true"}]})


def _schema(call: Call) -> Reply:
    properties: Body = {name: {"type": images.json_type(name)} for name in images.IMAGES.fields}
    properties["disk_format"]["enum"] = [None, *DISK_FORMATS]
    properties["container_format"]["enum"] = [None, *CONTAINER_FORMATS]
    schema: Body = {
        "name": "image",
        "properties": properties,
        "additionalProperties": {"type": "string"},
        "links": [
            {"rel": "self", "href": "{self}"},
            {"rel": "enclosure", "href": "{file}"},
            {"rel": "describedby", "href": "{schema}"},
        ],
    }
    return Reply(200, schema)


_ROUTES: list[Route] = [
    ("GET", "/", _versions),
    ("GET", "/versions", _versions),
    ("GET", "/v2/info/import", _import_info),
    ("GET", "/v2/info/stores", _stores),
    ("GET", "/v2/schemas/image", _schema),
]

SERVICE = Service(
    name="image",
    router=Router(_ROUTES, images.ROUTES),
    refusal=images.refusal,
    open=_is_open,
    unauthorized=_unauthorized,
    refuse_reader=images.refuse_reader,
)
TRANSITIONS = images.TRANSITIONS
