"""Lifecycle plug-ins written for Heat. Hearth calls them as Heat does.

They are entry points of the group `heat.stack_lifecycle_plugins`: classes with `do_pre_op`,
`do_post_op` and `get_ordinal`. Their arguments contain only data that Hearth has: the stack's id,
name, action and project. The methods may block, so each call runs in a thread.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct

from hearth.engine.worker.ports import ORDINAL, Occasion

GROUP = "heat.stack_lifecycle_plugins"
CALLS_AT_ONCE = 4


class Context(Struct, frozen=True):
    """The requester, in the form that Heat's plug-ins expect. `tenant_id` equals `project_id`."""

    project_id: str
    tenant_id: str


class PluginStack(Struct, frozen=True):
    """The stack, in the form that Heat's plug-ins expect."""

    id: str
    name: str
    action: str
    tenant_id: str
    root_id: str

    def root_stack_id(self) -> str:
        return self.root_id


class PluginOfHeat:
    """An adapter with which a plug-in for Heat can be called as a plug-in of Hearth."""

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE, "lifecycle")
        ordinal = getattr(plugin, "get_ordinal", None)
        self.ordinal = ORDINAL if ordinal is None else int(ordinal())
        self.name = type(plugin).__qualname__

    async def pre(self, occasion: Occasion) -> None:
        await self._call("do_pre_op", occasion)

    async def post(self, occasion: Occasion, *, failed: bool) -> None:
        await self._call("do_post_op", occasion, is_stack_failure=failed)

    async def _call(self, method: str, occasion: Occasion, **arguments: Any) -> None:
        call = getattr(self._plugin, method, None)
        if call is None:
            return
        project = occasion.project_id
        stack = PluginStack(
            occasion.stack_id, occasion.stack_name, occasion.action, project, occasion.root_id
        )
        context = Context(project, project)

        def run() -> None:
            call(context, stack, current_stack=None, action=occasion.action, **arguments)

        await asyncio.get_running_loop().run_in_executor(self._threads, run)
