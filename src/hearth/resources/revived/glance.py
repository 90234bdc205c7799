"""OS::Glance::Image, which works through images that the image service fetches from the web."""

from collections.abc import Mapping
from typing import Any

from hearth.resources.adapter import AdapterType
from hearth.resources.base import ResourceContext
from hearth.resources.glance.web_image import AMAZON, WebImage
from hearth.resources.revived.base import Revived
from hearth.schema import BOOLEAN, Prop, Same

LATER = ("active", "members", "os_version", "visibility")
"""Properties of the successor that the old type does not have."""


class Image(Revived, AdapterType):
    """An image whose data the image service downloads."""

    type_name = "OS::Glance::Image"
    adapted = WebImage()
    turned_back = {"is_public": lambda visibility: visibility == "public"}
    properties = {
        **{name: prop for name, prop in WebImage.properties.items() if name not in LATER},
        "is_public": Prop(
            BOOLEAN, "true: every project can use it; for administrators.", default=False
        ),
    }
    relations = (Same("container_format", "disk_format", among=AMAZON),)

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        unchanged = {name: value for name, value in properties.items() if name != "is_public"}
        return {**unchanged, "visibility": "public" if properties["is_public"] else "private"}
