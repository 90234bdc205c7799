"""From an evaluated definition to what a resource shall be."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hearth.engine.core.decide import Wanted
from hearth.engine.core.plan import parts_of
from hearth.engine.worker.trouble import Trouble
from hearth.model.problem import Rejected
from hearth.resources.base import ResourceType
from hearth.template import Evaluated, ResourceDefinition

if TYPE_CHECKING:
    from hearth.engine.worker.operation import Operation


def evaluated_of(
    operation: "Operation", definition: ResourceDefinition, kind: ResourceType
) -> Evaluated:
    """The evaluated definition; where a snapshot comes back, as its type turns it."""
    evaluated = definition.evaluate(operation.world)
    entry = operation.restored.get(definition.name)
    if entry is None or evaluated.problems or evaluated.unknown or kind.nested:
        return evaluated
    turned = kind.restored(evaluated.properties, kind.brought(entry.get("resource_data") or {}))
    return replace(evaluated, properties=turned)


def wanted_of(
    operation: "Operation",
    definition: ResourceDefinition,
    evaluated: Evaluated,
    kind: str,
    resolved: Mapping[str, Any] | None = None,
) -> Wanted:
    """The wanted state. `resolved` are the properties with names turned into ids (default: as
    evaluated). Raises `Rejected` or `Trouble` where a value is bad or not known."""
    if evaluated.problems:
        raise Rejected(evaluated.problems)
    if evaluated.unknown:
        names = ", ".join(sorted(evaluated.unknown))
        raise Trouble("InvalidTemplateReference", f"values of {names} are not known")
    if conflicts := definition.conflicts(evaluated):
        raise Rejected(conflicts)
    current = operation.current
    requires = operation.program.requires.get(definition.name, ())
    turned = definition.name in operation.restored  # not what the template alone says
    return Wanted(
        definition=f"{definition.fingerprint}:restored" if turned else definition.fingerprint,
        kind=kind,
        parts=parts_of(definition, evaluated, operation.world),
        written=evaluated.properties,
        properties=evaluated.properties if resolved is None else resolved,
        secret=tuple(sorted(evaluated.secret)),
        metadata=evaluated.metadata,
        deletion_policy=str(definition.deletion_policy),
        requires=frozenset(current[name] for name in requires if name in current),
    )
