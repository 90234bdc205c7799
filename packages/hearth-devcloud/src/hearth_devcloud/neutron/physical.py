"""The physical side of networks: network types, segments, and allocation of segmentation ids."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Cloud, Refusal
from hearth_devcloud.store import Resource, Store, stamp_z

TABLE = "network.segments"
KINDS = ("local", "vlan", "vxlan", "gre", "geneve", "flat")
_TUNNELS = {"vxlan": (1 << 24) - 1, "gre": (1 << 32) - 1, "geneve": (1 << 24) - 1}
_NUMBERS = {"vlan": 4094, **_TUNNELS}


def new_segment(
    cloud: Cloud,
    network: Resource,
    kind: str,
    physical_network: str | None,
    number: int | None,
    *,
    implicit: bool = False,
    **fields: Any,
) -> Resource:
    """Create a segment of a network and return it.

    `kind` is the network type, and `number` the segmentation id (None: the next free
    one). Raises Refusal if the values are invalid or in use.
    """
    check(kind, physical_network, number)
    store = cloud.store
    if kind == "flat" and _taken(store, kind, physical_network, None):
        raise Refusal(409, "FlatNetworkInUse", f"Physical network {physical_network} is in use.")
    if number is not None and _taken(store, kind, physical_network, number):
        kind_of_id = "VlanId" if kind == "vlan" else "TunnelId"
        raise Refusal(409, f"{kind_of_id}InUse", f"The segment {number} is in use.")
    if number is None and kind in _NUMBERS:
        number = _free(store, kind, physical_network)
    now = stamp_z(store.time)
    body: Body = {
        "id": store.new_id(),
        "network_id": network.id,
        "name": None,
        "description": None,
        "physical_network": physical_network,
        "network_type": kind,
        "segmentation_id": number,
        "created_at": now,
        "updated_at": now,
        "revision_number": 0,
        **fields,
    }
    segment = Resource(body["id"], TABLE, None, body, seed=network.seed)  # for administrators
    return store.insert(segment, implicit=implicit)


def _taken(store: Store, kind: str, physical_network: str | None, number: int | None) -> bool:
    filters = {
        "segmentation_id": number,
        "network_type": kind,
        "physical_network": physical_network,
    }
    return bool(store.where(TABLE, **filters))


def _free(store: Store, kind: str, physical_network: str | None) -> int:
    """Return the next free segmentation id of a network type. Raises Refusal if none is left."""
    maximum = _NUMBERS[kind]
    for _ in range(maximum):
        number = (store.new_serial(f"{kind} {physical_network or ''}") - 1) % maximum + 1
        if not _taken(store, kind, physical_network, number):
            return number
    raise Refusal(503, "NoNetworkAvailable", "No tenant network is available for allocation.")


def check(kind: str, physical_network: str | None, number: int | None) -> None:
    """Raise Refusal 400 if the provider fields cannot be combined.

    `kind` is the network type, `number` the segmentation id.
    """
    if kind not in KINDS:
        _refuse(f"network_type value '{kind}' not supported")
    if kind in ("local", *_TUNNELS) and physical_network:
        _refuse(f"provider:physical_network specified for {kind} network")
    if kind in ("local", "flat") and number is not None:
        _refuse(f"provider:segmentation_id specified for {kind} network")
    if kind == "flat" and not physical_network:
        _refuse("physical_network required for flat provider network")
    if kind == "vlan" and number is not None:
        if not physical_network:
            _refuse("segmentation_id requires physical_network for VLAN provider network")
        if not 1 <= number <= 4094:
            _refuse(f"segmentation_id out of range (1 through 4094): {number}")
    if number is not None and not 1 <= number <= _TUNNELS.get(kind, number):
        _refuse(f"segmentation_id out of range: {number}")


def _refuse(reason: str) -> None:
    raise Refusal(400, "InvalidInput", f"Invalid input for operation: {reason}.")
