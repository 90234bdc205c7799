"""The steps of a resource type for an action, from its methods and its capabilities."""

from collections.abc import Mapping
from typing import Any

from hearth.model.state import Action
from hearth.resources.adapter import AdapterType
from hearth.resources.base import ResourceContext, ResourceType, Step
from hearth.resources.capabilities import Adopts, GivesWay, Snapshots, Suspends


def action_steps(rtype: ResourceType, action: Action, ctx: ResourceContext) -> tuple[Step, ...]:
    """Return the steps of an action in order; empty if the type has nothing to do."""
    match action:
        case Action.CREATE:
            return rtype.create_steps(ctx)
        case Action.UPDATE:
            return rtype.update_steps(ctx)
        case Action.DELETE:
            recorded = ctx.physical_id is not None or bool(ctx.data)
            may_exist = recorded or is_complete(rtype, ctx.properties)
            return rtype.delete_steps(ctx) if may_exist else ()
        case Action.CHECK:
            return rtype.check_steps(ctx)
        case Action.SUSPEND if isinstance(rtype, Suspends):
            return rtype.suspend_steps(ctx)
        case Action.RESUME if isinstance(rtype, Suspends):
            return rtype.resume_steps(ctx)
        case Action.SNAPSHOT if isinstance(rtype, Snapshots):
            return rtype.snapshot_steps(ctx)
        case Action.RESTORE if isinstance(rtype, GivesWay):
            return rtype.taken_back_steps(ctx)
        case Action.ADOPT if isinstance(rtype, Adopts):
            return rtype.adopt_steps(ctx)
        case _:
            return ()


def handles(rtype: ResourceType, action: Action) -> bool:
    """Return whether a type has steps for a lifecycle action of the stack, such as CHECK."""
    match action:
        case Action.CHECK:
            checked = rtype.adapted if isinstance(rtype, AdapterType) else rtype
            return type(checked).check_steps is not ResourceType.check_steps
        case Action.SUSPEND | Action.RESUME:
            return isinstance(rtype, Suspends)
        case Action.SNAPSHOT:
            return isinstance(rtype, Snapshots)
    return False


def is_complete(rtype: ResourceType, properties: Mapping[str, Any]) -> bool:
    """Return whether all required properties have values.

    Without one of them a create fails before the call that makes the object.
    """
    return all(
        prop.nullable or properties.get(name) is not None
        for name, prop in rtype.properties.items()
        if prop.required
    )
