"""The rights of a caller on a cluster: policy rules for users, and a fixed list for nodes.

A node acts with a credential of the user who created the cluster. The policy rules alone would
allow it everything that the user may do. A policy file cannot change the fixed list.
"""

from hearth.clusters.objects import Cluster
from hearth.clusters.problems import forbidden
from hearth.service.caller import Caller
from hearth.service.policy import Owner
from hearth.service.services import Services
from hearth.store.clusters import identities
from hearth.store.clusters.identities import Identity

NODE_RULES = frozenset({"certificate:create", "certificate:get", "cluster:update_health_status"})


async def demand(
    services: Services, rule: str, caller: Caller, cluster: Cluster | None = None
) -> None:
    """Raise Rejected if the policy rule, or the fixed list for nodes, forbids the request.

    Without a cluster, the rule is checked for the caller's own project.
    """
    node_of = await node_cluster(services, caller)
    if node_of is not None:
        if cluster is None or cluster.uuid != node_of or rule not in NODE_RULES:
            raise _forbidden(rule)
        return
    owner = Owner(caller.project_id, caller.user_id)
    if cluster is not None:
        owner = Owner(cluster.project_id, cluster.user_id)
    if not services.cluster_policy.allows(rule, caller, owner):
        raise _forbidden(rule)


async def demand_person(services: Services, caller: Caller) -> None:
    """Raise Rejected if the caller is a node of a cluster."""
    if await node_cluster(services, caller) is not None:
        raise forbidden("Nodes of clusters are not allowed to do this. Use the token of a user.")


async def node_cluster(services: Services, caller: Caller) -> str | None:
    """Return the UUID of the cluster of which the caller is a node; None if the caller is a
    user.
    """
    identity = await node_identity(services, caller)
    return None if identity is None else identity.cluster_id


async def node_identity(services: Services, caller: Caller) -> Identity | None:
    """Return the identity with which the caller acts as a node; None if the caller is a user."""
    domain_id = services.clouds.pool.config.stack_user_domain_id
    trustee = domain_id is not None and caller.user_domain_id == domain_id
    if caller.delegation_id is None and not trustee:
        return None  # only nodes use delegated credentials; users need no query
    user_id = caller.user_id if trustee else None
    return await services.store.read(
        lambda tx: identities.of_node(tx, caller.delegation_id, user_id)
    )


def _forbidden(rule: str) -> Exception:
    return forbidden(f"You are not allowed to do this. Policy does not allow {rule}.")
