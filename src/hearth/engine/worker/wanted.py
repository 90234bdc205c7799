"""From an evaluated definition to what a resource shall be."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hearth.engine.core.decide import Wanted
from hearth.engine.worker.trouble import Trouble
from hearth.model.problem import Rejected
from hearth.template import Evaluated, ResourceDefinition

if TYPE_CHECKING:
    from hearth.engine.worker.operation import Operation


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
    current = operation.current
    requires = operation.program.requires.get(definition.name, ())
    return Wanted(
        definition=definition.fingerprint,
        kind=kind,
        parts={
            "metadata": evaluated.metadata,
            "depends_on": sorted(definition.depends_on),
            "deletion_policy": str(definition.deletion_policy),
            "update_policy": dict(definition.policy(operation.world)),
        },
        written=evaluated.properties,
        properties=evaluated.properties if resolved is None else resolved,
        secret=tuple(sorted(evaluated.secret)),
        metadata=evaluated.metadata,
        deletion_policy=str(definition.deletion_policy),
        requires=frozenset(current[name] for name in requires if name in current),
    )
