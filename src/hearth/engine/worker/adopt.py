"""Things that exist already: adopted into a stack, or only referred to by an external id."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from hearth.engine.core.decide import Wanted
from hearth.engine.worker.nest import Nest
from hearth.engine.worker.trouble import Trouble
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceType

if TYPE_CHECKING:
    from hearth.engine.worker.flight import Flight


async def adopt(
    flight: "Flight", kind: ResourceType, wanted: Wanted, entry: Mapping[str, Any] | None
) -> None:
    """Take over id, data and metadata of a document's entry; nothing is called."""
    physical_id = (entry or {}).get("resource_id")
    if entry is None or not physical_id:
        flight.refuse(Trouble("Error", "Resource ID was not provided."))
        return
    live = flight.live(kind, Action.ADOPT, wanted.properties)
    if kind.nested:
        begin = partial(flight.begin, Action.ADOPT, kind, wanted, 0, live)
        await Nest(flight).carry_out(kind, live, Action.ADOPT, begin)
    else:
        _take(flight, str(physical_id), entry)
        live = flight.live(kind, Action.ADOPT, wanted.properties)
        await flight.begin(Action.ADOPT, kind, wanted, 0, live)
        await flight.run_steps(kind, live, Action.ADOPT, wanted, 0)
    await flight.succeed(kind, live, wanted, Action.ADOPT)


async def outsider(flight: "Flight", kind: ResourceType, wanted: Wanted, external_id: str) -> None:
    """Refer to a thing that is not ours: adopted, then checked."""
    _take(flight, external_id, {})
    live = flight.live(kind, Action.CHECK, wanted.properties)
    await flight.begin(Action.ADOPT, kind, wanted, 0, live)
    flight.work.event(flight.record, Status.COMPLETE)
    flight.work.put(flight.record.having(status=Status.COMPLETE))
    await flight.begin(Action.CHECK, kind, wanted, 0, live)
    await flight.run_steps(kind, live, Action.CHECK, wanted, 0)
    await flight.succeed(kind, live, wanted, Action.CHECK)


def _take(flight: "Flight", physical_id: str, entry: Mapping[str, Any]) -> None:
    """The id, put with the intent: whoever takes over knows it."""
    work = flight.work
    work.put(flight.record.having(physical_id=physical_id), advance=True)
    if data := entry.get("resource_data"):
        work.advance.data[flight.record_id] = data
        work.data[flight.record_id] = dict(data)
    if metadata := entry.get("metadata"):
        work.advance.metadata[flight.record_id] = metadata
        work.metadata[flight.record_id] = metadata
