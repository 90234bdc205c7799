"""Find a stack for a caller."""

from collections.abc import Callable, Sequence

from hearth.model.problem import EntityNotFound, rejection
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.reads import StackFilter
from hearth.store.rows import StackRow


async def find_stack(
    services: Services,
    caller: Caller,
    project_id: str,
    identity: str,
    *,
    deleted: bool = False,
    anywhere: bool = False,
    also: Callable[[Tx, StackRow], None] | None = None,
) -> StackRow:
    """Return the stack with this id or name. Raises Rejected with EntityNotFound.

    The stack must belong to the project, or have it as domain project. If `deleted` is true, a
    deleted stack is also found by its id. If `anywhere` is true, an administrator finds a stack by
    its id in any project. `also` is called with the stack, in the transaction that found it in the
    project; it may be called more than once.
    """

    def find(tx: Tx) -> StackRow | None:
        row = reads.find_stack(tx, project_id, identity, deleted=deleted)
        if row is not None and also is not None:
            also(tx, row)
        return row

    row = await services.store.read(find)
    if row is None and anywhere and services.policy.is_admin(caller):
        any_row = await services.store.read(
            lambda tx: reads.find_stack(tx, None, identity, deleted=deleted)
        )
        row = any_row if any_row is not None and any_row.id == identity else None
    if row is None:
        raise rejection(EntityNotFound, "Stack", identity)
    return row


async def list_stacks(
    services: Services, stack_filter: StackFilter, *, count: bool
) -> tuple[Sequence[StackRow], int | None]:
    """Return a page of the stacks that match the filter, and the number of all matching stacks.

    The number is None unless `count` is true.
    """
    rows = await services.store.read(lambda tx: reads.list_stacks(tx, stack_filter))
    total = (
        await services.store.read(lambda tx: reads.count_stacks(tx, stack_filter))
        if count
        else None
    )
    return rows, total
