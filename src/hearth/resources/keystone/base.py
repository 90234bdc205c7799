"""Common parts of the types of the identity service."""

from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.collection import CollectionResource


class KeystoneResource(CollectionResource):
    """An object of the identity service; its name is unique in its domain."""

    service = "identity"

    def wanted_key_field(self, ctx: ResourceContext) -> Any:
        """Return the description; it always replaces the intent key, even if it is empty."""
        return str(ctx.given("description") or "")

    def changed_fields(self, ctx: ResourceContext) -> Body:
        fields = super().changed_fields(ctx)
        if "description" in fields and fields["description"] is None:
            fields["description"] = ""
        return fields
