"""Actions on database instances: restart, and resize of the flavor or the volume."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.store import Thing
from hearth_devcloud.trove import datastores, quotas
from hearth_devcloud.trove.base import INSTANCES, bad, entries, find, reference
from hearth_devcloud.trove.instances import begin, check_size, single, size, usable

_SIZE = entries({"size": size}, {})


def _volume_size(value: Any) -> int:
    """Return the size in {"size": 5}; openstacksdk sends only the number. Raises ValueError."""
    found: int = size(value) if isinstance(value, int) else _SIZE(value)["size"]
    return found


def act(call: Call) -> Reply:
    """Handle POST of an action; reply with status 202."""
    thing, given = find(call, INSTANCES, call.ids[0]), call.json()
    match given:
        case {"restart": None | {}} if len(given) == 1:
            usable(thing)
            begin(call, thing, "REBOOT")
        case {"resize": dict(resize)} if len(given) == 1 and len(resize) == 1:
            single(thing)
            try:
                _resize(call, thing, resize)
            except ValueError as error:
                raise bad(f"Validation error: resize {error}") from None
        case _:
            raise bad("Invalid request body.")
    return Reply(202)


def _resize(call: Call, thing: Thing, given: Body) -> None:
    match given:
        case {"flavorRef": reference_}:
            flavor = datastores.flavor_of(call, reference(reference_))
            usable(thing)
            if flavor.id == thing.hidden["flavorRef"]:
                raise bad("No change was requested in the size of the instance.")
            begin(call, thing, "RESIZE", flavor_id=flavor.id)
        case {"volume": wanted}:
            target, present = _volume_size(wanted), thing.body["volume"]["size"]
            usable(thing)
            if target <= present:
                raise bad(f"New volume size must be greater than the current size of {present}.")
            check_size(target)
            quotas.check(call, volumes=target - present)
            begin(call, thing, "RESIZE", size=target)
        case _:
            raise bad("Invalid request body.")


ROUTES: list[Route] = [("POST", "/v1.0/instances/{}/action", act)]
