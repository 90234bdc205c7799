"""Common parts of the types of the identity service."""

from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.collection import CollectionResource


class KeystoneResource(CollectionResource):
    """Base class of the types of the identity service; an object's name is unique in its domain."""

    service = "identity"

    def wanted_key_field(self, ctx: ResourceContext) -> Any:
        """Return the description from the template; if it is empty, it still replaces the intent
        key.
        """
        return str(ctx.given("description") or "")

    def changed_fields(self, ctx: ResourceContext) -> Body:
        fields = super().changed_fields(ctx)
        if "description" in fields and fields["description"] is None:
            fields["description"] = ""
        return fields
