"""The API of the service catalogue: regions, services and endpoints."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, boolean, one_of, text
from hearth_devcloud.http import Body, Call, Refusal, Route
from hearth_devcloud.keystone.people import drop
from hearth_devcloud.keystone.rest import Rest, bad, find
from hearth_devcloud.store import Resource

REGIONS = Collection(
    "identity",
    "regions",
    "region",
    {
        "id": Field(text(), update=False),
        "description": Field(text(10000, null=True), default=""),
        "parent_region_id": Field(text(null=True)),
    },
    extra=True,
)
SERVICES = Collection(
    "identity",
    "services",
    "service",
    {
        "type": Field(text(), required=True),
        "name": Field(text(null=True)),
        "enabled": Field(boolean, default=True),
    },
    extra=True,
)
ENDPOINTS = Collection(
    "identity",
    "endpoints",
    "endpoint",
    {
        "interface": Field(one_of("public", "internal", "admin"), required=True),
        "region_id": Field(text(null=True)),
        "service_id": Field(text(), required=True),
        "url": Field(text(10000), required=True),
        "enabled": Field(boolean, default=True),
        "region": Field(text(null=True)),
    },
    extra=True,
)


class _Regions(Rest):
    def may_list(self, call: Call) -> bool:
        return True

    def may_read(self, call: Call, resource: Resource) -> bool:
        return True

    def new_id(self, call: Call, values: Body) -> str:
        region_id = values.pop("id", None) or call.cloud.store.new_hex()
        if call.cloud.store.get(REGIONS.table, region_id) is not None:
            raise Refusal(409, message="A region with this id already exists.")
        return str(region_id)

    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        self._check_parent(call, values.get("id"), values["parent_region_id"])

    def changed(self, call: Call, resource: Resource, changes: Body) -> None:
        self._check_parent(call, resource.id, changes.get("parent_region_id"))

    def gone(self, call: Call, resource: Resource) -> None:
        doomed = [resource, *_below(call, resource.id)]
        store = call.cloud.store
        if any(store.where(ENDPOINTS.table, region_id=region.id) for region in doomed):
            raise Refusal(403, message=f"Region {resource.id} or a child region has endpoints.")
        for region in doomed[1:]:
            store.remove(region)

    @staticmethod
    def _check_parent(call: Call, own_id: str | None, parent: str | None) -> None:
        if parent is None:
            return
        find(call, "regions", parent)
        inside = {region.id for region in _below(call, own_id)} if own_id else set()
        if parent == own_id or parent in inside:
            raise bad(f"Region {parent} cannot be the parent of {own_id}: that would be a cycle.")


def _below(call: Call, region_id: str) -> list[Resource]:
    """Return all descendants of a region."""
    descendants: list[Resource] = []
    todo = [region_id]
    while todo:
        inner = call.cloud.store.where(REGIONS.table, parent_region_id=todo.pop())
        descendants += inner
        todo += [region.id for region in inner]
    return descendants


class _Services(Rest):
    def gone(self, call: Call, resource: Resource) -> None:
        drop(call.cloud.store, "endpoints", service_id=resource.id)


class _Endpoints(Rest):
    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        self._check(call, values)
        region = values["region_id"] = values["region_id"] or values["region"]
        values["region"] = region
        store = call.cloud.store
        if region and store.get(REGIONS.table, region) is None:
            body = {"id": region, "description": "", "parent_region_id": None}
            store.insert(Resource(region, REGIONS.table, None, body), implicit=True)

    def changed(self, call: Call, resource: Resource, changes: Body) -> None:
        self._check(call, changes)
        if "region_id" in changes:
            changes["region"] = changes["region_id"]

    @staticmethod
    def _check(call: Call, values: Body) -> None:
        service_id = values.get("service_id")
        if service_id and call.cloud.store.get(SERVICES.table, service_id) is None:
            raise bad(f"Unknown service {service_id}")
        region_id = values.get("region_id")
        if region_id and call.cloud.store.get(REGIONS.table, region_id) is None:
            raise bad(f"Unknown region {region_id}")


ROUTES: list[Route] = [
    *_Regions(REGIONS).routes,
    *_Services(SERVICES).routes,
    *_Endpoints(ENDPOINTS).routes,
]
