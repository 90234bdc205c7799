"""OS::Heat::None: stands where another type is switched off."""

from typing import Any

from hearth.resources.base import NOTHING_MADE, IntentKey, Live, Made, ResourceType
from hearth.schema import Support


class NoneResource(ResourceType):
    """Does nothing, takes any property, and has every attribute, with the value null."""

    type_name = "OS::Heat::None"
    support = Support(version="5.0.0")
    properties = {}
    pure = True
    identified_by = IntentKey.OWN_ID
    known_by = NOTHING_MADE
    visibility_delay_s = 0
    accepts_any_attribute = True
    accepts_any_property = True

    def make(self, live: Live) -> Made:
        return Made(physical_id=live.physical_name)

    async def attribute(self, live: Live, name: str) -> Any:
        return None
