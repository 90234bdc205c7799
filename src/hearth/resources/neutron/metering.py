"""OS::Neutron::MeteringLabel and OS::Neutron::MeteringRule; for administrators."""

from hearth.resources.collection import Collection
from hearth.resources.neutron.base import FixedAtCreate, Natural
from hearth.resources.properties import FIXED_NAME
from hearth.schema import (
    BOOLEAN,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Support,
)


class MeteringLabel(FixedAtCreate):
    """A label for metering traffic. It cannot be updated."""

    type_name = "OS::Neutron::MeteringLabel"
    support = Support(version="2014.1")
    properties = {
        "description": Prop(STRING, "Description."),
        "name": FIXED_NAME,
        "shared": Prop(
            BOOLEAN,
            "true: it counts the traffic of every project.",
            default=False,
            since="2015.1",
        ),
    }
    attributes = {
        "description": Attr(STRING, "Description."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "shared": Attr(STRING, "true: it counts the traffic of every project."),
    }
    extension = "metering"
    collection = Collection("network", "/v2.0/metering/metering-labels", body="metering_label")


class MeteringRule(Natural):
    """A rule that selects the traffic which a label meters."""

    type_name = "OS::Neutron::MeteringRule"
    support = Support(version="2014.1")
    properties = {
        "direction": Prop(
            STRING,
            "Direction of the traffic.",
            default="ingress",
            constraints=(AllowedValues(["ingress", "egress"]),),
        ),
        "excluded": Prop(BOOLEAN, "true: this traffic is not counted.", default="False"),
        "metering_label_id": Prop(STRING, "Id of the label.", required=True),
        "remote_ip_prefix": Prop(STRING, "Remote network, in CIDR notation.", required=True),
    }
    attributes = {
        "direction": Attr(STRING, "Direction of the traffic."),
        "excluded": Attr(STRING, "true: this traffic is not counted."),
        "metering_label_id": Attr(STRING, "Id of the label."),
        "remote_ip_prefix": Attr(STRING, "Remote network, in CIDR notation."),
    }
    extension = "metering"
    collection = Collection(
        "network", "/v2.0/metering/metering-label-rules", body="metering_label_rule", key_field=None
    )
    alike = ("metering_label_id", "direction", "remote_ip_prefix")
    known_by = "label, direction and network; the rules of a label do not overlap"
