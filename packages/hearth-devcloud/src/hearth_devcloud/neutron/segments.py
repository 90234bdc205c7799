"""The API of network segments. Each network is created with one segment."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.collection import Collection, Field, integer, one_of, text
from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.neutron.networks import networks
from hearth_devcloud.neutron.physical import KINDS, new_segment
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.store import Resource

SEGMENTS = Collection(
    "network",
    "segments",
    "segment",
    {
        "network_id": Field(text(36), required=True, update=False),
        "network_type": Field(one_of(*KINDS), required=True, update=False),
        "physical_network": Field(text(64, null=True), update=False),
        "segmentation_id": Field(integer(null=True), update=False),
        "name": Field(text(null=True)),
        "description": Field(text(null=True)),
    },
    type_name="Segment",
    path="/v2.0/segments",
)


class _Segments(Rest):
    standard = False
    admin_only = True

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        network = networks.find(call, values["network_id"])
        kind, physical_network = values["network_type"], values["physical_network"]
        number = values["segmentation_id"]
        fields = {"name": values["name"], "description": values["description"]}
        return new_segment(call.cloud, network, kind, physical_network, number, **fields)

    def gone(self, call: Call, resource: Resource) -> None:
        if call.cloud.store.where(tables.SUBNETS, segment_id=resource.id):
            text_ = f"Segment '{resource.id}' cannot be deleted: it is in use by a subnet."
            raise Refusal(409, "SegmentInUse", text_)

    def visible(self, call: Call, resource: Resource) -> bool:
        return False


segments = _Segments(SEGMENTS)
ROUTES = segments.routes
