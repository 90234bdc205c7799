"""Types of Heat whose services no longer exist: a stack may name them; they create nothing."""

from typing import Any

from hearth.resources.base import Made, ResourceContext
from hearth.resources.heat.none import NoneResource
from hearth.resources.known import advice
from hearth.schema import Support, SupportStatus


class Retired(NoneResource):
    """A placeholder for a type that Heat has retired.

    It accepts any property, creates nothing, and has every attribute, with the value null.
    """

    support = Support(SupportStatus.HIDDEN)

    @classmethod
    def of_name(cls, name: str) -> "Retired":
        """Return the placeholder for the retired type of this name."""
        namespace: dict[str, Any] = {
            "type_name": name,
            "support": Support(SupportStatus.HIDDEN, message=advice(name) or None),
            "__doc__": cls.__doc__,
        }
        placeholder: Retired = type(name.replace("::", ""), (cls,), namespace)()
        return placeholder

    def make(self, ctx: ResourceContext) -> Made:
        return Made(physical_id=ctx.record_id)
