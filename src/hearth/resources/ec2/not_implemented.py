"""AWS properties that OpenStack cannot provide."""

from hearth.schema import Constraint, Prop, ValueKind


def not_implemented(kind: ValueKind, *constraints: Constraint) -> Prop:
    """Declare a property that exists in AWS but is rejected if a template sets it."""
    description = "Not implemented: a template cannot set it."
    return Prop(kind, description, constraints=constraints, implemented=False)
