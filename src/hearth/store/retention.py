"""The amount of history to keep. The transaction that adds history also purges it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retention:
    """Approximate limits of history; 0 or less keeps everything.

    A stack's oldest events beyond `events` are deleted after each `events_batch` new events of its
    tree. The last `revisions` revisions of a stack stay, and those that are still in use.
    """

    events: int = 1000
    events_batch: int = 200
    revisions: int = 100
