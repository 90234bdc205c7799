"""Creation of a load balancer together with its listeners, pools and members, in one call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hearth_devcloud.collection import Collection, Invalid
from hearth_devcloud.http import Body, Call
from hearth_devcloud.octavia import quotas, tree
from hearth_devcloud.octavia.parts import (
    Listeners,
    Members,
    Monitors,
    Pools,
    demand_options,
    usual_options,
)
from hearth_devcloud.octavia.refusals import bad
from hearth_devcloud.store import Resource

Planned = tuple[Body, Body | None, Body | None, list[Body]]  # listener, pool, monitor, members


def planned(listeners: Any) -> list[Planned]:
    """Check the listeners in a request, with their pools, members and health monitors.

    Return the checked bodies (listener, pool, monitor, members) for each listener; pool and monitor
    may be None. Raises Refusal 400.
    """
    if not isinstance(listeners, list):
        raise bad("listeners must be a list")
    return list(_planned(listeners))


def _planned(listeners: list[Any]) -> Iterator[Planned]:
    for entry in listeners:
        attributes = _body(entry, "listener")
        pool, monitor, members = attributes.pop("default_pool", None), None, []
        if pool is not None:
            pool = _body(pool, "default_pool")
            monitor, members = pool.pop("healthmonitor", None), pool.pop("members", [])
            pool = _checked(tree.POOLS, pool)
        yield (
            _checked(tree.LISTENERS, {**attributes, "loadbalancer_id": ""}),
            pool,
            None if monitor is None else _monitor(monitor),
            [_checked(tree.MEMBERS, _body(member, "member")) for member in members],
        )


def grow(call: Call, balancer: Resource, plan: list[Planned]) -> None:
    """Create the listeners, pools, members and monitors in `plan`. Raises Refusal for a quota."""
    project, root = balancer.project_id, balancer.id
    for attributes, pool, monitor, members in plan:
        for collection, number in (
            (tree.LISTENERS, 1),
            (tree.POOLS, int(pool is not None)),
            (tree.MEMBERS, len(members)),
            (tree.MONITORS, int(monitor is not None)),
        ):
            for _ in range(number):
                quotas.check(call, collection, project)
        values = {**attributes, "loadbalancer_id": root}
        hidden = {"balancer": root, "parent": root}
        listener = Listeners(tree.LISTENERS).insert(call, values, hidden, project)
        if pool is None:
            continue
        below = {"balancer": root, "parent": listener.id}
        new_pool = Pools(tree.POOLS).insert(
            call, {**pool, "listener_id": listener.id}, below, project
        )
        below = {"balancer": root, "parent": new_pool.id}
        if monitor is not None:
            values = {**monitor, "pool_id": new_pool.id}
            Monitors(tree.MONITORS).insert(call, values, below, project)
        for member in members:
            Members(tree.MEMBERS).insert(call, member, below, project)


def _monitor(value: Any) -> Body:
    attributes = _checked(tree.MONITORS, {**_body(value, "healthmonitor"), "pool_id": ""})
    demand_options(attributes)
    return {**attributes, **usual_options(attributes)}


def _body(value: Any, kind: str) -> Body:
    if not isinstance(value, dict):
        raise bad(f"{kind}: expected an object, got {json.dumps(value)}")
    return dict(value)


def _checked(collection: Collection, attributes: Body) -> Body:
    try:
        return collection.for_create(attributes)
    except Invalid as error:
        raise bad(error.message) from None
