"""The API of traffic mirroring (TaaS): tap services receive copies of the traffic of tap flows."""

from __future__ import annotations

import re
from typing import Any

from hearth_devcloud.collection import READ_ONLY, Collection, Field, nullable, one_of, text
from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.neutron.agents import Pending
from hearth_devcloud.neutron.ports import ports
from hearth_devcloud.store import Resource

_VLANS = re.compile(r"^\d+(-\d+)?(,\d+(-\d+)?)*$")


def _vlans(value: Any) -> str:
    """Check VLAN numbers and ranges such as `9,18-27` and return them. Raises ValueError."""
    if not _VLANS.match(str(value)):
        raise ValueError(f"expected VLAN numbers and ranges such as '9,18-27', got '{value}'")
    return str(value)


_NAMED = {"name": Field(text(), default=""), "description": Field(text(), default="")}
SERVICES = Collection(
    "network",
    "tap_services",
    "tap_service",
    {**_NAMED, "port_id": Field(text(36), required=True, update=False), "status": READ_ONLY},
    type_name="TapService",
    path="/v2.0/taas/tap_services",
)
FLOWS = Collection(
    "network",
    "tap_flows",
    "tap_flow",
    {
        **_NAMED,
        "tap_service_id": Field(text(36), required=True, update=False),
        "source_port": Field(text(36), required=True, update=False),
        "direction": Field(one_of("IN", "OUT", "BOTH"), default="BOTH", update=False),
        "vlan_filter": Field(nullable(_vlans), update=False),
        "status": READ_ONLY,
    },
    type_name="TapFlow",
    path="/v2.0/taas/tap_flows",
)


class _Taps(Pending):
    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        resource.body.update(changes)  # only names can change, so no agent is involved


class _Services(_Taps):
    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        port = ports.find(call, values["port_id"])
        self.port_of_caller(call, port)
        return super().make(call, project_id, values)

    @staticmethod
    def port_of_caller(call: Call, port: Resource) -> None:
        """Raise Refusal 403 if the port belongs to another project."""
        if not call.caller.is_admin and port.project_id != call.caller.project_id:
            raise Refusal(403, "PortDoesNotBelongToTenant", "The port belongs to another project.")

    def gone(self, call: Call, resource: Resource) -> None:
        for flow in call.cloud.store.where(FLOWS.table, tap_service_id=resource.id):
            call.cloud.store.remove(flow)


class _Flows(_Taps):
    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        service = services.find(call, values["tap_service_id"])
        services.owned_by_caller(call, service, "use")
        _Services.port_of_caller(call, ports.find(call, values["source_port"]))
        return super().make(call, project_id, values)


services = _Services(SERVICES)
ROUTES = [*services.routes, *_Flows(FLOWS).routes]
