"""Posts events to the event sinks of their stacks.

For each stack tree and sink, the events are posted in order and at least once. No operation waits
for a post. A failed post is retried, soon at first, then every minute, and given up after an hour.
Events that the service refuses permanently are dropped at once. Both cases are logged. A lane is
the sequence of events of one stack tree for one sink.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import quote

import msgspec
from msgspec import structs

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.service.stack_clouds import StackClouds
from hearth.store import claim, outbox, reads
from hearth.store.credentials import StackCredential
from hearth.store.database import Store, Tx
from hearth.store.outbox import Leaving
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)

SERVICE = "messaging"
LOOK_S = 1.0
FAILED_S = 10.0  # pause while the database is unavailable
LANES_MAX = 8  # lanes posted at the same time
ROWS_MAX = 100  # events in one request
POST_BYTES_MAX = 200_000  # the default limit of Zaqar is 256 KiB
POST_S = 20.0
RETRY_MAX_S = 60.0
KEPT_S = 3600.0
REFUSED = frozenset({400, 413})


class Clock(Protocol):
    """A clock that returns seconds since 1970."""

    def now(self) -> float: ...


class EventPoster:
    """The part of an engine process that posts events to event sinks.

    `clouds` should not be the object that stacks use, so that a slow sink does not delay their
    calls.
    """

    def __init__(self, store: Store, clouds: StackClouds, engine_id: str, clock: Clock) -> None:
        self._store = store
        self._clouds = clouds
        self._engine_id = engine_id
        self._clock = clock
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Check for events at once."""
        self._wake.set()

    async def run(self) -> None:
        """Post events to their sinks until cancelled."""
        while True:
            self._wake.clear()
            try:
                if await self.post():
                    continue
            except Exception:
                log.exception("events cannot be posted to their event sinks; trying again")
                await asyncio.sleep(FAILED_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._wake.wait()

    async def post(self) -> int:
        """Post the events that are due, and return how many were posted or dropped.

        Only one process posts at a time; the others return 0.
        """
        lanes = await self._store.read(lambda tx: outbox.due_lanes(tx, self._engine_id, LANES_MAX))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._post_lane(lane)) for lane in lanes]
        return sum(task.result() for task in tasks)

    async def _post_lane(self, lane: str) -> int:
        """Post the first events of a lane, as many as fit into one request.

        Return the number of events that were posted or dropped.
        """
        rows = await self._store.read(lambda tx: outbox.of_lane(tx, lane, ROWS_MAX))
        rows = _fitting(rows)
        if not rows:
            return 0
        try:
            refused = await _deliver(await self._cloud(rows[0]), rows)
        except Exception as problem:  # other lanes continue
            return await self._wait(rows, problem)
        if refused:
            message = "stack %s, queue %s: %d events are refused and dropped: %s"
            log.warning(message, *_queue_of(rows[0]), len(refused), refused[0])
        ids = [row.id for row in rows]
        await self._store.run(lambda tx: outbox.sent(tx, ids))
        return len(ids)

    async def _cloud(self, row: Leaving) -> Cloud:
        """Return the cloud of the event's stack.

        If the stack is deleted, it uses the token of its last requester.
        """
        root_id, before = row.body["root_id"], row.body["credential"]

        def look(tx: Tx) -> tuple[StackRow, StackCredential | None]:
            stack = claim.row(tx, root_id)
            assert stack is not None
            return stack, reads.credential_of(tx, stack)

        stack, credential = await self._store.read(look)
        if credential is None and before is not None:
            credential = structs.replace(msgspec.convert(before, StackCredential), trust_id=None)
        return self._clouds.of(stack, credential)

    async def _wait(self, rows: Sequence[Leaving], problem: Exception) -> int:
        """Delay a lane after a failed post, and drop those of its events that are too old.

        `rows` are the events that could not be posted. Return the number of dropped events.
        """
        queue = _queue_of(rows[0])
        pause_s = min(2.0 ** rows[0].attempts, RETRY_MAX_S)
        oldest = self._clock.now() - KEPT_S
        late = [row.id for row in rows if row.body["event"]["time"] < oldest]
        remaining = [row.id for row in rows if row.id not in late]

        def write(tx: Tx) -> None:
            outbox.sent(tx, late)
            if remaining:
                outbox.later(tx, remaining[0], pause_s)

        await self._store.run(write)
        expected = isinstance(problem, CloudFault | TimeoutError)
        log.warning(
            "stack %s, queue %s: events cannot be posted, next attempt in %.0f s: %s",
            *(*queue, pause_s, str(problem) or "no answer"),
            exc_info=None if expected else problem,
        )
        if late:
            log.warning(
                "stack %s, queue %s: %d events are too old and were dropped", *queue, len(late)
            )
        return len(late)


async def _deliver(cloud: Cloud, rows: Sequence[Leaving]) -> list[CloudFault]:
    """Post events to their sink, and return the errors of the events that it refuses permanently.

    If a request is refused, it is divided until the refused events are found.
    """
    root_id, target = _queue_of(rows[0])
    path = f"/v2/queues/{quote(target, safe='')}/messages"
    body = {"messages": [_message(row) for row in rows]}
    try:
        async with asyncio.timeout(POST_S):
            headers = {"Client-ID": root_id}
            await cloud.request(SERVICE, "POST", path, json=body, headers=headers)
    except CloudFault as fault:
        if fault.service != SERVICE or fault.status not in REFUSED:
            raise
        if len(rows) == 1:
            return [fault]
        half = len(rows) // 2
        return [*await _deliver(cloud, rows[:half]), *await _deliver(cloud, rows[half:])]
    return []


def event_body(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event in the format of a notification. Source: docs/spec/engine.md, section 34."""
    at = datetime.fromtimestamp(event["time"], UTC).replace(tzinfo=None)
    return {
        "timestamp": at.isoformat(),
        "version": "0.1",
        "type": "os.heat.event",
        "id": event["id"],
        "payload": {
            "resource_name": event["resource_name"],
            "physical_resource_id": event["physical_id"],
            "stack_id": event["stack_id"],
            "resource_action": event["action"],
            "resource_status": event["status"],
            "resource_status_reason": event["reason"],
            "resource_type": event["resource_type"],
            "resource_properties": event["properties"] or {},
            "version": "0.1",
        },
    }


def _queue_of(row: Leaving) -> tuple[str, str]:
    """Return the id of the root stack and the name of the queue to which an event is posted."""
    return row.body["root_id"], row.body["sink"]["target"]


def _message(row: Leaving) -> dict[str, Any]:
    body = event_body(row.body["event"])
    ttl = row.body["sink"].get("ttl")
    return {"body": body} if ttl is None else {"ttl": ttl, "body": body}


def _fitting(rows: Sequence[Leaving]) -> list[Leaving]:
    """Return the first rows that fit into one request, at least one."""
    size, count = 0, 0
    for row in rows:
        size += len(json.dumps(_message(row))) + 2
        if count and size > POST_BYTES_MAX:
            break
        count += 1
    return list(rows[:count])
