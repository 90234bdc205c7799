"""OS::Heat::None: a placeholder for a type that an environment disables."""

from hearth.resources.capabilities import Immediate
from hearth.schema import Support


class NoneResource(Immediate):
    """Does nothing, accepts any property, and has every attribute with the value null."""

    type_name = "OS::Heat::None"
    support = Support(version="5.0.0")
    properties = {}
    accepts_any_attribute = True
    accepts_any_property = True
