"""Software configurations: what a deployment does on a server, stored by the service itself.

Hearth creates them through its own API, as any user would, and finds them there by name.
"""

from dataclasses import replace

from hearth.cloud.contract import Body
from hearth.resources.base import IntentKey, ResourceContext
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.heat.software_io import INPUT, OUTPUT, UNGROUPED
from hearth.schema import LIST, MAP, STRING, Attr, Prop, Support

_ENTRIES = {name: prop for name, prop in INPUT.items() if name != "value"}
_ENTRIES["replace_on_change"] = replace(INPUT["replace_on_change"], default=False)


class SoftwareConfig(CollectionResource):
    """A configuration for servers, as text for a configuration tool. It cannot be changed."""

    type_name = "OS::Heat::SoftwareConfig"
    support = Support(version="2014.1")
    properties = {
        "config": Prop(STRING, "Text for the tool."),
        "group": Prop(STRING, "The tool, as its hook on the server is called.", default=UNGROUPED),
        "inputs": Prop(LIST, "What deployments may give.", schema=Prop(MAP, schema=_ENTRIES)),
        "options": Prop(MAP, "Options of the tool."),
        "outputs": Prop(LIST, "What the tool will tell.", schema=Prop(MAP, schema=OUTPUT)),
    }
    attributes = {"config": Attr(STRING, "The configuration, a map where it was given as one.")}
    service = "orchestration"
    collection = Collection("orchestration", "/software_configs", "software_config", key_field=None)
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which it keeps"

    def fields(self, ctx: ResourceContext) -> Body:
        return {**super().fields(ctx), "name": ctx.physical_name}


class StructuredConfig(SoftwareConfig):
    """A configuration for servers, as a map for a configuration tool. It cannot be changed."""

    type_name = "OS::Heat::StructuredConfig"
    properties = {**SoftwareConfig.properties, "config": Prop(MAP, "A map for the tool.")}
