"""Which attributes of a resource contain a secret, such as a private key or the token of a signal.

Some are secrets themselves. Others contain one that the template took from another resource.
"""

from hearth.engine.core.record import Held
from hearth.resources.base import ResourceType
from hearth.resources.capabilities import REFERENCE_OUTPUT, Mirrors, NestedType, SecretReference
from hearth.resources.heat.group import COLLECTING
from hearth.template.evaluated import METADATA
from hearth.template.members import MEMBER

ALL = "show"  # the attribute that contains all the others
REFERENCES = frozenset({"refs", "refs_map"})  # the attributes of a group with references


def guards(held: Held, rtype: ResourceType | None, attribute: str) -> bool:
    """Return whether an attribute of a resource contains a secret; one of a group member may.

    `rtype` is the type of the resource, or None if it is unknown.
    """
    declared = rtype.attributes.get(attribute) if rtype is not None else None
    if declared is not None and declared.secret:
        return True
    if declared is None and attribute.startswith(MEMBER):
        return True
    properties = {*held.guarded} - {METADATA}
    if isinstance(rtype, NestedType):
        outputs = held.guarded_outputs
        name = attribute.rpartition(".")[2]  # `Outputs.NAME` of AWS::CloudFormation::Stack
        return bool(properties) or name in outputs or bool(outputs and attribute in COLLECTING)
    shown = rtype.mirrors.get(attribute) if isinstance(rtype, Mirrors) else None
    return bool(properties & {attribute, shown}) or bool(properties and attribute == ALL)


def guards_reference(held: Held, rtype: ResourceType | None) -> bool:
    """Return whether the reference of a resource contains a secret."""
    if isinstance(rtype, NestedType):
        return REFERENCE_OUTPUT in held.guarded_outputs
    return isinstance(rtype, SecretReference)


def guarded_names(held: Held, rtype: ResourceType | None) -> set[str]:
    """Return the names of the attributes of a group that contain hidden values or secrets because
    of this member.
    """
    names = {name for name in held.attributes if held.secret or guards(held, rtype, name)}
    return names | REFERENCES if held.secret or guards_reference(held, rtype) else names


def hidden_names(held: Held) -> set[str]:
    """Return the names of the attributes of a group that contain hidden values because of this
    member.
    """
    names = {name for name in held.attributes if held.secret or held.hides(name)}
    return names | REFERENCES if held.secret else names
