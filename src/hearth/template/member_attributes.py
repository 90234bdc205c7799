"""Attributes of the members of a group that references to the group need."""

from __future__ import annotations

from hearth.model.problem import Problem, StackValidationFailed, hint, nearest
from hearth.template.references import Reference
from hearth.template.types import TypeInfo, accepts_attribute


def lacks(member: TypeInfo, attribute: str) -> bool:
    """Return whether a member of this type certainly has no such attribute."""
    return not accepts_attribute(member, attribute)


def no_member_attribute(reference: Reference, attribute: str, member: TypeInfo) -> Problem:
    """Return the problem of a reference to a group that needs this attribute of a member."""
    near = hint(nearest(attribute, member.attributes))
    message = f'the members of "{reference.resource}" have no attribute "{attribute}"{near}'
    return StackValidationFailed(reference.call.place_of(1), message, code="unknown-attribute")
