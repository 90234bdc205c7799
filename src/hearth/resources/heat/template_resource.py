"""A template that is used as a resource type.

Source: docs/spec/groups-and-nesting.md, section 2.
"""

from typing import Any

from hearth.resources.capabilities import NestedType
from hearth.resources.context import Child, ResourceContext
from hearth.template import Module
from hearth.template.child import parameters_of


class TemplateResource(NestedType):
    """A template as a type: its parameters are the properties, its outputs the attributes."""

    type_name = "<template>"

    def __init__(self, module: Module | None = None) -> None:
        self.module = module

    def child(self, ctx: ResourceContext) -> Child:
        assert self.module is not None
        syntax = self.module.syntax
        return Child(
            template=self.module.files[syntax.file],
            parameters=parameters_of(ctx.properties, syntax.parameters),
        )

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return dict(ctx.outputs)
