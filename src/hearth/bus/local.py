"""The bus of a single process: it wakes its listeners at once."""

from collections.abc import Callable


class Bus:
    """Wakes listeners when there is new work."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each accepted request."""
        self._listeners.append(wake)

    def tell(self) -> None:
        """Wake the listeners: a request was accepted, or a message was sent."""
        for wake in self._listeners:
            wake()
