"""Common parts of hosts and leases, whose names are unique in the service."""

from collections.abc import Sequence

from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import CollectionResource

SERVICE = "reservation"


class BlazarResource(CollectionResource):
    """Base class of the types of the reservation service; the name identifies the object."""

    service = SERVICE
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the name, which is unique"
    generated = frozenset()
    undescribed = None

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        """Return the object that a lost call created.

        If an id is recorded, there is none: another object with the name is the replacement.
        """
        return () if ctx.physical_id is not None else await super().orphans(ctx)
