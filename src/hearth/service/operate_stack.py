"""Check, suspend or resume a stack."""

from hearth.model.state import Action
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.quotas import not_too_many_operations
from hearth.service.services import Services
from hearth.service.types_used import demand_types_of
from hearth.store import accept
from hearth.store.database import Tx
from hearth.store.rows import StackRow


async def operate_stack(
    services: Services, caller: Caller, row: StackRow, action: Action
) -> StackRow:
    """Begin a check, suspend or resume of a stack; return the stack, with the status IN_PROGRESS.

    A stack that is already suspended or resumed as requested is returned unchanged. Raises Rejected
    if the state of the stack, a limit or the policy does not allow the action.
    """
    if action is not Action.CHECK:
        await demand_types_of(services, caller, row)
    operation = accept.OperationRequest(action, requester=requester(caller), by=caller.user_name)
    now = services.clock.now()

    def transaction(tx: Tx) -> StackRow:
        not_too_many_operations(tx, services, caller, besides=row.id)
        return accept.operate(tx, row.id, operation, now, services.new_id)

    after = await services.store.run_once(transaction)
    services.bus.tell()
    return after
