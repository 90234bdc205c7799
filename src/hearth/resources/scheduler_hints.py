"""What schedulers are told of a server or volume: wishes of the template, and where it belongs."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Live


async def scheduler_hints(live: Live, given: Mapping[str, Any] | None) -> Body:
    """The hints of a create call; those of the stack only where the operator wants them told.

    `heat_path_in_stack` is a list of texts from the root on: the name of the root stack, then
    "resource,stack" for each nested one. A hint of the same name in the template does not count.
    """
    hints = dict(given or {})
    if live.stack.schedulers_told:
        path = await live.path()
        hints |= {
            "heat_root_stack_id": live.stack.root_id or live.stack.id,
            "heat_stack_id": live.stack.id,
            "heat_stack_name": live.stack.name,
            "heat_path_in_stack": [
                stack if resource is None else f"{resource},{stack}" for resource, stack in path
            ],
            "heat_resource_name": live.name,
            "heat_resource_uuid": live.record_id,
        }
    return hints
