"""Scheduler hints of servers and volumes: the hints in the template, and the position in the tree
of stacks.
"""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext


async def scheduler_hints(ctx: ResourceContext, given: Mapping[str, Any] | None) -> Body:
    """Return the hints of a create call; hints about the stack only if the operator enables them.

    `heat_path_in_stack` is a list of texts from the root: the name of the root stack, then
    "resource,stack" for each nested stack. It replaces a hint of the same name in the template.
    """
    hints = dict(given or {})
    if ctx.stack.schedulers_told:
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
