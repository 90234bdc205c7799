"""Properties that the service of these names has, and clouds of this kind do not."""

from hearth.schema import Constraint, Prop, ValueKind


def not_implemented(kind: ValueKind, *constraints: Constraint) -> Prop:
    """A property that is known by name and can not be given."""
    words = "Not implemented: it can not be given."
    return Prop(kind, words, constraints=constraints, implemented=False)
