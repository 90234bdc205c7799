"""The schema of images says what images are: clients check values by it before they send them."""

from typing import Any

from tests.devcloud.running import Served

TYPES = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "null": type(None),
}


def fits(value: Any, types: str | list[str]) -> bool:
    named = [types] if isinstance(types, str) else types
    return any(type(value) is TYPES[name] for name in named)


def test_every_image_fits_the_schema(served: Served) -> None:
    properties = served.call("GET", "/image/v2/schemas/image").json()["properties"]
    assert properties["min_disk"]["type"] == properties["min_ram"]["type"] == "integer"
    queued = {"name": None, "container_format": None}
    assert served.call("POST", "/image/v2/images", queued).status_code == 201
    images = served.call("GET", "/image/v2/images?limit=1000").json()["images"]
    assert {"cirros-0.3.5-x86_64-disk", "cirros-0.6.2-x86_64-disk"} <= {i["name"] for i in images}
    for image in images:
        for name, value in image.items():
            if name in properties:
                assert fits(value, properties[name]["type"]), (name, value)
