"""OS::Heat::None: a placeholder for a type that an environment disables."""

from hearth.resources.capabilities import AnyAttribute, AnyProperty, Immediate
from hearth.schema import Support


class NoneResource(AnyAttribute, AnyProperty, Immediate):
    """Does nothing, accepts any property, and has every attribute with the value null."""

    type_name = "OS::Heat::None"
    support = Support(version="5.0.0")
    properties = {}
