"""The group that some histories contain: it is resized, updated in batches and scaled.

It has its own random number generator, so that histories without a group stay the same.
"""

import random
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hearth.model.state import Status
from hearth.store import claim, reads
from tests.simulator.draw import without_lost
from tests.simulator.grouped import SIZE_MAX, Entry, by_chance
from tests.simulator.world import World

Template = dict[str, Entry]

KEEPS = 0.5  # of the updates leave the group as it is
LEAVES = 0.1  # of the updates take it away
COMES_BACK = 0.5  # of those that find none
SCALES = 0.3  # of what users do is preceded by it


class Groups:
    """Generates the group of one history and its changes.

    `share` is the probability that the history has a group; `here` is true if it has one.
    """

    def __init__(self, seed: int, share: float) -> None:
        self._rng = random.Random(f"groups {seed}")
        self.here = self._rng.random() < share
        self._by_number = self._rng.random() < 0.5

    def added(self, template: Template) -> Template:
        """Return the template with a group added, if the history has one."""
        if not self.here:
            return template
        number = 1 + max((int(name[1:]) for name in template), default=-1)
        return {**template, f"g{number}": self._drawn()}

    def changed(self, template: Template) -> Template:
        """Return the template with a random change of the group, which may also be added or
        removed.

        In some cases the template stays as it is.
        """
        if not self.here:
            return template
        name = next((name for name in template if name[0] == "g"), None)
        draw = self._rng.random()
        if name is None:
            return self.added(template) if draw < COMES_BACK else template
        if draw < LEAVES:
            rest = {one: entry for one, entry in template.items() if one != name}
            return {one: without_lost(entry, rest) for one, entry in rest.items()}
        if draw < LEAVES + KEEPS:
            return template
        return {**template, name: self._drawn()}

    def scales(self) -> int | None:
        """Return by how many members the group is scaled now, negative for fewer; None if it is not
        scaled.
        """
        if not self.here or self._by_number or self._rng.random() > SCALES:
            return None
        return self._rng.choice((-2, -1, 1, 2))

    def _drawn(self) -> Entry:
        rng = self._rng
        member = {"u": str(rng.randint(0, 2)), "r": str(rng.randint(0, 1))}
        entry: Entry = {"group": member, "size": rng.randint(0, SIZE_MAX)}
        entry["batch"], entry["in_service"] = rng.randint(1, 3), rng.randint(0, SIZE_MAX)
        entry["pause"] = rng.choice((0, 0, 5))
        entry["numbered"] = self._by_number
        if self._by_number:
            entry["at_once"] = rng.random() < 0.3
        return entry


def as_wanted(
    world: World,
    stack_id: str,
    template: Template,
    given: Mapping[str, Any],
    *,
    exactly: bool,
) -> Iterator[str]:
    """Yield each difference between the cloud and those groups whose members have random names.

    `given` is the resource data of the restored snapshot, by resource name; it is empty if no
    snapshot was restored. If `exactly` is true, the size must match too, because nothing has scaled
    the group since the last update.
    """
    mine = {thing.id: thing for thing in world.mine() if by_chance(thing.name)}
    for name, entry in template.items():
        if name[0] != "g" or entry["numbered"]:
            continue
        found = reads.in_charge(world.records(stack_id)).get(name)
        child = found.physical_id if found is not None else None
        if found is None or child is None:
            yield f"the group {name} does not exist"
            continue
        wanted: Mapping[str, Any] = world.store.transact(
            partial(claim.definitions, stack_id=child), write=False
        )
        held = reads.in_charge(world.records(child))
        if held.keys() != wanted.keys():
            yield f"{name} has {sorted(held)}, not {sorted(wanted)}"
        if exactly and len(wanted) != entry["size"]:
            yield f"{name} has {len(wanted)} members, not {entry['size']}"
        for member, record in held.items():
            thing = mine.pop(record.physical_id or "", None)
            if thing is None or record.status is not Status.COMPLETE:
                yield f"{name}: the member {member} does not exist"
                continue
            inner = given.get(name, {}).get("resources", {}).get(member, {})
            brought = inner.get("resource_data", {}).get("copy")
            for key, value in entry["group"].items():
                if key == "r" and brought:
                    continue
                if thing.values.get(key) != value:
                    yield f"{name}: {member}.{key} is {thing.values.get(key)!r}, not {value!r}"
    for thing in mine.values():
        if thing.name not in world.retained:
            yield f"{thing.id} is a member of no group"
