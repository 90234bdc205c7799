"""OS::Neutron::RBACPolicy: shares an object with another project."""

from hearth.resources.collection import Collection
from hearth.resources.neutron.base import Natural
from hearth.resources.properties import TENANT_ID
from hearth.schema import (
    STRING,
    AllowedValues,
    OnlyFor,
    Prop,
    Resolve,
    Support,
    Where,
)


class RBACPolicy(Natural):
    """Shares an object of this project, such as a network, with another project."""

    type_name = "OS::Neutron::RBACPolicy"
    support = Support(version="6.0.0")
    properties = {
        "action": Prop(
            STRING,
            "Action that the other project may carry out with the object.",
            required=True,
            constraints=(AllowedValues(["access_as_shared", "access_as_external"]),),
        ),
        "object_id": Prop(STRING, "The object, by name or id.", required=True),
        "object_type": Prop(
            STRING,
            "Type of the object.",
            required=True,
            constraints=(
                AllowedValues(
                    ["network", "qos_policy", "security_group", "address_scope", "subnetpool"]
                ),
            ),
        ),
        "target_tenant": Prop(
            STRING,
            "Id of the other project; * for all, which is for administrators.",
            required=True,
            update_allowed=True,
        ),
        "tenant_id": TENANT_ID,
    }
    translation = (Resolve(("object_id",), "neutron.{object_type}"),)
    extension = "rbac-policies"
    collection = Collection("network", "/v2.0/rbac-policies", body="rbac_policy", key_field=None)
    alike = ("object_type", "object_id", "action", "target_tenant")
    known_by = "object, action and target, which are unique together"
    relations = (
        Where("action", ("access_as_external",), OnlyFor("action", "object_type", "network")),
    )
