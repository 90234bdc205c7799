"""OS::Heat::AccessPolicy: the resources that a stack user may read."""

from collections.abc import Iterable
from typing import Any

from hearth.model.problem import InvalidTemplateReference, Rejected, nearest
from hearth.resources.capabilities import Immediate
from hearth.resources.neutron.order import at
from hearth.schema import LIST, Prop, Support
from hearth.template.expr import Const, MapOf

ALLOWED = "AllowedResources"


class AccessPolicy(Immediate):
    """A list of the resources in this stack that a user with this policy may read."""

    type_name = "OS::Heat::AccessPolicy"
    support = Support()
    properties = {
        ALLOWED: Prop(LIST, "Names of resources of this stack.", required=True),
    }

    def implicit_requires(self, name: str, definition: Any, program: Any) -> Iterable[str]:
        """Return no names, because the policy only lists names and needs no resource to exist
        first.

        Raises Rejected if the policy lists a resource that the template does not contain. A value
        that is no list has no names; the check of the properties reports it.
        """
        if not may_be_list(definition.properties, ALLOWED):
            return ()
        resources = program.resources
        constants = (end for end in at(ALLOWED)(definition.properties) if isinstance(end, Const))
        undefined = [str(end.value) for end in constants if str(end.value) not in resources]
        if undefined:
            span = definition.span.under("properties").under(ALLOWED)
            problems = [
                InvalidTemplateReference(span, reference, nearest(reference, resources))
                for reference in undefined
            ]
            raise Rejected(problems)
        return ()


def may_be_list(properties: Any, name: str) -> bool:
    """Return whether a property of the expression `properties` has a list, or may have one."""
    value = None
    match properties:
        case MapOf(entries=entries):
            value = entries.get(name)
        case Const(value=dict() as entries):
            value = Const(entries.get(name))
    return not isinstance(value, Const) or isinstance(value.value, list)
