"""How much history is kept. What is purged goes in the transaction that adds to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retention:
    """Bounds, all rough upwards; 0 or less keeps everything.

    Events of a stack beyond `events` go, oldest first, whenever its tree has had `events_batch`
    more. Of the revisions of a stack the last `revisions` stay, and those that are still needed.
    """

    events: int = 1000
    events_batch: int = 200
    revisions: int = 100
