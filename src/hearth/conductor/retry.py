"""Retries a stack operation that failed because of an exhausted quota or missing capacity.

Source: docs/spec/clusters.md, section 12, item 2.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from hearth.clusters.conditions import retrying
from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.obstacles import Obstacle, obstacle_of, time_left_s
from hearth.clusters.states import FAILED
from hearth.clusters.task_content import Retry, retry_at, with_retry_at
from hearth.conductor import stacks
from hearth.conductor.causes import causes, summary
from hearth.conductor.stacks import StackUpdate
from hearth.conductor.work import Changed, NextStep, Work
from hearth.store.clusters.clusters import FullCluster

MINUTE_S = 60.0
LOOK_AGAIN_S = 1.0


async def attempt(work: Work) -> None:
    """Update the group's stack without changes, so that its failed resources are tried again.

    If the operation's time limit has passed, the operation fails instead. If the stack has not
    failed or no longer exists, do nothing. The task ends in any case.
    """
    group = work.existing_group(work.content(Retry).group)
    row = None if group is None else await stacks.find_row(work, group)
    if group is None or row is None or row.state not in FAILED:
        await work.commit(None)
        return
    left_s = time_left_s(work.cluster, work.services.clock.now())
    if left_s is not None and left_s < 1.0:
        reason = summary(await causes(work.services, row)) or row.reason
        limit = f"its time limit of {work.cluster.create_timeout} minutes"
        await work.fail(f"The operation did not succeed within {limit}: {reason}")
        return
    await again(work, group, None)


def mark_blocked(obstacle: Obstacle, cluster: Cluster, now: float) -> Cluster:
    """Return a copy of the cluster that is marked as blocked by the obstacle until the next
    attempt.

    `now` is the current time in seconds since 1970.
    """
    retry_at = now + obstacle.delay_s
    moment = datetime.fromtimestamp(retry_at, UTC).isoformat(sep=" ", timespec="seconds")
    return obstacle.mark_blocked(cluster, retry_at, moment)


async def again(work: Work, group: NodeGroup, step: str | None) -> None:
    """Update a group's stack without changes, to retry its failed resources.

    `step` is the next step of the task; if it is None, the task ends.
    """
    left_s = time_left_s(work.cluster, work.services.clock.now())
    timeout_mins = None if left_s is None else max(1, round(left_s / MINUTE_S))
    next_step = NextStep(
        step=step,
        change=_retrying,
        content=with_retry_at(work.task.content, None),
        delay_s=None if step is None else LOOK_AGAIN_S,
    )
    stack_update = StackUpdate(parameters={}, timeout_mins=timeout_mins)
    await stacks.update(work, group, stack_update, next_step)


def _retrying(full: FullCluster) -> Changed:
    return retrying(full.cluster), ()


async def wait(work: Work, group: NodeGroup, step: str, reasons: Sequence[str]) -> bool:
    """Retry the failed stack of a running task, or wait until a retry is due.

    `reasons` are the messages of the failure. Return True if the failed stack is or will be
    retried; the task then continues at `step` later. Return False if the operation has finally
    failed: `reasons` are not about quota or capacity, or the time limit has passed.
    """
    now, due_at = work.services.clock.now(), retry_at(work.task.content)
    if due_at is not None and now >= due_at:
        left_s = time_left_s(work.cluster, now)
        if left_s is not None and left_s < 1.0:
            return False
        await again(work, group, step)
        return True
    obstacle = obstacle_of(work.cluster, reasons, now)
    if obstacle is None:
        return False
    if due_at is not None:
        await work.commit(step, delay_s=due_at - now)
        return True
    await _blocked(work, step, obstacle, now)
    return True


async def _blocked(work: Work, step: str, obstacle: Obstacle, now: float) -> None:
    await work.commit(
        step,
        lambda full: (mark_blocked(obstacle, full.cluster, now), ()),
        content=with_retry_at(work.task.content, now + obstacle.delay_s),
        delay_s=obstacle.delay_s,
    )
