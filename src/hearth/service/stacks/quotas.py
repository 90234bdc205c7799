"""Limits for the stacks of a project: their number, and how many may be in progress."""

import sqlalchemy as sa

from hearth.model.problem import RequestLimitExceeded, TooManyOperations, rejection
from hearth.model.state import Status
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store.database import Tx
from hearth.store.tables import stack


def within_quota(tx: Tx, services: Services, caller: Caller) -> None:
    """Raise Rejected if the caller's project already has the maximum number of root stacks.

    Administrators have no maximum.
    """
    limit = services.limits.max_stacks_per_tenant
    if limit < 0 or services.policy.is_admin(caller):
        return
    if _count(tx, caller.project_id) >= limit:
        message = f"Request limit exceeded: a project may have {limit} stacks at most."
        raise rejection(RequestLimitExceeded, message)


def not_too_many_operations(
    tx: Tx, services: Services, caller: Caller, *, except_id: str = ""
) -> None:
    """Raise Rejected if too many root stacks of the caller's project are in progress.

    The stack with the id `except_id` is not counted: an operation that replaces its current one is
    no further load. Requests that arrive at the same moment do not see each other, so a few more
    operations than the limit can be in progress. Administrators have no limit.
    """
    limit = services.limits.operations_per_project
    if limit <= 0 or services.policy.is_admin(caller):
        return
    busy = stack.c.status == Status.IN_PROGRESS
    if _count(tx, caller.project_id, busy, stack.c.id != except_id) >= limit:
        message = f"The project has reached the maximum of {limit} stacks in progress"
        raise rejection(TooManyOperations, f"{message}; try again later.")


def _count(tx: Tx, project_id: str, *conditions: sa.ColumnElement[bool]) -> int:
    """Return the number of root stacks of a project that are not deleted."""
    query = sa.select(sa.func.count(stack.c.id)).where(
        stack.c.project_id == project_id,
        stack.c.parent_id.is_(None),
        stack.c.deleted_at.is_(None),
        *conditions,
    )
    return int(tx.execute(query).scalar_one())
