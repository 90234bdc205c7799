"""What carries a network: kinds of segments, their numbers, and who has which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hearth.devcloud.http import Body, Refusal
from hearth.devcloud.store import Thing, stamp_z

if TYPE_CHECKING:
    from hearth.devcloud.cloud import DevCloud

TABLE = "network.segments"
KINDS = ("local", "vlan", "vxlan", "gre", "geneve", "flat")
_TUNNELS = {"vxlan": (1 << 24) - 1, "gre": (1 << 32) - 1, "geneve": (1 << 24) - 1}


def new_segment(
    cloud: DevCloud,
    network: Thing,
    kind: str,
    place: str | None,
    number: int | None,
    *,
    implicit: bool = False,
    **more: Any,
) -> Thing:
    """A segment of a network; raises what its kind does not allow, and what another has."""
    check(kind, place, number)
    store = cloud.store
    others = [t.body for t in store.where(TABLE, network_type=kind, physical_network=place)]
    taken = {body["segmentation_id"] for body in others}
    if kind == "flat" and others:
        raise Refusal(409, "FlatNetworkInUse", f"Physical network {place} is in use.")
    if number is not None and number in taken:
        what = "VlanId" if kind == "vlan" else "TunnelId"
        raise Refusal(409, f"{what}InUse", f"The segment {number} is in use.")
    if number is None and kind not in ("flat", "local"):
        number = next(n for n in range(1, len(taken) + 2) if n not in taken)
    now = stamp_z(store.time)
    body: Body = {
        "id": store.new_id(),
        "network_id": network.id,
        "name": None,
        "description": None,
        "physical_network": place,
        "network_type": kind,
        "segmentation_id": number,
        "created_at": now,
        "updated_at": now,
        "revision_number": 0,
        **more,
    }
    thing = Thing(body["id"], TABLE, None, body, seed=network.seed)  # for administrators
    return store.insert(thing, implicit=implicit)


def check(kind: str, place: str | None, number: int | None) -> None:
    """Raises a 400 for what does not go together."""
    if kind not in KINDS:
        _refuse(f"network_type value '{kind}' not supported")
    if kind in ("local", *_TUNNELS) and place:
        _refuse(f"provider:physical_network specified for {kind} network")
    if kind in ("local", "flat") and number is not None:
        _refuse(f"provider:segmentation_id specified for {kind} network")
    if kind == "flat" and not place:
        _refuse("physical_network required for flat provider network")
    if kind == "vlan" and number is not None:
        if not place:
            _refuse("segmentation_id requires physical_network for VLAN provider network")
        if not 1 <= number <= 4094:
            _refuse(f"segmentation_id out of range (1 through 4094): {number}")
    if number is not None and not 1 <= number <= _TUNNELS.get(kind, number):
        _refuse(f"segmentation_id out of range: {number}")


def _refuse(reason: str) -> None:
    raise Refusal(400, "InvalidInput", f"Invalid input for operation: {reason}.")
