"""Check, suspend and resume."""

from hearth.model.state import Action
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.house import House
from hearth.service.types_used import demand_types_of
from hearth.store import accept
from hearth.store.rows import StackRow


async def operate_stack(house: House, caller: Caller, row: StackRow, action: Action) -> StackRow:
    """The stack in ACTION_IN_PROGRESS, or as it is where nothing is to do. Raises Rejected."""
    if action is not Action.CHECK:
        await demand_types_of(house, caller, row)
    operation = accept.Operation(action, requester=requester(caller), by=caller.user_name)
    now = house.clock.now()
    after = await house.store.run_once(
        lambda tx: accept.operate(tx, row.id, operation, now, house.new_id)
    )
    house.bus.tell()
    return after
