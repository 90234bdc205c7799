"""Create, change and delete cluster templates. Source: docs/spec/clusters.md, 2.6."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from msgspec.structs import asdict, replace

from hearth.clusters.names import generated_name
from hearth.clusters.objects import ClusterTemplate
from hearth.clusters.problems import bad_request, not_found
from hearth.clusters.requests import TemplateRequest
from hearth.service.caller import Caller
from hearth.service.clusters.access import demand
from hearth.service.clusters.cloud_checks import check_template
from hearth.service.clusters.template_checks import checked, with_driver
from hearth.service.services import Services
from hearth.store.clusters import find, rows
from hearth.store.database import Tx

PUBLISH = "clustertemplate:publish"
NOT_CHECKED = frozenset({"name", "tags", "public", "hidden", "dns_nameserver"})
"""Fields whose change needs no check against the cloud."""


async def create_template(
    services: Services, caller: Caller, request: TemplateRequest
) -> ClusterTemplate:
    """Create a cluster template and return it. Raises Rejected, CloudFault."""
    uuid = services.new_id()
    name = request.name or generated_name(UUID(uuid).int, "template")
    new = ClusterTemplate(
        uuid=uuid,
        project_id=caller.project_id,
        user_id=caller.user_id,
        created_at=services.clock.now(),
        **{**asdict(request), "name": name},
    )
    new = checked(new, services.clusters)
    await demand(services, caller, "clustertemplate:create")
    image = await check_template(services, caller, new)
    new = with_driver(new, image, services.clusters)
    if new.public or new.hidden:
        await demand(services, caller, PUBLISH)
    return await services.store.run_once(lambda tx: rows.insert(tx, new))


async def change_template(
    services: Services, caller: Caller, template: ClusterTemplate, changes: Mapping[str, Any]
) -> ClusterTemplate:
    """Change fields of a cluster template and return it.

    `changes` maps fields to their new values; a removed name becomes a generated one. If a cluster
    uses the template, only a few fields can be changed. Raises Rejected, CloudFault.
    """
    if not changes:
        return template
    new_values = dict(changes)
    if new_values.get("name", template.name) is None:
        new_values["name"] = generated_name(UUID(template.uuid).int, "template")
    if changes.keys() & {"public", "hidden"}:
        await demand(services, caller, PUBLISH)
    if not changes.keys() <= NOT_CHECKED:
        after = checked(replace(template, **new_values), services.clusters)
        image = await check_template(services, caller, after)
        if changes.keys() & {"image_id", "driver", "server_type"}:
            fresh = after if "driver" in changes else replace(after, driver=None)
            after = with_driver(fresh, image, services.clusters)
        new_values |= {
            name: getattr(after, name) for name in ("network_driver", "cluster_distro", "driver")
        }
    now = services.clock.now()

    def transaction(tx: Tx) -> ClusterTemplate:
        current = _locked(tx, template)
        if find.in_use(tx, template.uuid) and not _harmless(changes):
            raise bad_request(
                f"Cluster template {template.name} is in use. Only its name, or one of public, "
                "hidden and tags, can be changed."
            )
        after = replace(current, **new_values, updated_at=now)
        rows.update(tx, after)
        return after

    return await services.store.run_once(transaction)


async def delete_template(services: Services, template: ClusterTemplate) -> None:
    """Delete a cluster template. Raises Rejected if a cluster uses it."""

    def transaction(tx: Tx) -> None:
        current = _locked(tx, template)
        if find.in_use(tx, template.uuid):
            raise bad_request(
                f"Cluster template {template.name} is in use. Delete its clusters first."
            )
        rows.delete(tx, current)

    await services.store.run_once(transaction)


def _harmless(changes: Mapping[str, Any]) -> bool:
    """Return whether these fields of a template may be changed although clusters use it."""
    if set(changes) == {"name"}:
        return True
    if len(changes) != 1:
        return False
    return bool(changes.get("public")) or not changes.keys().isdisjoint({"hidden", "tags"})


def _locked(tx: Tx, template: ClusterTemplate) -> ClusterTemplate:
    matches = find.by_ident(tx, ClusterTemplate, template.uuid, lock=True)
    if not matches:
        raise not_found("cluster template", template.name)
    return matches[0]
