"""The bus of a process: it wakes its listeners at once, and those of other processes by relays."""

from collections.abc import Callable


class Bus:
    """Wakes listeners when there is new work."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self._relays: list[Callable[[], None]] = []

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each accepted request."""
        self._listeners.append(wake)

    def relay(self, tell: Callable[[], None]) -> None:
        """Call `tell` for work that other processes may have to do."""
        self._relays.append(tell)

    def tell(self) -> None:
        """Wake all listeners: a request was accepted, or a message was sent."""
        self.wake()
        self.tell_others()

    def wake(self) -> None:
        """Wake the listeners of this process."""
        for wake in self._listeners:
            wake()

    def tell_others(self) -> None:
        """Wake the listeners of other processes: a stack of this one has given them work."""
        for tell in self._relays:
            tell()
