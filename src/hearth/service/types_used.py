"""Check whether the policy allows a caller to use resource types."""

from collections.abc import Collection, Set

from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.policy import Policy
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.credentials import StackCredential
from hearth.store.rows import StackRow


def demand_types(services: Services, caller: Caller, names: Set[str]) -> None:
    """Raise Rejected with Forbidden if the policy does not allow the caller to use one of the
    types.
    """
    services.policy.demand_types(names, caller)


async def demand_types_of(services: Services, caller: Caller, row: StackRow) -> None:
    """Raise Rejected if the caller may not use a type that the stack has now.

    This is checked before the caller changes the stack.
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
    """Return the reason why a nested stack must not use one of these types, or None.

    The policy is checked for the requester whose rights are in the stack's credential. A credential
    without rights allows all types: it was stored by the command line or by an earlier release.
    """
    if credential.rights is None:
        return None
    try:
        policy.demand_types(names, Caller.with_rights(credential.rights))
    except Rejected as refused:
        return "; ".join(f"{one.kind}: {one.message}" for one in refused.problems)
    return None
