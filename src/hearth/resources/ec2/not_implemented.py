"""AWS properties that OpenStack cannot provide."""

from hearth.schema import Constraint, Prop, ValueKind


def not_implemented(kind: ValueKind, *constraints: Constraint) -> Prop:
    """Return a property that is declared but refused when a template sets it."""
    words = "Not implemented: a template cannot set it."
    return Prop(kind, words, constraints=constraints, implemented=False)
