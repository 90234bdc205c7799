"""OS::Heat::CloudConfig: settings for cloud-init.

Source: docs/spec/software-config.md, section 1.
"""

from typing import Any

import yaml

from hearth.resources.base import ResourceContext
from hearth.resources.heat.software_config import ConfigResource
from hearth.schema import MAP, Prop, Support


class CloudConfig(ConfigResource):
    """Settings for cloud-init: a map, stored as the YAML text that cloud-init reads."""

    type_name = "OS::Heat::CloudConfig"
    support = Support(version="2014.1")
    properties = {"cloud_config": Prop(MAP, "The settings.")}

    async def content(self, ctx: ResourceContext) -> Any:
        settings = ctx.given("cloud_config") or {}
        return f"#cloud-config\n{yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)}"
