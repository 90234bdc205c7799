"""The attributes of resources as templates see them: without the marks that objects carry."""

from typing import Any

from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import MakesObject, NestedType
from hearth.resources.mark import unmarked


async def shown_attribute(rtype: ResourceType, ctx: ResourceContext, name: str) -> Any:
    """Return the value of an attribute."""
    return _unmarked(rtype, await rtype.attribute(ctx, name))


def known_attributes(rtype: ResourceType, ctx: ResourceContext) -> dict[str, Any]:
    """Return the attributes that need no call to the service."""
    attributes = rtype.recordable(ctx)
    if isinstance(rtype, NestedType):  # nothing of theirs carries a mark, and it may be much
        return attributes
    clean: dict[str, Any] = _unmarked(rtype, attributes)
    return clean


def _unmarked(rtype: ResourceType, value: Any) -> Any:
    return unmarked(value, rtype.undescribed if isinstance(rtype, MakesObject) else "")
