"""Software configurations: the scripts that deployments run, stored by the Orchestration API.

Hearth creates them through its own API, as any user would, and finds them there by name. Source:
docs/spec/software-config.md, section 1.
"""

import json
import re
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, CollectionResource, id_in
from hearth.resources.heat.software_io import INPUT, OUTPUT, TYPES, UNGROUPED, typed_default
from hearth.schema import LIST, MAP, STRING, Attr, Prop, Support

SERVICE, PATH = "orchestration", "/software_configs"
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_ENTRIES = {name: prop for name, prop in INPUT.items() if name != "value"}
_ENTRIES["replace_on_change"] = replace(INPUT["replace_on_change"], default=False)
TOLD = {
    "inputs": Prop(LIST, "Inputs that deployments can set.", schema=Prop(MAP, schema=_ENTRIES)),
    "options": Prop(MAP, "Options of the tool."),
    "outputs": Prop(LIST, "Outputs that the tool reports.", schema=Prop(MAP, schema=OUTPUT)),
}


class ConfigResource(CollectionResource):
    """Base class of software configurations. They cannot be updated."""

    attributes = {"config": Attr(STRING, "The configuration; a map if it was given as a map.")}
    service = SERVICE
    collection = Collection(SERVICE, PATH, "software_config", key_field=None)
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the object keeps"

    async def create(self, ctx: ResourceContext) -> Made:
        """Send the create call; its body has no root key."""
        fields: Body = {
            "name": ctx.physical_name,
            "group": self.group(ctx),
            "config": await self.content(ctx),
            "inputs": [_input(entry) for entry in ctx.given("inputs") or ()],
            "outputs": [_output(entry) for entry in ctx.given("outputs") or ()],
            "options": ctx.given("options") or {},
        }
        answer = await ctx.cloud.request(SERVICE, "POST", PATH, json=fields)
        config = self.collection.unwrapped(answer)
        return Made(physical_id=id_in(config), body=config)

    def group(self, ctx: ResourceContext) -> str:
        """Return the configuration's group, which names the tool on the server that applies it."""
        return str(ctx.given("group") or UNGROUPED)

    async def show(self, ctx: ResourceContext) -> Body:
        return await stored_config(ctx, ctx.physical)

    async def content(self, ctx: ResourceContext) -> Any:
        """Return the configuration text or map to store."""
        return ctx.given("config")


class SoftwareConfig(ConfigResource):
    """A configuration for servers: a text for a configuration tool. It cannot be updated."""

    type_name = "OS::Heat::SoftwareConfig"
    support = Support(version="2014.1")
    properties = {
        "config": Prop(STRING, "Text for the tool."),
        "group": Prop(
            STRING,
            "Name of the hook on the server that applies the configuration.",
            default=UNGROUPED,
        ),
        **TOLD,
    }


class StructuredConfig(SoftwareConfig):
    """A configuration for servers: a map for a configuration tool. It cannot be updated."""

    type_name = "OS::Heat::StructuredConfig"
    properties = {**SoftwareConfig.properties, "config": Prop(MAP, "A map for the tool.")}


async def stored_config(ctx: ResourceContext, config_id: str) -> Body:
    """Fetch a stored configuration by its id. Raises CloudFault.

    The call for a single configuration is needed because a list call does not return the texts.
    """
    answer = await ctx.cloud.request(SERVICE, "GET", f"{PATH}/{segment(config_id)}")
    config: Body = answer.body["software_config"]
    return config


async def config_or_text(ctx: ResourceContext, text: str) -> str:
    """Return the text of the configuration whose id is `text`, or `text` itself if there is
    none.
    """
    if not ID.fullmatch(text):
        return text
    try:
        body = await stored_config(ctx, text)
    except NotFound:
        return text
    config = body["config"]
    return config if isinstance(config, str) else "" if config is None else json.dumps(config)


def _input(declared: Body) -> Body:
    """Return an input as the create call sends it, with its default converted to the input's type.

    The API refuses a default of another type.
    """
    default = "" if declared.get("default") is None else declared["default"]
    with suppress(ValueError):
        default = typed_default(TYPES[declared["type"]], default)
    replacing = {"replace_on_change": True} if declared.get("replace_on_change") else {}
    return {**_described(declared), "default": default, **replacing}


def _output(declared: Body) -> Body:
    """Return an output as the create call sends it."""
    return {**_described(declared), "error_output": bool(declared.get("error_output"))}


def _described(declared: Body) -> Body:
    description = declared.get("description") or ""
    return {"name": declared["name"], "type": declared["type"], "description": description}
