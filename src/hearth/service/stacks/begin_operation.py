"""The transaction in which an operation on an existing stack begins."""

from hearth.model.state import Action
from hearth.service.caller import Caller
from hearth.service.services import Also, Services
from hearth.service.stacks.quotas import not_too_many_operations
from hearth.store import accept
from hearth.store.database import Tx
from hearth.store.rows import StackRow


async def begin_operation(
    services: Services,
    caller: Caller,
    row: StackRow,
    operation: accept.OperationRequest,
    also: Also | None = None,
) -> StackRow:
    """Begin an operation, and wake the engines; return the stack as it is then.

    `also` makes further changes in the same transaction. Raises Rejected if the state of the stack
    does not allow the operation, or if too many stacks of the project are in progress. A delete is
    not limited by that number.
    """
    now = services.clock.now()

    def transaction(tx: Tx) -> StackRow:
        if operation.action is not Action.DELETE:
            not_too_many_operations(tx, services, caller, except_id=row.id)
        after = accept.operate(tx, row.id, operation, now, services.new_id)
        if also is not None:
            also(tx, after)
        return after

    after = await services.store.run_once(transaction)
    services.bus.tell()
    return after
