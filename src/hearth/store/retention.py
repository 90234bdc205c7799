"""How much history is kept. The transaction that adds history also deletes what is too old."""

from msgspec import Struct


class Retention(Struct, frozen=True):
    """Approximate limits of the history that is kept; a limit of 0 or less keeps everything.

    After every `events_batch` new events of a tree of stacks, the oldest events of each stack
    beyond `events` are deleted. The last `revisions` revisions of a stack are kept, and all
    revisions in use.
    """

    events: int = 1000
    events_batch: int = 200
    revisions: int = 100
