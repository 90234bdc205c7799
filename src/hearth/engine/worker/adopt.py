"""Things that exist already: adopted into a stack, or only referred to by an external id."""

from functools import partial
from typing import TYPE_CHECKING

from hearth.engine.core.decide import Wanted
from hearth.engine.worker.nest import DOCUMENT, Nest
from hearth.engine.worker.trouble import Trouble
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceType

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight


async def adopt(flight: "Flight", kind: ResourceType, wanted: Wanted) -> None:
    """Take over what the record was given at the start; nothing is called."""
    live = flight.live(kind, Action.ADOPT, wanted.properties)
    begin = partial(flight.begin, Action.ADOPT, kind, wanted, 0, live)
    if kind.nested and DOCUMENT in live.data:
        await Nest(flight).carry_out(kind, live, Action.ADOPT, begin)
    elif live.physical_id is None:
        flight.refuse(Trouble("Error", "Resource ID was not provided."))
        return
    else:
        await begin()
        await flight.run_steps(kind, live, Action.ADOPT, wanted, 0)
    await flight.succeed(kind, live, wanted, Action.ADOPT)


async def outsider(flight: "Flight", kind: ResourceType, wanted: Wanted, external_id: str) -> None:
    """Refer to a thing that is not ours: adopted, then checked."""
    flight.work.put(flight.record.having(physical_id=external_id), advance=True)
    live = flight.live(kind, Action.CHECK, wanted.properties)
    await flight.begin(Action.ADOPT, kind, wanted, 0, live)
    flight.work.event(flight.record, Status.COMPLETE)
    flight.work.put(flight.record.having(status=Status.COMPLETE))
    await flight.begin(Action.CHECK, kind, wanted, 0, live)
    await flight.run_steps(kind, live, Action.CHECK, wanted, 0)
    await flight.succeed(kind, live, wanted, Action.CHECK)
