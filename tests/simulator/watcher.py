"""A lifecycle plug-in of the simulator, which sometimes raises errors and checks how it is
called.
"""

from collections.abc import Callable

from hearth.engine.worker.ports import Occasion


class Watcher:
    """A lifecycle plug-in. The function `objects` decides whether the current call raises an error.

    Its argument is "pre" or "post". `wrong` lists calls after an operation without a call before
    it.
    """

    def __init__(self, objects: Callable[[str], bool]) -> None:
        self._objects = objects
        self.begun: dict[str, int] = {}  # by stack
        self.wrong: list[str] = []

    async def pre(self, occasion: Occasion) -> None:
        if self._objects("pre"):
            raise RuntimeError("the plug-in objects")
        self.begun[occasion.stack_id] = self.begun.get(occasion.stack_id, 0) + 1

    async def post(self, occasion: Occasion, *, failed: bool) -> None:
        if not self.begun.get(occasion.stack_id):
            self.wrong.append(f"the plug-in was called after {occasion.action}, but not before it")
        else:
            self.begun[occasion.stack_id] -= 1
        if self._objects("post"):
            raise RuntimeError("the plug-in failed")
