"""Create a stack."""

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from hearth.model.problem import Rejected, RequestLimitExceeded
from hearth.model.state import Action, Status
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.documents import adoption
from hearth.service.house import House
from hearth.service.wanted import Wanted, check_name, checked, requested
from hearth.store import accept
from hearth.store.database import Tx
from hearth.store.rows import StackRow
from hearth.store.tables import stack


async def create_stack(
    house: House, caller: Caller, name: str, wanted: Wanted, *, adopt: str | None = None
) -> StackRow:
    """The new stack, in CREATE_IN_PROGRESS. Raises Rejected.

    With `adopt`, the document of a stack, it is made around the things that the document names.
    """
    check_name(name)
    given: dict[str, Any] = {}
    if adopt is not None:
        wanted, given = await adoption(house, caller, adopt, wanted)
    revision = replace(await requested(house, caller, wanted), given=given)
    now = house.clock.now()
    new = accept.NewStack(
        id=house.new_id(),
        project_id=caller.project_id,
        name=name,
        revision=revision,
        timeout_mins=wanted.timeout_mins,
        disable_rollback=True if wanted.disable_rollback is None else wanted.disable_rollback,
        credential=(house.new_id(), "token", requester(caller)),
        creator=caller.user_name,
        tags=wanted.tags or (),
        action=Action.CREATE if adopt is None else Action.ADOPT,
    )
    await checked(house, caller, sketch(new, now), revision)

    def transaction(tx: Tx) -> StackRow:
        _within_quota(tx, house, caller)
        return accept.create(tx, new, now, house.new_id)

    row = await house.store.run_once(transaction)
    house.bus.tell()
    return row


def sketch(new: accept.NewStack, now: float) -> StackRow:
    """The row of a stack that is not stored (yet)."""
    return StackRow(
        id=new.id, project_id=new.project_id, name=new.name, live_name=new.name, root_id=new.id,
        parent_id=None, parent_record=None, parent_traversal=None, depth=0, action=Action.CREATE,
        status=Status.IN_PROGRESS, reason="", first_failure=None, revision=0, previous_revision=0,
        traversal="", started_at=now, deadline=None, told=None,
        timeout_mins=new.timeout_mins,
        disable_rollback=new.disable_rollback, owner=None, epoch=0, takeovers=0, due_at=None,
        credential_id=None, user_project_id=None, creator=new.creator,
        tags=",".join(new.tags) or None, created_at=now, updated_at=None, deleted_at=None,
    )  # fmt: skip


def _within_quota(tx: Tx, house: House, caller: Caller) -> None:
    limit = house.limits.stacks_per_project
    if limit < 0 or house.policy.is_admin(caller):
        return
    live = sa.select(sa.func.count(stack.c.id)).where(
        stack.c.project_id == caller.project_id,
        stack.c.parent_id.is_(None),
        stack.c.deleted_at.is_(None),
    )
    if tx.execute(live).scalar_one() >= limit:
        words = f"Request limit exceeded: a project may have {limit} stacks at most."
        raise Rejected([RequestLimitExceeded(None, words)])
