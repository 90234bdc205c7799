"""The retry of a stack whose operation failed because of quota or capacity.

Source: spec/clusters.md, section 12, item 2.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from hearth.clusters.conditions import retrying
from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.obstacles import Obstacle, obstacle_of, time_left_s
from hearth.clusters.states import FAILED
from hearth.conductor import stacks
from hearth.conductor.causes import causes, shown
from hearth.conductor.work import Changed, Work
from hearth.store.clusters import Whole

MINUTE_S = 60.0
LOOK_AGAIN_S = 1.0


async def attempt(work: Work) -> None:
    """Update the stack with the same values, so that its failed resources are tried again; end the
    task.

    Once the time limit of the operation has passed, the operation fails.
    """
    group = next((g for g in work.whole.groups if g.uuid == work.task.args["group"]), None)
    row = None if group is None or group.stack_id is None else await stacks.row_of(work, group)
    if group is None or row is None or row.state not in FAILED:
        await work.commit(None)
        return
    left_s = time_left_s(work.cluster, work.services.clock.now())
    if left_s is not None and left_s < 1.0:
        why = shown(await causes(work.services, row)) or row.reason
        await work.fail(f"No success within {work.cluster.create_timeout} minutes: {why}")
        return
    await again(work, group, None)


def noted(obstacle: Obstacle, cluster: Cluster, now: float) -> Cluster:
    """Return the cluster with the condition that it is blocked until the next attempt."""
    retry_at = now + obstacle.delay_s
    shown = datetime.fromtimestamp(retry_at, UTC).isoformat(sep=" ", timespec="seconds")
    return obstacle.noted(cluster, retry_at, shown)


async def again(work: Work, group: NodeGroup, step: str | None) -> None:
    """Try the failed resources of a group's stack again, and go on to `step`."""
    left_s = time_left_s(work.cluster, work.services.clock.now())
    timeout_mins = None if left_s is None else max(1, round(left_s / MINUTE_S))
    await stacks.update(
        work, group, {}, step=step, timeout_mins=timeout_mins, change=_retrying,
        state={"retry_at": None}, delay_s=None if step is None else LOOK_AGAIN_S,
    )  # fmt: skip


def _retrying(found: Whole) -> Changed:
    return retrying(found.cluster), ()


async def wait(work: Work, group: NodeGroup, step: str, reasons: Sequence[str]) -> bool:
    """If a failed stack of a running task can be retried, begin the retry or wait for it; return
    whether it can.

    If so, the task is due at `step` again. False means that the operation has failed for good.
    """
    now, retry_at = work.services.clock.now(), work.task.state.get("retry_at")
    if retry_at is not None and now >= retry_at:
        left_s = time_left_s(work.cluster, now)
        if left_s is not None and left_s < 1.0:
            return False
        await again(work, group, step)
        return True
    found = obstacle_of(work.cluster, reasons, now)
    if found is None:
        return False
    if retry_at is not None:
        await work.commit(step, delay_s=retry_at - now)
        return True
    await _blocked(work, step, found, now)
    return True


async def _blocked(work: Work, step: str, obstacle: Obstacle, now: float) -> None:
    await work.commit(
        step,
        lambda found: (noted(obstacle, found.cluster, now), ()),
        state={"retry_at": now + obstacle.delay_s},
        delay_s=obstacle.delay_s,
    )
