"""The settings of the database: how much history is kept, and how long an operation may take.

The transaction that adds history also deletes what is too old.
"""

from functools import partial
from typing import Annotated

from msgspec import Struct

from hearth.model.option import Option

_live = partial(Option, live=True)


# fmt: off
class StoreConfig(Struct, frozen=True):
    """Approximate limits of the history that is kept, and the time limit of operations.

    After every `event_purge_batch_size` new events of a tree of stacks, the oldest events of each
    stack beyond `max_events_per_stack` are deleted. The last `revisions` revisions of a stack are
    kept, and all revisions in use. A limit of 0 or less keeps everything.
    """

    max_events_per_stack: Annotated[int, _live("Approximate number of events kept per stack; 0 or less: all.")] = 1000
    event_purge_batch_size: Annotated[int, _live("Number of new events of a stack and its nested stacks after which Hearth removes the oldest ones.", minimum=1)] = 200
    revisions: int = 100
    stack_action_timeout_s: Annotated[int, _live("Time limit of an operation in seconds, for stacks without a timeout.", name="stack_action_timeout", minimum=1)] = 3600
# fmt: on
