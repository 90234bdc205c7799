"""The resource types of a stack, and whether the policy allows them to the caller."""

from collections.abc import Collection, Set

from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.policy import Policy
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.credentials import StackCredential
from hearth.store.rows import StackRow


def demand_types(services: Services, caller: Caller, names: Set[str]) -> None:
    """Raise Rejected with Forbidden for types that the policy denies to the caller."""
    services.policy.demand_types(names, caller)


async def demand_types_of(services: Services, caller: Caller, row: StackRow) -> None:
    """Check that the caller may use the current types of a stack before changing it. Raises
    Rejected.
    """
    try:
        _, program = await services.program(row)
    except Rejected:  # it no longer compiles: only the created resources are known
        records = await services.store.read(lambda tx: reads.records(tx, row.id))
        services.policy.demand_types({record.type for record in records}, caller)
    else:
        demand_types(services, caller, program.module.types)


def refused_types(
    policy: Policy, credential: StackCredential, names: Collection[str]
) -> str | None:
    """Return why a nested stack must not have resources of these types, or None.

    The policy checks the requester whose rights are stored in the stack's credential. A credential
    without rights comes from the command line or from an earlier release, and allows all types.
    """
    if credential.rights is None:
        return None
    try:
        policy.demand_types(names, Caller.with_rights(credential.rights))
    except Rejected as refused:
        return "; ".join(f"{one.kind}: {one.message}" for one in refused.problems)
    return None
