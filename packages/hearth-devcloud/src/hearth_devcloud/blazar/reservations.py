"""Reservations of a lease: checks of their fields, and the choice of hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_devcloud.blazar import requirements
from hearth_devcloud.blazar.base import HOSTS, LEASES, bad
from hearth_devcloud.collection import Check, boolean, integer, one_of
from hearth_devcloud.http import Body, Cloud, Refusal
from hearth_devcloud.store import Thing

HOST, INSTANCE = "physical:host", "virtual:instance"
_INT_MAX = 2147483647
_number = integer(0, _INT_MAX)
_SIZES = {"vcpus": "vcpus", "memory_mb": "memory_mb", "disk_gb": "local_gb"}


def _requirement(value: Any) -> str:
    requirements.parse(value)
    return value or ""


def _affinity(value: Any) -> bool | None:
    return None if value is None else boolean(value)


_FIELDS: Mapping[str, Mapping[str, Check]] = {
    HOST: {
        "min": integer(1, _INT_MAX),
        "max": integer(1, _INT_MAX),
        "hypervisor_properties": _requirement,
        "resource_properties": _requirement,
        "before_end": one_of("default", "snapshot", "email", ""),
    },
    INSTANCE: {
        "amount": integer(1, _INT_MAX),
        "vcpus": _number,
        "memory_mb": _number,
        "disk_gb": _number,
        "affinity": _affinity,
        "resource_properties": _requirement,
    },
}
_DEFAULTS: Body = {"before_end": "default", "affinity": None, "resource_properties": ""}


def checked(given: Any, before: Body | None = None) -> Body:
    """Return the checked fields of a reservation. Raises Refusal 400.

    `before` are the fields that an update does not change.
    """
    if not isinstance(given, dict):
        raise bad("A reservation must be an object.")
    kind = (before or given).get("resource_type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise bad(f"The {kind} resource type is not supported")
    known = _FIELDS[kind]
    if unknown := sorted(given.keys() - known.keys() - {"resource_type", "id"}):
        raise bad(f"Unknown parameters {', '.join(unknown)} of a reservation of type {kind}")
    values: Body = {"resource_type": kind}
    for name, check in known.items():
        value = given.get(name, (before or _DEFAULTS).get(name, ...))
        if value is ...:
            raise bad(f"Missing parameter {name}")
        try:
            values[name] = check(value)
        except ValueError as error:
            raise bad(f"Malformed parameter {name}: {error}") from None
    if kind == HOST and values["min"] > values["max"]:
        words = "Invalid values for min/max of hosts. Max must be equal to or larger than min."
        raise bad(words)
    return values


def chosen(
    cloud: Cloud, values: Body, span: tuple[float, float], taken: list[tuple[Body, list[str]]]
) -> list[str]:
    """Return the ids of the hosts for a reservation during a time, one for each instance.

    `taken` are the other reservations in this time, with the ids of their hosts. Raises Refusal
    409 if there are not enough hosts.
    """
    rules = [values.get("hypervisor_properties"), values["resource_properties"]]
    wanted = [requirements.parse(rule) for rule in rules]
    fit = [
        host
        for host in cloud.store.all(HOSTS)
        if all(requirements.met(one, host.body) for one in wanted)
    ]
    if values["resource_type"] == HOST:
        used = {ident for _, ids in taken for ident in ids}
        free = [host.id for host in fit if host.id not in used]
        if len(free) < values["min"]:
            raise Refusal(409, message="Not enough hosts available")
        return free[: values["max"]]
    return _instances(fit, values, taken)


def _instances(fit: list[Thing], values: Body, taken: list[tuple[Body, list[str]]]) -> list[str]:
    found: list[str] = []
    for host in fit:
        room = _room(host, values, taken)
        if values["affinity"] is True and room < values["amount"]:
            continue
        found += [host.id] * (min(room, 1) if values["affinity"] is False else room)
        if len(found) >= values["amount"]:
            return found[: values["amount"]]
    raise Refusal(409, message="Not enough resources available")


def _room(host: Thing, values: Body, taken: list[tuple[Body, list[str]]]) -> int:
    """Return how many more instances of a reservation a host has room for."""
    here = [(one, ids.count(host.id)) for one, ids in taken if host.id in ids]
    if any(one["resource_type"] == HOST for one, _ in here):
        return 0
    room: int = values["amount"]
    for name, field in _SIZES.items():
        if values[name]:
            free = host.body[field] - sum(one[name] * number for one, number in here)
            room = min(room, max(0, free // values[name]))
    return room


def taken_in(
    cloud: Cloud, span: tuple[float, float], own: Thing | None
) -> list[tuple[Body, list[str]]]:
    """Return the reservations of other leases than `own` that overlap with a time."""
    found = []
    for lease in cloud.store.all(LEASES):
        first, last = lease.hidden["span"]
        if lease is not own and first < span[1] and span[0] < last:
            hosts = lease.hidden["hosts"]
            found += [(one, hosts.get(one["id"], [])) for one in lease.body["reservations"]]
    return found
