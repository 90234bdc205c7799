"""The bus of one process: whoever listens is woken at once."""

from collections.abc import Callable


class Bus:
    """Tells listeners that there is something to look at."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever something was accepted."""
        self._listeners.append(wake)

    def tell(self) -> None:
        """Something was accepted, or mail was sent."""
        for wake in self._listeners:
            wake()
