"""AWS::S3::Bucket: a container of the object store."""

from collections.abc import Mapping
from typing import Any

from hearth.resources.adapter import AdapterType
from hearth.resources.base import ResourceContext
from hearth.resources.ec2.tags import as_map, pairs
from hearth.resources.swift.container import Container
from hearth.schema import MAP, STRING, AllowedValues, Attr, Prop

EVERYBODY = ".r:*"
PRIVATE = (None, None)


class Bucket(AdapterType):
    """A container of the object store."""

    type_name = "AWS::S3::Bucket"
    adapted = Container()
    properties = {
        "AccessControl": Prop(
            STRING,
            "Predefined access control list.",
            constraints=(
                AllowedValues(
                    [
                        "Private",
                        "PublicRead",
                        "PublicReadWrite",
                        "AuthenticatedRead",
                        "BucketOwnerRead",
                        "BucketOwnerFullControl",
                    ]
                ),
            ),
        ),
        "Tags": pairs("Metadata of the container."),
        "WebsiteConfiguration": Prop(
            MAP,
            "Settings of the bucket as a website.",
            schema={
                "ErrorDocument": Prop(
                    STRING, "End of the names of error pages: error.html stands for 404error.html."
                ),
                "IndexDocument": Prop(STRING, "Name of the index page of folders."),
            },
        ),
    }
    attributes = {
        "DomainName": Attr(STRING, "Host of its URL."),
        "WebsiteURL": Attr(STRING, "Its URL."),
    }

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        site = properties.get("WebsiteConfiguration") or {}
        meta = {
            **{
                f"S3-Tag-{key}": value
                for key, value in (as_map(properties.get("Tags")) or {}).items()
            },
            "Web-Index": site.get("IndexDocument"),
            "Web-Error": site.get("ErrorDocument"),
        }
        readers, writers = {
            "PublicRead": (EVERYBODY, None),
            "PublicReadWrite": (EVERYBODY, EVERYBODY),
            "AuthenticatedRead": (f"{ctx.stack.project_id}:*", None),
        }.get(properties.get("AccessControl") or "", PRIVATE)
        return {
            "X-Container-Meta": {name: value for name, value in meta.items() if value},
            "X-Container-Read": readers,
            "X-Container-Write": writers,
        }

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return await self.adapted.attribute(self.adapted_context(ctx), name)
