"""OS::Neutron::MeteringLabel and OS::Neutron::MeteringRule; for administrators."""

from hearth.resources.collection import Collection
from hearth.resources.neutron.base import Natural, Told
from hearth.schema import (
    BOOLEAN,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Support,
)


class MeteringLabel(Told):
    """A heading under which traffic is counted. Nothing of it can be changed later."""

    type_name = "OS::Neutron::MeteringLabel"
    support = Support(version="2014.1")
    properties = {
        "description": Prop(STRING, "What it is for."),
        "name": Prop(STRING, "Its name; generated when not given."),
        "shared": Prop(
            BOOLEAN,
            "Whether it counts the traffic of every project.",
            default=False,
            since="2015.1",
        ),
    }
    attributes = {
        "description": Attr(STRING, "What it is for."),
        "name": Attr(STRING, "Its name; generated when not given."),
        "shared": Attr(STRING, "Whether it counts the traffic of every project."),
    }
    extension = "metering"
    collection = Collection("network", "/v2.0/metering/metering-labels", body="metering_label")


class MeteringRule(Natural):
    """Traffic that is counted under a label."""

    type_name = "OS::Neutron::MeteringRule"
    support = Support(version="2014.1")
    properties = {
        "direction": Prop(
            STRING,
            "Whether traffic comes in or goes out.",
            default="ingress",
            constraints=(AllowedValues(["ingress", "egress"]),),
        ),
        "excluded": Prop(
            BOOLEAN, "Whether this traffic is left out of the count.", default="False"
        ),
        "metering_label_id": Prop(STRING, "Id of the label.", required=True),
        "remote_ip_prefix": Prop(
            STRING, "Network of the other side, in CIDR notation.", required=True
        ),
    }
    attributes = {
        "direction": Attr(STRING, "Whether traffic comes in or goes out."),
        "excluded": Attr(STRING, "Whether this traffic is left out of the count."),
        "metering_label_id": Attr(STRING, "Id of the label."),
        "remote_ip_prefix": Attr(STRING, "Network of the other side, in CIDR notation."),
    }
    extension = "metering"
    collection = Collection(
        "network", "/v2.0/metering/metering-label-rules", body="metering_label_rule", key_field=None
    )
    alike = ("metering_label_id", "direction", "remote_ip_prefix")
    known_by = "label, direction and network; the rules of a label do not overlap"
