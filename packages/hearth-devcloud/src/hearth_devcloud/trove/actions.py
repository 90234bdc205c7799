"""Actions on database instances: restart, and resize of the flavor or the volume."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Actions, Body, Call, Reply, Route
from hearth_devcloud.store import Resource
from hearth_devcloud.trove import datastores, quotas
from hearth_devcloud.trove.base import INSTANCES, bad, entries, find, reference
from hearth_devcloud.trove.instances import begin, check_size, single, size, usable

_SIZE = entries({"size": size}, {})


def _volume_size(value: Any) -> int:
    """Return the size in {"size": 5}; openstacksdk sends only the number. Raises ValueError."""
    volume_size: int = size(value) if isinstance(value, int) else _SIZE(value)["size"]
    return volume_size


def act(call: Call) -> Reply:
    """Handle POST of an action; reply with status 202."""
    instance, arguments = find(call, INSTANCES, call.ids[0]), call.json()
    match arguments:
        case {"restart": None | {}} if len(arguments) == 1:
            usable(instance)
            begin(call, instance, "REBOOT")
        case {"resize": dict(resize)} if len(arguments) == 1 and len(resize) == 1:
            single(instance)
            try:
                _resize(call, instance, resize)
            except ValueError as error:
                raise bad(f"Validation error: resize {error}") from None
        case _:
            raise bad("Invalid request body.")
    return Reply(202)


def _resize(call: Call, instance: Resource, arguments: Body) -> None:
    match arguments:
        case {"flavorRef": reference_}:
            flavor = datastores.flavor_of(call, reference(reference_))
            usable(instance)
            if flavor.id == instance.hidden["flavorRef"]:
                raise bad("No change was requested in the size of the instance.")
            begin(call, instance, "RESIZE", flavor_id=flavor.id)
        case {"volume": wanted}:
            target, present = _volume_size(wanted), instance.body["volume"]["size"]
            usable(instance)
            if target <= present:
                raise bad(f"New volume size must be greater than the current size of {present}.")
            check_size(target)
            quotas.check(call, volumes=target - present)
            begin(call, instance, "RESIZE", size=target)
        case _:
            raise bad("Invalid request body.")


ROUTES: list[Route] = [("POST", "/v1.0/instances/{}/action", Actions(("restart", "resize"), act))]
