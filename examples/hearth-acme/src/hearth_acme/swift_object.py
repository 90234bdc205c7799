"""Acme::Swift::Object: a text in a Swift container."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hearth.resources import IntentKey, Live, Made, Progress, Ready, ResourceType, Step, forgiving
from hearth.schema import STRING, Attr, Length, Prop

SERVICE = "object-store"


class SwiftObject(ResourceType):
    """A text in a Swift container."""

    type_name = "Acme::Swift::Object"
    service = SERVICE  # a cloud without it cannot have the type, and says so
    properties = {
        "container": Prop(STRING, "Name of the container.", required=True),
        "content": Prop(
            STRING,
            "The text.",
            required=True,
            update_allowed=True,
            constraints=(Length(max=65536),),
        ),
        "content_type": Prop(
            STRING, "Media type of the text.", default="text/plain", update_allowed=True
        ),
        "name": Prop(STRING, "Name of the object.", required=True),
    }
    attributes = {
        "etag": Attr(STRING, "Checksum of the text.", cached=False),
        "url": Attr(STRING, "Where it is."),
    }
    # Container and name say what it is, so a create whose answer got lost is simply made again.
    identified_by = IntentKey.NATURAL_KEY
    known_by = "container and name"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("put", self.put),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("put", self.put),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("delete", self.remove),) if live.physical_id else ()

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.there),)

    async def put(self, live: Live) -> Made:
        """Write the text; the physical id is the path."""
        path = f"{live.given('container')}/{live.given('name')}"
        await live.cloud.request(
            SERVICE,
            "PUT",
            f"/{quote(path)}",
            data=str(live.given("content")),
            headers={"Content-Type": str(live.given("content_type"))},
            idempotent=True,
        )
        return Made(physical_id=path)

    async def remove(self, live: Live) -> Made | None:
        """Delete it; what is gone already is fine."""
        path = f"/{quote(live.physical)}"
        await forgiving(live.cloud.request(SERVICE, "DELETE", path, idempotent=True))
        return None

    async def nothing(self, live: Live) -> Made | None:
        return None

    async def there(self, live: Live) -> Progress:
        """Ready when the service has it; its "not found" fails the check."""
        return Ready(await self.show(live))

    async def show(self, live: Live) -> Mapping[str, Any]:
        answer = await live.cloud.request(SERVICE, "HEAD", f"/{quote(live.physical)}")
        return dict(answer.headers)

    async def attribute(self, live: Live, name: str) -> Any:
        match name:
            case "url":
                return f"{await live.cloud.endpoint(SERVICE)}/{quote(live.physical)}"
            case "etag":
                return (await self.show(live))["etag"]
            case _:
                return await self.show(live)
