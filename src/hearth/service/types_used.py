"""The resource types that a stack has, and whether its caller may have them."""

from collections.abc import Collection, Mapping, Set
from typing import Any

from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.policy import Policy
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.rows import StackRow


def demand_types(services: Services, caller: Caller, names: Set[str]) -> None:
    """Raises Rejected with Forbidden for types that policy keeps from the caller."""
    services.policy.demand_types(names, caller)


async def demand_types_of(services: Services, caller: Caller, row: StackRow) -> None:
    """The same for what a stack has now, for whoever wants to change it. Raises Rejected."""
    try:
        _, program = await services.program(row)
    except Rejected:  # it cannot be read any more: what is known is what was made
        records = await services.store.read(lambda tx: reads.records(tx, row.id))
        services.policy.demand_types({record.type for record in records}, caller)
    else:
        demand_types(services, caller, program.module.types)


def refused_types(
    policy: Policy, credential: tuple[str, Mapping[str, Any]], names: Collection[str]
) -> str | None:
    """Why a nested stack may not have resources of all these types, or None.

    The policy is asked about the requester whose rights the stack's credential holds. A credential
    without rights comes from the command line or from an earlier release, and may have all types.
    """
    rights = credential[1].get("rights")
    if rights is None:
        return None
    try:
        policy.demand_types(names, Caller.with_rights(rights))
    except Rejected as refused:
        return "; ".join(f"{one.kind}: {one.message}" for one in refused.problems)
    return None
