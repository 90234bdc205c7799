"""Updates clusters from their stacks: states, outputs and failures.

One query finds the clusters whose stacks have changed since the last synchronisation, so other
clusters cause no work. Source: docs/spec/clusters.md, section 6.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from sqlalchemy.exc import SQLAlchemyError

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.clusters.follow import Followed, StackState, followed
from hearth.clusters.objects import NodeGroup
from hearth.clusters.obstacles import Obstacle, retried
from hearth.clusters.outputs import api_address
from hearth.clusters.states import BUSY, DELETE_FAILED, DELETE_IN_PROGRESS, FAILED
from hearth.clusters.task_content import ASIDE, CleanUp, Retry
from hearth.conductor import blockers
from hearth.conductor.address import is_own
from hearth.conductor.causes import causes, summary
from hearth.conductor.retry import mark_blocked
from hearth.engine.core.record import Record
from hearth.model.problem import Rejected
from hearth.service.reading.outputs import recorded_outputs
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.clusters import clusters
from hearth.store.clusters import tasks as cluster_tasks
from hearth.store.clusters.clusters import GONE, KEPT, FullCluster
from hearth.store.clusters.tasks import Task
from hearth.store.credentials import Requester, StackCredential
from hearth.store.database import Tx
from hearth.store.rows import Revision, StackRow
from hearth.store.texts import get_revisions

log = logging.getLogger(__name__)
T = TypeVar("T")

AT_ONCE = 8  # batches
BATCH = 20  # clusters of one transaction
FOUND_MAX = 500  # clusters of one look
WITH_OUTPUTS = frozenset({"CREATE_COMPLETE", "CREATE_FAILED", "UPDATE_COMPLETE"})


class _GroupStack(Struct, frozen=True):
    """A stack of a cluster. If its outputs are needed, it has its revision and the records in
    charge.
    """

    row: StackRow
    revision: Revision | None = None
    records: Mapping[str, Record] = field(default_factory=dict)


class _ClusterStacks(Struct, frozen=True):
    """A cluster with the stacks of its groups that exist."""

    full: FullCluster
    stacks: Sequence[_GroupStack]

    @property
    def uuid(self) -> str:
        return self.full.cluster.uuid

    @property
    def has_failed(self) -> bool:
        return any(stack.row.state in FAILED for stack in self.stacks)


class Sync:
    """Reads the stacks of clusters and stores the result in the clusters and node groups."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def busy(self) -> int:
        """Update the clusters with an operation in progress whose stacks have changed.

        Return their number.
        """
        return await self._all(busy=True)

    async def settled(self) -> int:
        """Update the clusters without an operation whose stacks a user has changed or deleted.

        Return their number.
        """
        return await self._all(busy=False)

    async def _all(self, *, busy: bool) -> int:
        uuids = await self._services.store.read(
            lambda tx: clusters.unseen(tx, busy=busy, limit=FOUND_MAX)
        )
        batches = [uuids[at : at + BATCH] for at in range(0, len(uuids), BATCH)]
        await asyncio.gather(*map(self._together, batches))
        return len(uuids)

    async def _together(self, uuids: Sequence[str]) -> None:
        """Update clusters from their stacks, with one transaction to read and one to write.

        A cluster with a failed stack is stored on its own, because its causes and blockers take
        time.
        """
        async with self._slots:
            batch = await self._tolerant(self._look, uuids)
            slow = [entry for entry in batch if entry.has_failed]
            quick = [entry for entry in batch if not entry.has_failed]
            await asyncio.gather(self._update(quick), *(self._update([entry]) for entry in slow))

    async def _look(self, uuids: Sequence[str]) -> list[_ClusterStacks]:
        return await self._services.store.read(lambda tx: _look(tx, uuids))

    async def _update(self, batch: Sequence[_ClusterStacks]) -> None:
        """Store the state of the stacks in these clusters."""
        states = {entry.uuid: await self._states(entry) for entry in batch}
        before = {entry.uuid: entry.full for entry in batch if states[entry.uuid] is not None}
        now = self._services.clock.now()

        def store(tx: Tx, uuids: Sequence[str]) -> list[None]:
            current = clusters.load_many(tx, uuids, lock=True)
            for uuid in uuids:
                _store(tx, before[uuid], current.get(uuid), states[uuid] or {}, now)
            return []

        if before:
            run = self._services.store.run_once
            await self._tolerant(lambda uuids: run(lambda tx: store(tx, uuids)), list(before))

    async def _tolerant(
        self, work: Callable[[Sequence[str]], Awaitable[list[T]]], uuids: Sequence[str]
    ) -> list[T]:
        """Return the results of `work` for these clusters.

        If it fails because of a cluster, that one is logged and left out.
        """
        try:
            return await work(uuids)
        except SQLAlchemyError as problem:
            log.warning("clusters cannot be synchronised: %s: %s", ", ".join(uuids), problem)
        except Exception:
            if len(uuids) > 1:
                return [result for uuid in uuids for result in await self._tolerant(work, [uuid])]
            log.exception("cluster %s", uuids[0])
        return []

    async def _states(self, entry: _ClusterStacks) -> dict[str, StackState] | None:
        """Return the states of a cluster's stacks by stack id, or None if they cannot be
        computed.
        """
        try:
            return {stack.row.id: await self._state(entry.full, stack) for stack in entry.stacks}
        except (Rejected, CloudFault, SQLAlchemyError) as problem:
            log.warning("cluster %s cannot be synchronised: %s", entry.uuid, problem)
        except Exception:  # one cluster must not stop the others
            log.exception("cluster %s", entry.uuid)
        return None

    async def _state(self, full: FullCluster, stack: _GroupStack) -> StackState:
        """Return the state of a stack with its outputs and, if it has failed, the causes."""
        row, reason = stack.row, stack.row.reason
        values: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        if stack.revision is not None:
            values, parameters = await recorded_outputs(
                self._services, row, stack.revision, stack.records
            )
            values = await self._with_own_address(full, row, values)
        messages: list[str] = []
        if row.state in FAILED:
            messages = await causes(self._services, row)
            reason = summary(messages) or reason
        if row.state == DELETE_FAILED:
            reason += await self._blockers(row)
        return StackState(
            id=row.id,
            status=row.state,
            mark=mark(row),
            reason=reason,
            causes=messages,
            outputs=values,
            parameters=parameters,
        )

    async def _with_own_address(
        self, full: FullCluster, row: StackRow, values: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the outputs of a stack without an API address that the stack does not have.

        The address that the cluster has already is not checked again. Raises CloudFault if the
        cloud does not answer.
        """
        address = str(values.get("api_address") or "")
        if not address or api_address(address, full.cluster) == full.cluster.api_address:
            return values
        owned, cloud = await self._created_objects(row)
        if await is_own(cloud, owned.ids, address):
            return values
        log.warning("stack %s: its output api_address is not one of its addresses", row.id)
        return {**values, "api_address": None}

    async def _created_objects(self, row: StackRow) -> tuple[blockers.CreatedObjects, Cloud]:
        """Return the objects of a stack, and the cloud with the rights of the stack."""
        services = self._services

        def look(tx: Tx) -> tuple[blockers.CreatedObjects, StackCredential | None]:
            return blockers.created_objects(tx, [row.id]), reads.credential_of(tx, row)

        owned, credential = await services.store.read(look)
        return owned, services.clouds.of(row, credential)

    async def _blockers(self, row: StackRow) -> str:
        """Return a sentence that lists the objects which prevent the delete of a stack.

        The text is empty if there are none or if the cloud cannot be asked.
        """
        owned, cloud = await self._created_objects(row)
        try:
            blocking = await blockers.blockers(cloud, owned)
        except CloudFault as fault:
            log.info("stack %s: the objects that block its delete are unknown: %s", row.id, fault)
            return ""
        if not blocking:
            return ""
        names = blockers.summary(blocking)
        return f" Still in use by {names}. A delete with force=true detaches these."


def mark(row: StackRow) -> str:
    """Return a text that identifies the current state of a stack, for `nodegroup.seen`."""
    return f"{row.traversal}:{row.state}"


def _requester(credential: StackCredential | None) -> Requester:
    return credential or Requester()


def _look(tx: Tx, uuids: Sequence[str]) -> list[_ClusterStacks]:
    """Return those of the clusters that exist, with their stacks in the order of their ids."""
    full_clusters = clusters.load_many(tx, uuids).values()
    ids = {group.stack_id for full in full_clusters for group in full.groups if group.stack_id}
    rows = reads.stacks_of(tx, sorted(ids))
    with_outputs = [row.id for row in rows if row.state in WITH_OUTPUTS]
    revisions = get_revisions(tx, with_outputs)
    records = reads.records_of(tx, with_outputs)
    stacks = {
        row.id: _GroupStack(row, revisions.get(row.id), reads.in_charge(records.get(row.id, ())))
        for row in rows
    }
    return [
        _ClusterStacks(
            full,
            [stacks[i] for i in sorted({g.stack_id or "" for g in full.groups}) if i in stacks],
        )
        for full in full_clusters
    ]


def _store(
    tx: Tx, before: FullCluster, full: FullCluster | None, states: dict[str, StackState], now: float
) -> None:
    """Store the result of a synchronisation, unless the cluster has changed since it was read.

    `full` is the locked cluster, or None if it no longer exists.
    """
    if full is None or full.version != before.version:
        return  # the next look begins with the new state
    tasks = cluster_tasks.of_cluster(tx, full.cluster.uuid)
    working = any(not isinstance(task.content, ASIDE) for task in tasks)
    marks = {g.uuid: _mark(g, states) for g in full.groups if g.stack_id}
    retries = retried(full.cluster, states, now)
    up_to_date = {uuid for uuid, state in marks.items() if _follows(full.seen.get(uuid), state)}
    result = followed(
        full.cluster, full.groups, retries.states, working=working, up_to_date=up_to_date
    )
    waiting = {task.content.group for task in tasks if isinstance(task.content, Retry)}
    for stack_id, obstacle in ({} if working else retries.waiting).items():
        group = next(g for g in full.groups if g.stack_id == stack_id)
        if group.uuid not in waiting:
            result = _waiting(tx, result, group, obstacle, now)
    _write(tx, full, result, marks, now)
    if result.deleted and not any(isinstance(task.content, CleanUp) for task in tasks):
        cluster_tasks.put(tx, Task(cluster_id=full.cluster.uuid, content=CleanUp()), now)


def _mark(group: NodeGroup, states: dict[str, StackState]) -> str:
    state = states.get(group.stack_id or "")
    return GONE if state is None else state.mark


def _follows(mark: str | None, state: str) -> bool:
    """Return whether the stored status of a group already includes this state of its stack."""
    return (mark or "").removesuffix(KEPT) == state


def _waiting(
    tx: Tx, result: Followed, group: NodeGroup, obstacle: Obstacle, now: float
) -> Followed:
    """Queue a task that retries a failed stack; return `result` with the cluster marked as
    blocked.
    """
    uuid = group.cluster_id
    row = reads.find_stack(tx, None, group.stack_id or "")
    requester = _requester(None if row is None else reads.credential_of(tx, row))
    attempt = Task(cluster_id=uuid, content=Retry(group.uuid), requester=requester)
    cluster_tasks.put(tx, attempt, now, obstacle.delay_s)
    body = {"group": group.name, "reason": obstacle.reason, "causes": obstacle.causes}
    clusters.put_event(tx, uuid, "cluster.blocked", body, now)
    return msgspec.structs.replace(result, cluster=mark_blocked(obstacle, result.cluster, now))


def _write(
    tx: Tx, full: FullCluster, result: Followed, marks: Mapping[str, str], now: float
) -> None:
    """Store the result of a synchronisation, with an event if the status has changed."""
    before, after = full.cluster, result.cluster
    if result.deleted:  # it is gone when the task that cleans up has ended
        after = clusters.at(after, status=DELETE_IN_PROGRESS)
    for group in result.removed_groups:
        clusters.drop_group(tx, full, group, now)
    if after.status != before.status and after.status not in BUSY:
        after = clusters.at(after, updated_at=now)
    remaining = {group.uuid for group in result.groups}
    remaining_marks = {uuid: state for uuid, state in marks.items() if uuid in remaining}
    clusters.save(
        tx, full, after, _changed_groups(full, result.groups), now=now, seen=remaining_marks
    )
    if after.status != before.status or after.status_reason != before.status_reason:
        body = {"status": after.status, "reason": after.status_reason}
        clusters.put_event(tx, after.uuid, "cluster.status", body, now)


def _changed_groups(full: FullCluster, groups: Sequence[NodeGroup]) -> list[NodeGroup]:
    before = {group.uuid: group for group in full.groups}
    return [group for group in groups if group != before[group.uuid]]
