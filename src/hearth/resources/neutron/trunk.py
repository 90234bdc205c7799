"""OS::Neutron::Trunk: a port that carries the traffic of several networks."""

from hearth.resources.base import ResourceContext, Step
from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.parts import Call, Rows
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Range,
    Resolve,
    Support,
)


class Trunk(NeutronResource):
    """A port that carries the traffic of several other ports."""

    type_name = "OS::Neutron::Trunk"
    support = Support(version="9.0.0")
    properties = {
        "admin_state_up": Prop(BOOLEAN, "true: it is enabled.", update_allowed=True),
        "description": OPTIONAL_DESCRIPTION,
        "name": NAME,
        "port": Prop(
            STRING,
            "The port, by name or id.",
            required=True,
            immutable=True,
            constraint="neutron.port",
        ),
        "sub_ports": Prop(
            LIST,
            "Ports that share the trunk.",
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "port": Prop(
                        STRING, "The port, by name or id.", required=True, constraint="neutron.port"
                    ),
                    "segmentation_id": Prop(
                        INTEGER,
                        "VLAN id of the subport.",
                        required=True,
                        constraints=(Range(min=1, max=4094),),
                    ),
                    "segmentation_type": Prop(
                        STRING,
                        "Kind of the segment.",
                        required=True,
                        constraints=(AllowedValues(["vlan"]),),
                    ),
                },
            ),
        ),
    }
    attributes = {
        "port_id": Attr(STRING, "Id of the parent port."),
    }
    translation = (
        Resolve(("port",), "neutron.port"),
        Resolve(
            (
                "sub_ports",
                "port",
            ),
            "neutron.port",
        ),
    )
    extension = "trunk"
    collection = Collection("network", "/v2.0/trunks", body="trunk")
    renamed = {"port": "port_id", "sub_ports.port": "port_id"}
    before_delete = (  # the service refuses to delete a disabled trunk
        Call("PUT", "/v2.0/trunks/{id}", {"trunk": {"admin_state_up": True}}, undoes=True),
    )
    parts = (
        Rows(
            property="sub_ports",
            key="port_id",
            shown="sub_ports",
            add=Call(
                "PUT", "/v2.0/trunks/{id}/add_subports", {"sub_ports": "{members}"}, again=False
            ),
            remove=Call(
                "PUT", "/v2.0/trunks/{id}/remove_subports", {"sub_ports": "{keys}"}, again=False
            ),
            at_once=True,
            in_create=True,
        ),
    )

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps in the order in which the trunk is enabled while its subports change,
        because the service refuses to change those of a disabled one.
        """
        steps = super().update_steps(ctx)
        disables = "admin_state_up" in ctx.changed and ctx.given("admin_state_up") is False
        return (*steps[1:], steps[0]) if disables else steps
