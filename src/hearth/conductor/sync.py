"""Updates clusters from their stacks: states, outputs and failures.

One query finds the clusters whose stacks have changed since the last synchronisation, so other
clusters cause no work. Source: spec/clusters.md, section 6.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from hearth.cloud.fault import CloudFault
from hearth.clusters.follow import Followed, StackState, followed
from hearth.clusters.objects import NodeGroup
from hearth.clusters.obstacles import Obstacle, held
from hearth.clusters.states import BUSY, DELETE_FAILED, DELETE_IN_PROGRESS, FAILED
from hearth.conductor import blockers
from hearth.conductor.causes import causes, shown
from hearth.conductor.retry import noted
from hearth.model.problem import Rejected
from hearth.service.clusters.tasks import ASIDE, CLEAN_UP, RETRY
from hearth.service.outputs import recorded_outputs
from hearth.service.services import Services
from hearth.store import cluster_tasks, clusters, reads
from hearth.store.cluster_tasks import Task
from hearth.store.clusters import GONE, KEPT, Whole
from hearth.store.credentials import Requester, StackCredential
from hearth.store.database import Tx
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)

AT_ONCE = 8
FOUND_MAX = 500  # clusters of one look
WITH_OUTPUTS = frozenset({"CREATE_COMPLETE", "CREATE_FAILED", "UPDATE_COMPLETE"})


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
        found = await self._services.store.read(
            lambda tx: clusters.unseen(tx, busy=busy, limit=FOUND_MAX)
        )
        await asyncio.gather(*map(self._safely, found))
        return len(found)

    async def _safely(self, uuid: str) -> None:
        async with self._slots:
            try:
                await self.one(uuid)
            except (Rejected, SQLAlchemyError) as problem:
                log.warning("cluster %s cannot be synchronised: %s", uuid, problem)
            except Exception:  # one cluster must not stop the others
                log.exception("cluster %s", uuid)

    async def one(self, uuid: str) -> None:
        """Update the cluster with this UUID from its stacks. Do nothing if it does not exist.
        Raises Rejected.
        """
        store = self._services.store
        whole, rows = await store.read(lambda tx: _look(tx, uuid))
        if whole is None:
            return
        states = {row.id: await self._state(whole, row) for row in rows}
        now = self._services.clock.now()
        await store.run_once(lambda tx: _store(tx, whole, states, now))

    async def _state(self, whole: Whole, row: StackRow) -> StackState:
        """Return the state of a stack with its outputs and, if it has failed, the causes."""
        reason = row.reason
        values: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        if row.state in WITH_OUTPUTS:
            values, parameters = await recorded_outputs(self._services, row)
        found: list[str] = []
        if row.state in FAILED:
            found = await causes(self._services, row)
            reason = shown(found) or reason
        if row.state == DELETE_FAILED:
            reason += await self._blockers(row)
        return StackState(
            id=row.id, status=row.state, mark=mark(row), reason=reason, causes=found,
            outputs=values, parameters=parameters,
        )  # fmt: skip

    async def _blockers(self, row: StackRow) -> str:
        """Return a sentence that lists the objects which prevent the delete of a stack.

        The text is empty if there are none or if the cloud cannot be asked.
        """
        services = self._services

        def look(tx: Tx) -> tuple[blockers.Own, StackCredential | None]:
            return blockers.own(tx, [row.id]), reads.credential_of(tx, row)

        mine, credential = await services.store.read(look)
        try:
            found = await blockers.blockers(services.clouds.of(row, credential), mine)
        except CloudFault as fault:
            log.info("stack %s: the objects that block its delete are unknown: %s", row.id, fault)
            return ""
        if not found:
            return ""
        return f" Still in use by {blockers.shown(found)}. A delete with force=true detaches these."


def mark(row: StackRow) -> str:
    """Return a text that identifies the current state of a stack, for `nodegroup.seen`."""
    return f"{row.traversal}:{row.state}"


def _requester(credential: StackCredential | None) -> Requester:
    return credential or Requester()


def _look(tx: Tx, uuid: str) -> tuple[Whole | None, list[StackRow]]:
    whole = clusters.whole(tx, uuid)
    if whole is None:
        return None, []
    ids = {group.stack_id for group in whole.groups if group.stack_id}
    rows = [reads.find_stack(tx, None, stack_id) for stack_id in sorted(ids)]
    return whole, [row for row in rows if row is not None]


def _store(tx: Tx, read: Whole, states: dict[str, StackState], now: float) -> None:
    """Store the result of a synchronisation, unless the cluster has changed since it was read."""
    whole = clusters.whole(tx, read.cluster.uuid, lock=True)
    if whole is None or whole.version != read.version:
        return  # the next look begins with the new state
    tasks = cluster_tasks.of_cluster(tx, whole.cluster.uuid)
    working = any(task.kind not in ASIDE for task in tasks)
    marks = {g.uuid: _mark(g, states) for g in whole.groups if g.stack_id}
    seen = held(whole.cluster, states, now)
    known = {uuid for uuid, state in marks.items() if _follows(whole.seen.get(uuid), state)}
    result = followed(whole.cluster, whole.groups, seen.states, working=working, known=known)
    waiting = {task.args["group"] for task in tasks if task.kind == RETRY}
    for stack_id, obstacle in ({} if working else seen.waiting).items():
        group = next(g for g in whole.groups if g.stack_id == stack_id)
        if group.uuid not in waiting:
            result = _waiting(tx, result, group, obstacle, now)
    _write(tx, whole, result, marks, now)
    if result.deleted and not any(task.kind == CLEAN_UP for task in tasks):
        cluster_tasks.put(tx, Task(cluster_id=whole.cluster.uuid, kind=CLEAN_UP), now)


def _mark(group: NodeGroup, states: dict[str, StackState]) -> str:
    found = states.get(group.stack_id or "")
    return GONE if found is None else found.mark


def _follows(seen: str | None, state: str) -> bool:
    """Return whether the stored status of a group already includes this state of its stack."""
    return (seen or "").removesuffix(KEPT) == state


def _waiting(
    tx: Tx, result: Followed, group: NodeGroup, obstacle: Obstacle, now: float
) -> Followed:
    """Queue a task that retries a failed stack; return `result` with the cluster marked as
    blocked.
    """
    uuid = group.cluster_id
    row = reads.find_stack(tx, None, group.stack_id or "")
    requester = _requester(None if row is None else reads.credential_of(tx, row))
    attempt = Task(cluster_id=uuid, kind=RETRY, args={"group": group.uuid}, requester=requester)
    cluster_tasks.put(tx, attempt, now, obstacle.delay_s)
    body = {"group": group.name, "reason": obstacle.reason, "causes": obstacle.causes}
    clusters.put_event(tx, uuid, "cluster.blocked", body, now)
    return msgspec.structs.replace(result, cluster=noted(obstacle, result.cluster, now))


def _write(tx: Tx, whole: Whole, result: Followed, marks: Mapping[str, str], now: float) -> None:
    """Store the result of a synchronisation, with an event if the status has changed."""
    before, after = whole.cluster, result.cluster
    if result.deleted:  # it is gone when the task that cleans up has ended
        after = clusters.at(after, status=DELETE_IN_PROGRESS)
    for group in result.gone:
        clusters.drop_group(tx, whole, group, now)
    if after.status != before.status and after.status not in BUSY:
        after = clusters.at(after, updated_at=now)
    left = {group.uuid for group in result.groups}
    seen = {uuid: state for uuid, state in marks.items() if uuid in left}
    clusters.save(tx, whole, after, _changed(whole, result.groups), now=now, seen=seen)
    if after.status != before.status or after.status_reason != before.status_reason:
        body = {"status": after.status, "reason": after.status_reason}
        clusters.put_event(tx, after.uuid, "cluster.status", body, now)


def _changed(whole: Whole, groups: Sequence[NodeGroup]) -> list[NodeGroup]:
    known = {group.uuid: group for group in whole.groups}
    return [group for group in groups if group != known[group.uuid]]
