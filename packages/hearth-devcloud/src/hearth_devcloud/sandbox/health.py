"""The operating status of load balancers and their parts, from the statistics of HAProxy."""

from __future__ import annotations

import csv
import io

from hearth_devcloud.octavia import tree
from hearth_devcloud.sandbox.balancers import members
from hearth_devcloud.store import Resource, Store

COMMAND = b"show stat\n"
_BY_WORD = {
    "UP": "ONLINE",
    "DOWN": "ERROR",
    "NOLB": "ERROR",
    "no": "NO_MONITOR",  # no check
    "MAINT": "OFFLINE",
    "DRAIN": "DRAINING",
}


def note(store: Store, balancer: Resource, statistics: str) -> None:
    """Set the operating status of a running load balancer and its parts.

    `statistics` is the output of HAProxy's command `show stat`.
    """
    servers, frontends = _read(statistics)
    pools = [
        _pool(store, pool, servers)
        for pool in store.all(tree.POOLS.table)
        if pool.hidden["balancer"] == balancer.id
    ]
    for listener in store.where(tree.LISTENERS.table, loadbalancer_id=balancer.id):
        _set(store, listener, "ONLINE" if listener.id in frontends else "OFFLINE")
    worst = next((status for status in ("ERROR", "DEGRADED") if status in pools), "ONLINE")
    _set(store, balancer, worst)


def _read(statistics: str) -> tuple[dict[tuple[str, str], str], set[str]]:
    """Return the operating statuses by pool id and member id, and the ids of open listeners."""
    servers, frontends = {}, set()
    for row in csv.DictReader(io.StringIO(statistics.removeprefix("# "))):
        match row["svname"]:
            case "FRONTEND":
                frontends |= {row["pxname"]} if row["status"] == "OPEN" else set()
            case "BACKEND":
                pass
            case member:
                pool = row["pxname"].partition(":")[0]
                word = row["status"].partition(" ")[0]
                servers[pool, member] = _BY_WORD.get(word, "ERROR")
    return servers, frontends


def _pool(store: Store, pool: Resource, servers: dict[tuple[str, str], str]) -> str:
    """Set the operating status of a pool and its members; return that of the pool.

    `servers` contains the statuses of members by pool id and member id.
    """
    statuses = []
    for member in members(store, pool):
        status = servers.get((pool.id, member.id), "OFFLINE")
        if status in ("ONLINE", "NO_MONITOR") and member.body["weight"] == 0:
            status = "DRAINING"
        _set(store, member, status)
        statuses.append(status)
    used = any(pool.id == pool_id for pool_id, _ in servers)
    status = "ONLINE" if used or not statuses else "OFFLINE"
    if "ERROR" in statuses:
        status = "DEGRADED" if {"ONLINE", "NO_MONITOR"} & set(statuses) else "ERROR"
    _set(store, pool, status)
    return status


def _set(store: Store, part: Resource, status: str) -> None:
    if part.body["operating_status"] != status:
        part.body["operating_status"] = status
        store.changed = True
