"""Which objects a caller can find, and whether it may act on an object.

Source: docs/spec/clusters.md, 2.7; tests/facts/magnum/policies.json, `extra_checks`.
"""

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation
from hearth.clusters.problems import forbidden
from hearth.service.caller import Caller
from hearth.service.clusters import fence
from hearth.service.policy import Owner
from hearth.service.services import Services


async def scope(services: Services, caller: Caller, rule: str | None) -> str | None:
    """Return the id of the project in which the caller finds objects; None stands for all projects.

    If a policy rule is given, administrators find the objects of all projects; nodes of clusters
    never do. Raises Rejected for an administrator whom the rule does not allow to do so.
    """
    if rule is None or not services.cluster_policy.is_admin(caller):
        return caller.project_id
    if await fence.node_cluster(services, caller) is not None:
        return caller.project_id  # nodes never find objects of other projects
    await fence.demand(services, rule, caller)
    return None


async def demand(
    services: Services,
    caller: Caller,
    rule: str,
    target: Cluster | ClusterTemplate | Federation | None = None,
) -> None:
    """Raise Rejected unless the policy rule allows the caller to act on this object.

    Without an object, the rule is checked for the caller's own project.
    """
    if target is None or isinstance(target, Cluster):
        await fence.demand(services, rule, caller, target)
        return
    await fence.demand_person(services, caller)
    user_id = target.user_id if isinstance(target, ClusterTemplate) else caller.user_id
    if not services.cluster_policy.allows(rule, caller, Owner(target.project_id, user_id)):
        raise forbidden(f"You are not allowed to do this. Policy does not allow {rule}.")
