"""Failures that may disappear without a change of the request: an exhausted quota or a full cloud.

Source: docs/spec/clusters.md, section 12, item 2.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from hearth.clusters.conditions import BLOCKED, begun_at, blocked, condition
from hearth.clusters.follow import StackState
from hearth.clusters.objects import Cluster
from hearth.clusters.states import CREATE_IN_PROGRESS, FAILED, UPDATE_IN_PROGRESS

QUOTA, CAPACITY = "Quota", "Capacity"
DELAY_S, DELAY_MAX_S = 30.0, 600.0
RETRIED = (CREATE_IN_PROGRESS, UPDATE_IN_PROGRESS)
_CAUSES_MAX = 3  # causes
_PATTERNS = {
    QUOTA: re.compile(
        r"quota|over ?limit|limit ?exceeded|maximum number of (?!retries)\w+ (allowed|exceeded)",
        re.IGNORECASE,
    ),
    CAPACITY: re.compile(
        r"no valid host|no more (fixed )?ip|no available (ip|fixed)|ipaddressgenerationfailure"
        r"|insufficient (capacity|resources|free)|not enough (hosts|memory|space|capacity)"
        r"|exceeded maximum number of retries",
        re.IGNORECASE,
    ),
}


def obstacle(causes: Sequence[str]) -> str | None:
    """Return QUOTA or CAPACITY, the reason why a retry may succeed, or None if a retry is useless.

    A retry is useful only if there are failure messages and each of them, in `causes`, is about
    quota or capacity. The first message decides between the two.
    """
    kinds = [
        next((k for k, pattern in _PATTERNS.items() if pattern.search(c)), None) for c in causes
    ]
    return None if not kinds or None in kinds else kinds[0]


def delay_s(cluster: Cluster, now: float) -> float | None:
    """Return the seconds until the next attempt, or None if the operation's time limit has passed.

    `now` is the current time in seconds since 1970. The delay doubles with each attempt, up to ten
    minutes. The last attempt is made at the time limit.
    """
    block = condition(cluster, BLOCKED)
    attempts = 0 if block is None else block.attempts
    delay = min(DELAY_S * 2.0**attempts, DELAY_MAX_S)
    remaining = time_left_s(cluster, now)
    if remaining is None:
        return delay
    return None if remaining <= 0 else min(delay, remaining)


def time_left_s(cluster: Cluster, now: float) -> float | None:
    """Return the seconds until the current operation's time limit, or None if it has no limit."""
    if not cluster.create_timeout:
        return None
    return begun_at(cluster) + cluster.create_timeout * 60.0 - now


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why an operation cannot succeed now (quota or capacity), and when it is retried.

    `causes` are the error messages, `delay_s` the seconds until the next attempt.
    """

    reason: str
    causes: Sequence[str]
    delay_s: float

    def mark_blocked(self, cluster: Cluster, retry_at: float, moment: str) -> Cluster:
        """Return a copy of the cluster that is marked as blocked until `retry_at`.

        `moment` is the same time as text, for the status reason.
        """
        causes = "; ".join(self.causes[:_CAUSES_MAX])
        reason = f"Blocked ({self.reason}): {causes}. The next attempt is at {moment}."
        after = blocked(cluster, self.reason, causes, retry_at=retry_at)
        return replace(after, status_reason=reason)


def obstacle_of(cluster: Cluster, causes: Sequence[str], now: float) -> Obstacle | None:
    """Return the obstacle if the failed operation will be retried, or None if it has finally
    failed.

    Only creates and updates are retried. `causes` are the failure messages.
    """
    reason, wait_s = obstacle(causes), delay_s(cluster, now)
    if cluster.status not in RETRIED or reason is None or wait_s is None:
        return None
    return Obstacle(reason=reason, causes=causes, delay_s=wait_s)


class RetriedStacks(msgspec.Struct, frozen=True, kw_only=True):
    """The states of a cluster's stacks as users see them, and the stacks that will be retried.

    `waiting` maps the id of each stack that will be retried to its obstacle.
    """

    states: Mapping[str, StackState]
    waiting: Mapping[str, Obstacle]


def retried(cluster: Cluster, stacks: Mapping[str, StackState], now: float) -> RetriedStacks:
    """Find the failed stacks that will be retried; the result shows them as in progress.

    `stacks` is {stack id: state}, and `now` the current time in seconds since 1970.
    """
    states, waiting = dict(stacks), {}
    for stack_id, state in stacks.items():
        obstacle = obstacle_of(cluster, state.causes, now)
        if obstacle is not None and state.status in FAILED:
            action = state.status.removesuffix("_FAILED")
            waiting[stack_id] = obstacle
            states[stack_id] = replace(state, status=f"{action}_IN_PROGRESS")
    return RetriedStacks(states=states, waiting=waiting)
