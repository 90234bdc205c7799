"""The API of clusters, whose members are instances."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.collection import Collection, Field, list_of, one_of
from hearth_devcloud.http import Actions, Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.store import Resource
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
        message = f"The number of instances must be at least {datastore.cluster_size_min}."
        raise bad(f"{message} {len(members)} were given.")
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
    cluster = Resource(ident, CLUSTERS, call.caller.project_id, body)
    instances = _add(call, cluster, members)
    store.insert(cluster)
    _begin(call, cluster, "BUILDING")
    return Reply(200, {"cluster": _view(call, cluster, instances)})


def _check(call: Call, members: list[Body]) -> None:
    """Raise Refusal unless the members are alike and within the quotas of the project."""
    for member in members:
        datastores.flavor_of(call, member["flavorRef"])
        if member.get("volume") is None:
            raise bad("A volume size is required for each instance in the cluster.")
        check_size(member["volume"]["size"])
    if len({member["flavorRef"] for member in members}) > 1:
        raise bad("The flavor for each instance in a cluster must be the same.")
    if len({member["volume"]["size"] for member in members}) > 1:
        raise bad("The volume size for each instance in a cluster must be the same.")
    total = sum(member["volume"]["size"] for member in members)
    quotas.check(call, instances=len(members), volumes=total)


def _add(call: Call, cluster: Resource, members: list[Body]) -> list[Resource]:
    """Create new members of a cluster and return them."""
    instances = []
    for member in members:
        number = cluster.hidden["members"] = cluster.hidden.get("members", 0) + 1
        name = member.get("name") or f"{cluster.body['name']}-member-{number}"
        fixed = {"name": name, "datastore": cluster.body["datastore"]}
        values = {**member, **fixed, "flavor_id": member["flavorRef"]}
        instances.append(new_instance(call, values, cluster=cluster))
    return instances


def _task(name: str) -> Body:
    number, description = _TASKS[name]
    return {"id": number, "name": name, "description": description}


def _begin(call: Call, cluster: Resource, task: str) -> None:
    store = call.cloud.store
    cluster.body.update(task=_task(task), updated=stamp(store.time))
    store.later(call.effects.slow_s or 0, cluster, "database.cluster")


def done(cloud: Cloud, cluster: Resource) -> None:
    """End the task of a cluster; a cluster that is being deleted goes with its members."""
    if cluster.body["task"]["name"] == "DELETING":
        cloud.store.remove(cluster)
    else:
        cluster.body.update(task=_task("NONE"), updated=stamp(cloud.store.time))


def follow_loss(cloud: Cloud, resource: Resource) -> None:
    """Remove what belongs to an object that the admin API has removed: members and ports."""
    if resource.table == CLUSTERS:
        for member in _members(cloud, resource):
            remove(cloud, member)
    if resource.table == INSTANCES:
        remove(cloud, resource)


def _members(cloud: Cloud, cluster: Resource) -> list[Resource]:
    every = cloud.store.table(INSTANCES).values()
    return [instance for instance in every if instance.hidden["cluster_id"] == cluster.id]


def _view(call: Call, cluster: Resource, members: list[Resource], *, detail: bool = True) -> Body:
    rows: list[Body] = []
    for member in members:
        row: Body = {"id": member.id, "name": member.body["name"], "type": "member"}
        row["links"] = links(call, "instances", member.id)
        if detail:
            row |= {"status": member.body["status"], "volume": dict(member.body["volume"])}
            row["flavor"] = flavor_view(call, member)
        if ips := addresses(call, member):
            row["ip"] = ips
        rows.append(row)
    view: Body = {**cluster.body, "instances": rows}
    view["links"] = links(call, "clusters", cluster.id)
    if ips := sorted(row["ip"][0] for row in rows if "ip" in row):
        view["ip"] = ips
    return view


def clusters(call: Call) -> Reply:
    """Handle GET of the clusters."""
    page, links = paged(call, "clusters", mine(call, CLUSTERS))
    views = [_view(call, cluster, _members(call.cloud, cluster), detail=False) for cluster in page]
    return Reply(200, {"clusters": views, **links})


def show(call: Call) -> Reply:
    """Handle GET of a cluster."""
    cluster = find(call, CLUSTERS, call.ids[0])
    return Reply(200, {"cluster": _view(call, cluster, _members(call.cloud, cluster))})


def show_member(call: Call) -> Reply:
    """Handle GET of a member of a cluster."""
    cluster = find(call, CLUSTERS, call.ids[0])
    for member in _members(call.cloud, cluster):
        if member.id == call.ids[1]:
            return Reply(200, {"instance": view(call, member, detail=True)})
    raise missing(call.ids[1])


def _free(cluster: Resource, *also: str) -> None:
    """Raise Refusal 422 if the cluster has a task other than those in `also`."""
    name = cluster.body["task"]["name"]
    if name != "NONE" and name not in also:
        message = f"This action cannot be performed on the cluster while task {name} is running."
        raise Refusal(422, message=message)


def act(call: Call) -> Reply:
    """Handle POST of an action: grow or shrink a cluster; reply with status 202."""
    cluster, request = find(call, CLUSTERS, call.ids[0]), call.json()
    present = _members(call.cloud, cluster)
    match request:
        case {"grow": _}:
            growth: list[Any] = array(call, "grow", _member)
            _free(cluster)
            _check(call, growth)
            _add(call, cluster, growth)
            _begin(call, cluster, "GROWING_CLUSTER")
        case {"shrink": _}:
            less = {entry["id"] for entry in array(call, "shrink", entries({"id": reference}, {}))}
            _free(cluster)
            if unknown := sorted(less - {member.id for member in present}):
                raise missing(unknown[0])
            if len(less) == len(present):
                raise bad("A cluster must keep at least one member.")
            for member in present:
                if member.id in less:
                    begin(call, member, "SHUTDOWN")
            _begin(call, cluster, "SHRINKING_CLUSTER")
        case _:
            raise bad("Invalid request body.")
    return Reply(202)


def delete(call: Call) -> Reply:
    """Handle DELETE of a cluster; reply with status 202."""
    cluster = find(call, CLUSTERS, call.ids[0])
    _free(cluster, "DELETING")
    if cluster.body["task"]["name"] == "NONE":
        for member in _members(call.cloud, cluster):
            begin(call, member, "SHUTDOWN")
        _begin(call, cluster, "DELETING")
    return Reply(202)


_PATH = "/v1.0/clusters"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, clusters),
    ("GET", _PATH + "/{}", show),
    ("POST", _PATH + "/{}", Actions(("grow", "shrink"), act)),
    ("DELETE", _PATH + "/{}", delete),
    ("GET", _PATH + "/{}/instances/{}", show_member),
]
