"""The desired state of a resource, from its evaluated definition."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hearth.engine.core.decide import Desired
from hearth.engine.core.plan import parts_of
from hearth.engine.core.record import Record
from hearth.engine.worker.failure import ResourceFailure
from hearth.engine.worker.known.aim import Aim
from hearth.model.problem import Rejected
from hearth.resources.base import ResourceType
from hearth.resources.capabilities import Snapshots, brought
from hearth.template import Evaluated, ResourceDefinition


def evaluated_of(aim: Aim, definition: ResourceDefinition, rtype: ResourceType) -> Evaluated:
    """Return the evaluated definition of a resource; in a restore, the type adapts it to the
    snapshot.
    """
    evaluated = definition.evaluate(aim.world)
    entry = aim.restored.get(definition.name)
    if entry is None or evaluated.problems or evaluated.unknown or not isinstance(rtype, Snapshots):
        return evaluated
    restored = rtype.restored(
        evaluated.properties, brought(rtype, entry.get("resource_data") or {})
    )
    return replace(evaluated, properties=restored)


def desired_of(
    aim: Aim,
    definition: ResourceDefinition,
    evaluated: Evaluated,
    rtype: str,
    resolved: Mapping[str, Any] | None = None,
) -> Desired:
    """Return the desired state of a resource.

    `resolved` are the properties with ids instead of names; by default the properties as evaluated.
    Raises Rejected if a value is invalid, and ResourceFailure if a value is unknown.
    """
    if evaluated.problems:
        raise Rejected(evaluated.problems)
    if evaluated.unknown:
        names = ", ".join(sorted(evaluated.unknown))
        message = f"the values of these properties are not known: {names}"
        raise ResourceFailure("InvalidTemplateReference", message)
    if conflicts := definition.conflicts(evaluated):
        raise Rejected(conflicts)
    current = aim.in_charge
    requires = aim.program.requires.get(definition.name, ())
    # then the definition differs from that in the template
    is_restored = definition.name in aim.restored
    return Desired(
        definition=f"{definition.fingerprint}:restored" if is_restored else definition.fingerprint,
        kind=rtype,
        parts=parts_of(definition, evaluated, aim.world),
        written=evaluated.properties,
        properties=evaluated.properties if resolved is None else resolved,
        secret=tuple(sorted(evaluated.secret)),
        metadata=evaluated.metadata,
        deletion_policy=str(definition.deletion_policy),
        requires=frozenset(current[name] for name in requires if name in current),
        guarded=tuple(sorted(evaluated.guarded)),
    )


def unchanged(record: Record) -> Desired:
    """Return the desired state of a record for an action that changes no property, such as a
    check.
    """
    recorded = record.held
    return Desired("", recorded.kind, {}, {}, recorded.properties, (), {}, "", record.requires)
