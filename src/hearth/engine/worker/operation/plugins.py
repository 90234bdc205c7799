"""Lifecycle plug-ins, which are called before and after every operation of a stack.

They are entry points of the group `hearth.lifecycle`: a class or function that returns a `Plugin`.
After a takeover the calls before an operation may happen again.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hearth.engine.worker.operation import heat_plugins as of_heat
from hearth.engine.worker.ports import ORDINAL, Occasion, Plugin
from hearth.resources.entry_points import entry_points

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

GROUP = "hearth.lifecycle"
CALL_S = 60.0  # the time limit of one call


class PreFailed(Exception):
    """A plug-in has failed the operation; the exception's text becomes the reason of the stack."""


class BadPlugin(Exception):
    """An installed plug-in cannot be loaded."""


def installed() -> tuple[Plugin, ...]:
    """Return the installed plug-ins, including those for Heat, in the order of their `ordinal`.

    Raises BadPlugin with the name of a plug-in that cannot be loaded.
    """
    loaded = [(entry.name, _loaded(entry)) for entry in entry_points(GROUP)]
    loaded += [
        (entry.name, of_heat.PluginOfHeat(_loaded(entry))) for entry in entry_points(of_heat.GROUP)
    ]
    return tuple(plugin for _, plugin in sorted(loaded, key=_turn))


def _loaded(entry: "EntryPoint") -> Any:
    try:
        return entry.load()()
    except Exception as problem:
        subject = f"the lifecycle plug-in {entry.name} ({entry.value})"
        raise BadPlugin(f"{subject} cannot be loaded: {problem!r}") from problem


def _turn(plugin: tuple[str, Any]) -> tuple[int, str]:
    return getattr(plugin[1], "ordinal", ORDINAL), plugin[0]


class PluginCalls:
    """The plug-in calls of one operation."""

    def __init__(self, plugins: Sequence[Plugin], occasion: Occasion) -> None:
        self._plugins = plugins
        self._occasion = occasion
        self.open: list[Plugin] = []  # those whose `pre` succeeded and that wait for the end

    async def before(self) -> None:
        """Call `pre` of all plug-ins in order.

        Raises PreFailed with the text of the first plug-in that raises an exception or takes too
        long.
        """
        for plugin in self._plugins:
            try:
                async with asyncio.timeout(CALL_S):
                    await plugin.pre(self._occasion)
            except TimeoutError:
                raise PreFailed(f"{_name(plugin)} did not answer in {CALL_S:.0f} s") from None
            except Exception as problem:
                raise PreFailed(str(problem) or type(problem).__name__) from problem
            self.open.append(plugin)

    async def after(self, *, failed: bool) -> None:
        """Call `post` of each plug-in whose `pre` succeeded. A second call does nothing."""
        plugins, self.open = self.open, []
        for plugin in plugins:
            try:
                async with asyncio.timeout(CALL_S):
                    await plugin.post(self._occasion, failed=failed)
            except Exception as problem:
                stack_id = self._occasion.stack_id
                log.warning("stack %s: plug-in %s: %r", stack_id, _name(plugin), problem)


def _name(plugin: Plugin) -> str:
    return str(getattr(plugin, "name", type(plugin).__qualname__))
