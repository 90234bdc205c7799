"""Check whether a caller can use resource types: by the policy, and by the services of the
cloud.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Set

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected, ResourceTypeUnavailable
from hearth.model.span import Span
from hearth.resources.registry import Catalog
from hearth.service.caller import Caller
from hearth.service.policy import Policy
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.credentials import StackCredential
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)


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


async def unavailable(services: Services, cloud: Cloud, names: Iterable[str]) -> Mapping[str, str]:
    """Return which of these types the cloud cannot serve, with the reasons. Raises CloudFault."""
    catalog = services.programs.catalog
    return await catalog.unavailable(names, cloud) if isinstance(catalog, Catalog) else {}


async def unavailable_to(
    services: Services, caller: Caller, names: Iterable[str]
) -> Mapping[str, str]:
    """Do the same as `unavailable` for the caller's cloud; return nothing if it cannot be asked."""
    try:
        return await unavailable(services, services.cloud(caller), names)
    except CloudFault as fault:
        log.info("which types the cloud can serve is unknown: %s", fault)
        return {}


def unavailable_at(
    used: Mapping[str, Span], lacking: Mapping[str, str]
) -> list[ResourceTypeUnavailable]:
    """Return a problem for each type in `lacking`; `used` has the place of a resource by type."""
    return [
        ResourceTypeUnavailable(used[name], f"{name}: {reason}") for name, reason in lacking.items()
    ]


def refused_types(
    policy: Policy, credential: StackCredential, names: Collection[str]
) -> str | None:
    """Return the reason why a nested stack must not use one of these types, or None.

    The policy is checked for the requester whose rights are in the stack's credential. A credential
    without rights allows all types: the command line stored it.
    """
    if credential.rights is None:
        return None
    try:
        policy.demand_types(names, Caller.with_rights(credential.rights))
    except Rejected as refused:
        return "; ".join(f"{problem.kind}: {problem.message}" for problem in refused.problems)
    return None
