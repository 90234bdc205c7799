"""The physical side of networks: network types, segments, and allocation of segmentation ids."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Cloud, Refusal
from hearth_devcloud.store import Store, Thing, stamp_z

TABLE = "network.segments"
KINDS = ("local", "vlan", "vxlan", "gre", "geneve", "flat")
_TUNNELS = {"vxlan": (1 << 24) - 1, "gre": (1 << 32) - 1, "geneve": (1 << 24) - 1}
_NUMBERS = {"vlan": 4094, **_TUNNELS}


def new_segment(
    cloud: Cloud,
    network: Thing,
    kind: str,
    place: str | None,
    number: int | None,
    *,
    implicit: bool = False,
    **more: Any,
) -> Thing:
    """Create a segment of a network and return it.

    `kind` is the network type, `place` the physical network, and `number` the segmentation id
    (None: the next free one). Raises Refusal if the values are invalid or in use.
    """
    check(kind, place, number)
    store = cloud.store
    if kind == "flat" and _taken(store, kind, place, None):
        raise Refusal(409, "FlatNetworkInUse", f"Physical network {place} is in use.")
    if number is not None and _taken(store, kind, place, number):
        what = "VlanId" if kind == "vlan" else "TunnelId"
        raise Refusal(409, f"{what}InUse", f"The segment {number} is in use.")
    if number is None and kind in _NUMBERS:
        number = _free(store, kind, place)
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


def _taken(store: Store, kind: str, place: str | None, number: int | None) -> bool:
    wanted = {"segmentation_id": number, "network_type": kind, "physical_network": place}
    return bool(store.where(TABLE, **wanted))


def _free(store: Store, kind: str, place: str | None) -> int:
    """Return the next free segmentation id of a network type. Raises Refusal if none is left."""
    most = _NUMBERS[kind]
    for _ in range(most):
        number = (store.new_serial(f"{kind} {place or ''}") - 1) % most + 1
        if not _taken(store, kind, place, number):
            return number
    raise Refusal(503, "NoNetworkAvailable", "No tenant network is available for allocation.")


def check(kind: str, place: str | None, number: int | None) -> None:
    """Raise Refusal 400 if the provider fields cannot be combined.

    `kind` is the network type, `place` the physical network, `number` the segmentation id.
    """
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
