"""The bus of one process: it wakes listeners in this process, and other processes by relays."""

from collections.abc import Callable


class Bus:
    """Calls the listeners of this process and the relays to other processes when there is work."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self._relays: list[Callable[[], None]] = []

    def listen(self, wake: Callable[[], None]) -> None:
        """Add a listener: `wake` is called whenever there may be new work for this process."""
        self._listeners.append(wake)

    def relay(self, tell: Callable[[], None]) -> None:
        """Add a relay: `tell` is called whenever there may be new work for other processes."""
        self._relays.append(tell)

    def tell(self) -> None:
        """Wake the listeners of all processes, after a request or message has been committed."""
        self.wake()
        self.tell_others()

    def wake(self) -> None:
        """Wake the listeners of this process."""
        for wake in self._listeners:
            wake()

    def tell_others(self) -> None:
        """Wake only the listeners of other processes, for work that this process created."""
        for tell in self._relays:
            tell()
