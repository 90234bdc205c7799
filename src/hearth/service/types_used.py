"""The resource types that a stack has, and whether its caller may have them."""

from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.house import House
from hearth.store import reads
from hearth.store.rows import StackRow
from hearth.template import Program
from hearth.template.check.examine import modules


def types_of(program: Program) -> set[str]:
    """The types of a program and of all its child templates."""
    return {
        binding.type_info.name
        for module in modules(program.module)
        for binding in (*module.bindings.values(), *module.members.values())
        if binding.type_info is not None
    }


def demand_types(house: House, caller: Caller, program: Program) -> None:
    """Raises Rejected with Forbidden for types that policy keeps from the caller."""
    house.policy.demand_types(types_of(program), caller)


async def demand_types_of(house: House, caller: Caller, row: StackRow) -> None:
    """The same for what a stack has now, for whoever wants to change it. Raises Rejected."""
    try:
        _, program = await house.program(row)
    except Rejected:  # it cannot be read any more: what is known is what was made
        records = await house.store.read(lambda tx: reads.records(tx, row.id))
        house.policy.demand_types({record.type for record in records}, caller)
    else:
        demand_types(house, caller, program)
