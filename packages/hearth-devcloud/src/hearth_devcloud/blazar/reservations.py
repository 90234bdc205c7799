"""Reservations of a lease: checks of their fields, and the choice of hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_devcloud.blazar import requirements
from hearth_devcloud.blazar.base import HOSTS, LEASES, bad
from hearth_devcloud.collection import Check, boolean, integer, one_of
from hearth_devcloud.http import Body, Cloud, Refusal
from hearth_devcloud.store import Resource

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


def checked(attributes: Any, before: Body | None = None) -> Body:
    """Return the checked fields of a reservation. Raises Refusal 400.

    `before` are the fields that an update does not change.
    """
    if not isinstance(attributes, dict):
        raise bad("A reservation must be an object.")
    kind = (before or attributes).get("resource_type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise bad(f"The {kind} resource type is not supported")
    names = _FIELDS[kind]
    if unknown := sorted(attributes.keys() - names.keys() - {"resource_type", "id"}):
        raise bad(f"Unknown parameters {', '.join(unknown)} of a reservation of type {kind}")
    values: Body = {"resource_type": kind}
    for name, check in names.items():
        value = attributes.get(name, (before or _DEFAULTS).get(name, ...))
        if value is ...:
            raise bad(f"Missing parameter {name}")
        try:
            values[name] = check(value)
        except ValueError as error:
            raise bad(f"Malformed parameter {name}: {error}") from None
    if kind == HOST and values["min"] > values["max"]:
        message = "Invalid values for min/max of hosts. Max must be equal to or larger than min."
        raise bad(message)
    return values


def chosen(
    cloud: Cloud, values: Body, span: tuple[float, float], in_use: list[tuple[Body, list[str]]]
) -> list[str]:
    """Return the ids of the hosts for a reservation during a time, one for each instance.

    `in_use` are the other reservations in this time, with the ids of their hosts. Raises Refusal
    409 if there are not enough hosts.
    """
    rules = [values.get("hypervisor_properties"), values["resource_properties"]]
    parsed_rules = [requirements.parse(rule) for rule in rules]
    fit = [
        host
        for host in cloud.store.all(HOSTS)
        if all(requirements.met(requirement, host.body) for requirement in parsed_rules)
    ]
    if values["resource_type"] == HOST:
        used = {ident for _, ids in in_use for ident in ids}
        free = [host.id for host in fit if host.id not in used]
        if len(free) < values["min"]:
            raise Refusal(409, message="Not enough hosts available")
        return free[: values["max"]]
    return _instances(fit, values, in_use)


def _instances(
    fit: list[Resource], values: Body, in_use: list[tuple[Body, list[str]]]
) -> list[str]:
    host_ids: list[str] = []
    for host in fit:
        room = _room(host, values, in_use)
        if values["affinity"] is True and room < values["amount"]:
            continue
        host_ids += [host.id] * (min(room, 1) if values["affinity"] is False else room)
        if len(host_ids) >= values["amount"]:
            return host_ids[: values["amount"]]
    raise Refusal(409, message="Not enough resources available")


def _room(host: Resource, values: Body, in_use: list[tuple[Body, list[str]]]) -> int:
    """Return how many more instances of a reservation a host has room for."""
    on_host = [(reservation, ids.count(host.id)) for reservation, ids in in_use if host.id in ids]
    if any(reservation["resource_type"] == HOST for reservation, _ in on_host):
        return 0
    room: int = values["amount"]
    for name, field in _SIZES.items():
        if values[name]:
            free = host.body[field] - sum(
                reservation[name] * number for reservation, number in on_host
            )
            room = min(room, max(0, free // values[name]))
    return room


def taken_in(
    cloud: Cloud, span: tuple[float, float], current: Resource | None
) -> list[tuple[Body, list[str]]]:
    """Return the reservations of other leases than `current` that overlap with a time."""
    in_use = []
    for lease in cloud.store.all(LEASES):
        first, last = lease.hidden["span"]
        if lease is not current and first < span[1] and span[0] < last:
            hosts = lease.hidden["hosts"]
            in_use += [
                (reservation, hosts.get(reservation["id"], []))
                for reservation in lease.body["reservations"]
            ]
    return in_use
