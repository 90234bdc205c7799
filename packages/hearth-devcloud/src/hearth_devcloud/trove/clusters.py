"""The API of clusters, whose members are instances."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.collection import Collection, Field, list_of, one_of
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Thing
from hearth_devcloud.trove import datastores, quotas
from hearth_devcloud.trove.base import (
    CLUSTERS,
    INSTANCES,
    array,
    bad,
    document,
    entries,
    find,
    links,
    mine,
    missing,
    paged,
    reference,
    stamp,
    word,
)
from hearth_devcloud.trove.instances import (
    addresses,
    begin,
    check_size,
    flavor_view,
    new_instance,
    nics,
    remove,
    view,
    volume,
)

_TASKS = {
    "NONE": (1, "No tasks for the cluster."),
    "BUILDING": (2, "Building the initial cluster."),
    "DELETING": (3, "Deleting the cluster."),
    "GROWING_CLUSTER": (5, "Increasing the size of the cluster."),
    "SHRINKING_CLUSTER": (6, "Decreasing the size of the cluster."),
}
_member = entries(
    {"flavorRef": reference},
    {
        "volume": volume,
        "nics": nics,
        "availability_zone": word(),
        "region_name": word(),
        "name": word(),
        "type": word(),
        "related_to": word(),
    },
)
_FIELDS = Collection(
    "database",
    "clusters",
    "cluster",
    {
        "name": Field(word(), required=True),
        "datastore": Field(entries({"type": word(), "version": word()}, {}), required=True),
        "instances": Field(list_of(_member), required=True),
        "locality": Field(one_of("affinity", "anti-affinity")),
    },
)


def create(call: Call) -> Reply:
    """Handle POST of a cluster; reply with status 200."""
    values, store = document(call, "cluster", _FIELDS), call.cloud.store
    datastore, version = datastores.chosen(values["datastore"])
    if not datastore.cluster_size_min:
        raise Refusal(501, message=f"Clusters not supported for {datastore.name}-{version}.")
    members = values["instances"]
    if len(members) < datastore.cluster_size_min:
        words = f"The number of instances must be at least {datastore.cluster_size_min}."
        raise bad(f"{words} {len(members)} were given.")
    _check(call, members)
    now, ident = stamp(store.time), store.new_id()
    body: Body = {
        "id": ident,
        "name": values["name"],
        "datastore": {"type": datastore.name, "version": version},
        "task": _task("BUILDING"),
        "created": now,
        "updated": now,
    }
    cluster = Thing(ident, CLUSTERS, call.caller.project_id, body)
    made = _add(call, cluster, members)
    store.insert(cluster)
    _begin(call, cluster, "BUILDING")
    return Reply(200, {"cluster": _view(call, cluster, made)})


def _check(call: Call, members: list[Body]) -> None:
    """Raise Refusal unless the members are alike and within the quotas of the project."""
    for one in members:
        datastores.flavor_of(call, one["flavorRef"])
        if one.get("volume") is None:
            raise bad("A volume size is required for each instance in the cluster.")
        check_size(one["volume"]["size"])
    if len({one["flavorRef"] for one in members}) > 1:
        raise bad("The flavor for each instance in a cluster must be the same.")
    if len({one["volume"]["size"] for one in members}) > 1:
        raise bad("The volume size for each instance in a cluster must be the same.")
    total = sum(one["volume"]["size"] for one in members)
    quotas.check(call, instances=len(members), volumes=total)


def _add(call: Call, cluster: Thing, members: list[Body]) -> list[Thing]:
    """Create new members of a cluster and return them."""
    made = []
    for one in members:
        number = cluster.hidden["members"] = cluster.hidden.get("members", 0) + 1
        name = one.get("name") or f"{cluster.body['name']}-member-{number}"
        fixed = {"name": name, "datastore": cluster.body["datastore"]}
        values = {**one, **fixed, "flavor_id": one["flavorRef"]}
        made.append(new_instance(call, values, cluster=cluster))
    return made


def _task(name: str) -> Body:
    number, words = _TASKS[name]
    return {"id": number, "name": name, "description": words}


def _begin(call: Call, cluster: Thing, task: str) -> None:
    store = call.cloud.store
    cluster.body.update(task=_task(task), updated=stamp(store.time))
    store.later(call.effects.slow_s or 0, cluster, "database.cluster")


def done(cloud: Cloud, cluster: Thing) -> None:
    """End the task of a cluster; a cluster that is being deleted goes with its members."""
    if cluster.body["task"]["name"] == "DELETING":
        cloud.store.remove(cluster)
    else:
        cluster.body.update(task=_task("NONE"), updated=stamp(cloud.store.time))


def follow_loss(cloud: Cloud, thing: Thing) -> None:
    """Remove what belongs to an object that the admin API has removed: members and ports."""
    if thing.table == CLUSTERS:
        for one in _members(cloud, thing):
            remove(cloud, one)
    if thing.table == INSTANCES:
        remove(cloud, thing)


def _members(cloud: Cloud, cluster: Thing) -> list[Thing]:
    every = cloud.store.table(INSTANCES).values()
    return [one for one in every if one.hidden["cluster_id"] == cluster.id]


def _view(call: Call, cluster: Thing, members: list[Thing], *, detail: bool = True) -> Body:
    rows: list[Body] = []
    for one in members:
        row: Body = {"id": one.id, "name": one.body["name"], "type": "member"}
        row["links"] = links(call, "instances", one.id)
        if detail:
            row |= {"status": one.body["status"], "volume": dict(one.body["volume"])}
            row["flavor"] = flavor_view(call, one)
        if found := addresses(call, one):
            row["ip"] = found
        rows.append(row)
    shown: Body = {**cluster.body, "instances": rows}
    shown["links"] = links(call, "clusters", cluster.id)
    if found := sorted(row["ip"][0] for row in rows if "ip" in row):
        shown["ip"] = found
    return shown


def clusters(call: Call) -> Reply:
    """Handle GET of the clusters."""
    shown, more = paged(call, "clusters", mine(call, CLUSTERS))
    views = [_view(call, one, _members(call.cloud, one), detail=False) for one in shown]
    return Reply(200, {"clusters": views, **more})


def show(call: Call) -> Reply:
    """Handle GET of a cluster."""
    cluster = find(call, CLUSTERS, call.ids[0])
    return Reply(200, {"cluster": _view(call, cluster, _members(call.cloud, cluster))})


def show_member(call: Call) -> Reply:
    """Handle GET of a member of a cluster."""
    cluster = find(call, CLUSTERS, call.ids[0])
    for one in _members(call.cloud, cluster):
        if one.id == call.ids[1]:
            return Reply(200, {"instance": view(call, one, detail=True)})
    raise missing(call.ids[1])


def _free(cluster: Thing, *also: str) -> None:
    """Raise Refusal 422 if the cluster has a task other than those in `also`."""
    name = cluster.body["task"]["name"]
    if name != "NONE" and name not in also:
        words = f"This action cannot be performed on the cluster while task {name} is running."
        raise Refusal(422, message=words)


def act(call: Call) -> Reply:
    """Handle POST of an action: grow or shrink a cluster; reply with status 202."""
    cluster, given = find(call, CLUSTERS, call.ids[0]), call.json()
    present = _members(call.cloud, cluster)
    match given:
        case {"grow": _}:
            more: list[Any] = array(call, "grow", _member)
            _free(cluster)
            _check(call, more)
            _add(call, cluster, more)
            _begin(call, cluster, "GROWING_CLUSTER")
        case {"shrink": _}:
            less = {one["id"] for one in array(call, "shrink", entries({"id": reference}, {}))}
            _free(cluster)
            if unknown := sorted(less - {one.id for one in present}):
                raise missing(unknown[0])
            if len(less) == len(present):
                raise bad("A cluster must keep at least one member.")
            for one in present:
                if one.id in less:
                    begin(call, one, "SHUTDOWN")
            _begin(call, cluster, "SHRINKING_CLUSTER")
        case _:
            raise bad("Invalid request body.")
    return Reply(202)


def delete(call: Call) -> Reply:
    """Handle DELETE of a cluster; reply with status 202."""
    cluster = find(call, CLUSTERS, call.ids[0])
    _free(cluster, "DELETING")
    if cluster.body["task"]["name"] == "NONE":
        for one in _members(call.cloud, cluster):
            begin(call, one, "SHUTDOWN")
        _begin(call, cluster, "DELETING")
    return Reply(202)


_PATH = "/v1.0/clusters"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, clusters),
    ("GET", _PATH + "/{}", show),
    ("POST", _PATH + "/{}", act),
    ("DELETE", _PATH + "/{}", delete),
    ("GET", _PATH + "/{}/instances/{}", show_member),
]
