"""Check, suspend or resume a stack."""

from hearth.model.state import Action
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.services import Services
from hearth.service.stacks.begin_operation import begin_operation
from hearth.service.stacks.types_used import demand_types_of
from hearth.store import accept
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
    return await begin_operation(services, caller, row, operation)
