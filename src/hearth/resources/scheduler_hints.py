"""Scheduler hints of servers and volumes: those in the template, and those about the stack."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext


async def scheduler_hints(ctx: ResourceContext, requested: Mapping[str, Any] | None) -> Body:
    """Return the hints of a create call, including hints about the stack if the operator enables
    them.

    `heat_path_in_stack` is a list of texts from the root: the name of the root stack, then
    "resource,stack" for each nested stack. Hints about the stack replace given hints of the same
    name.
    """
    hints = dict(requested or {})
    if ctx.stack.stack_scheduler_hints:
        path = await ctx.path()
        hints |= {
            "heat_root_stack_id": ctx.stack.root_id or ctx.stack.id,
            "heat_stack_id": ctx.stack.id,
            "heat_stack_name": ctx.stack.name,
            "heat_path_in_stack": [
                stack if resource is None else f"{resource},{stack}" for resource, stack in path
            ],
            "heat_resource_name": ctx.name,
            "heat_resource_uuid": ctx.record_id,
        }
    return hints
