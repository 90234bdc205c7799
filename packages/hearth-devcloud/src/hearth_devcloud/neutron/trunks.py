"""The API of trunks, which consist of a parent port and sub-ports."""

from __future__ import annotations

from hearth_devcloud.collection import READ_ONLY, Collection, Field, boolean, list_of, mapping, text
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.neutron.ports import ports
from hearth_devcloud.neutron.rest import Rest, touch
from hearth_devcloud.store import Resource

TRUNKS = Collection(
    "network",
    "trunks",
    "trunk",
    {
        "port_id": Field(text(36), required=True, update=False),
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "admin_state_up": Field(boolean, default=True),
        "sub_ports": Field(list_of(mapping), default=list, update=False),
        "status": READ_ONLY,
    },
    type_name="Trunk",
    path="/v2.0/trunks",
    quota="trunk",
)


class _Trunks(Rest):
    revision = 1

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        port = ports.find(call, values["port_id"])
        if call.cloud.store.where(TRUNKS.table, port_id=port.id):
            text_ = f"Port {port.id} is in use by another trunk."
            raise Refusal(409, "ParentPortInUse", text_)
        subs = [self._sub_port(call, item) for item in values["sub_ports"]]
        return super().make(call, project_id, {**values, "sub_ports": subs, "status": "ACTIVE"})

    def _sub_port(self, call: Call, item: Body) -> Body:
        port = ports.find(call, str(item.get("port_id")))
        for trunk in call.cloud.store.all(TRUNKS.table):
            if any(sub["port_id"] == port.id for sub in trunk.body["sub_ports"]):
                text_ = f"Port {port.id} is in use by trunk {trunk.id}."
                raise Refusal(409, "DuplicateSubPort", text_)
        return {
            "port_id": port.id,
            "segmentation_type": item.get("segmentation_type", "vlan"),
            "segmentation_id": item.get("segmentation_id"),
        }

    def gone(self, call: Call, resource: Resource) -> None:
        _switched_on(resource)
        super().gone(call, resource)

    def add(self, call: Call) -> Reply:
        """Handle PUT add_subports: add sub-ports to a trunk."""
        trunk = _switched_on(self.find(call, call.ids[0]))
        sub_ports = call.json().get("sub_ports") or []
        trunk.body["sub_ports"] += [self._sub_port(call, item) for item in sub_ports]
        return self._changed(call, trunk)

    def remove(self, call: Call) -> Reply:
        """Handle PUT remove_subports: remove sub-ports from a trunk."""
        trunk = _switched_on(self.find(call, call.ids[0]))
        port_ids = {item.get("port_id") for item in call.json().get("sub_ports") or []}
        present = {sub["port_id"] for sub in trunk.body["sub_ports"]}
        if not port_ids <= present:
            raise Refusal(404, "SubPortNotFound", f"SubPort on trunk {trunk.id} not found.")
        sub_ports = [sub for sub in trunk.body["sub_ports"] if sub["port_id"] not in port_ids]
        trunk.body["sub_ports"] = sub_ports
        return self._changed(call, trunk)

    def subs(self, call: Call) -> Reply:
        """Handle GET get_subports: list the sub-ports of a trunk."""
        return Reply(200, {"sub_ports": self.find(call, call.ids[0]).body["sub_ports"]})

    def _changed(self, call: Call, trunk: Resource) -> Reply:
        trunk.body["status"] = "DOWN"
        touch(call.cloud, trunk)
        call.cloud.store.later(0, trunk, "network.trunk")
        return Reply(200, self.view(call, trunk))


def _switched_on(trunk: Resource) -> Resource:
    """Return the given trunk, or raise Refusal 409 if its admin state is down."""
    if not trunk.body["admin_state_up"]:
        raise Refusal(409, "TrunkDisabled", f"Trunk {trunk.id} is currently disabled.")
    return trunk


def settle_trunk(_: object, trunk: Resource) -> None:
    """Carry out the transition of a trunk to ACTIVE after its sub-ports have changed."""
    trunk.body["status"] = "ACTIVE"


trunks = _Trunks(TRUNKS)
ROUTES: list[Route] = [
    *trunks.routes,
    ("PUT", "/v2.0/trunks/{}/add_subports", trunks.add),
    ("PUT", "/v2.0/trunks/{}/remove_subports", trunks.remove),
    ("GET", "/v2.0/trunks/{}/get_subports", trunks.subs),
]
