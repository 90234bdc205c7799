"""Quotas: the number of clusters that a project may have. Source: docs/spec/clusters.md, 2.8."""

from msgspec.structs import replace
from sqlalchemy.exc import IntegrityError

from hearth.clusters.objects import Quota
from hearth.clusters.problems import bad_request, conflict, forbidden, not_found
from hearth.service.caller import Caller
from hearth.service.clusters import cloud_lookup, fence
from hearth.service.services import Services
from hearth.store.clusters import quotas, rows
from hearth.store.database import Tx

RESOURCE = "Cluster"


async def show_quota(services: Services, caller: Caller, project_id: str, resource: str) -> Quota:
    """Return the quota of a project.

    If no quota is stored, return the default quota, whose `id` is 0. Raises Rejected if the caller
    may not read it, or if `resource` is not `Cluster`.
    """
    await demand_project(services, caller, "quota:get", project_id)
    _demand_resource(project_id, resource)
    quota = await services.store.read(lambda tx: quotas.find(tx, project_id, resource))
    limit = services.clusters.max_clusters_per_project
    return quota or Quota(project_id=project_id, resource=resource, hard_limit=limit)


async def demand_project(
    services: Services, caller: Caller, rule: str, project_id: str | None
) -> None:
    """Raise Rejected unless the policy rule allows the caller to read objects of a project.

    The project must be the caller's own, unless the caller is an administrator. None stands for the
    caller's own project.
    """
    await fence.demand(services, rule, caller)
    if project_id in (None, caller.project_id) or services.cluster_policy.is_admin(caller):
        return
    raise forbidden(f"You are not allowed to do this. Project {project_id} is not yours.")


async def create_quota(
    services: Services, caller: Caller, project_id: str | None, hard_limit: int
) -> Quota:
    """Store a quota for a project and return it.

    Raises CloudFault, and Rejected if the caller may not do so, if the project is None or does not
    exist, or if it already has a quota.
    """
    await fence.demand(services, "quota:create", caller)
    if project_id is None:
        raise bad_request("Attribute project_id is mandatory. Add the id of a project.")
    if not await cloud_lookup.project_exists(services.cloud(caller), project_id):
        raise not_found("project", project_id)
    new = Quota(project_id=project_id, hard_limit=hard_limit, created_at=services.clock.now())
    try:
        return await services.store.run_once(lambda tx: rows.insert(tx, new))
    except IntegrityError:
        raise conflict(f"Project {project_id} already has a quota. Change that quota.") from None


async def change_quota(
    services: Services, caller: Caller, project_id: str, resource: str, hard_limit: int
) -> Quota:
    """Change the limit in the quota of a project, and return the quota.

    Raises Rejected if the caller may not do so, or if the project has no quota.
    """
    await fence.demand(services, "quota:update", caller)
    now = services.clock.now()

    def transaction(tx: Tx) -> Quota:
        quota = _locked(tx, project_id, resource)
        after = replace(quota, hard_limit=hard_limit, updated_at=now)
        rows.update(tx, after)
        return after

    return await services.store.run_once(transaction)


async def delete_quota(services: Services, caller: Caller, project_id: str, resource: str) -> None:
    """Delete the quota of a project. The default limit then applies to the project.

    Raises Rejected if the caller may not do so, or if the project has no quota.
    """
    await fence.demand(services, "quota:delete", caller)
    await services.store.run_once(lambda tx: rows.delete(tx, _locked(tx, project_id, resource)))


def _locked(tx: Tx, project_id: str, resource: str) -> Quota:
    quota = quotas.find(tx, project_id, resource, lock=True)
    if quota is None:
        raise not_found("quota", f"{project_id}/{resource}")
    return quota


def _demand_resource(project_id: str, resource: str) -> None:
    if resource != RESOURCE:
        raise not_found("quota", f"{project_id}/{resource}")
