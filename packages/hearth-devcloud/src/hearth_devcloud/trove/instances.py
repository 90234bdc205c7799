"""The API of database instances: create, list, show, update and delete."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.collection import (
    Collection,
    Field,
    address,
    boolean,
    integer,
    list_of,
    nullable,
    one_of,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.neutron.networks import networks
from hearth_devcloud.neutron.ports import new_port, remove_port
from hearth_devcloud.neutron.subnets import subnets
from hearth_devcloud.store import Thing
from hearth_devcloud.trove import datastores, quotas
from hearth_devcloud.trove.base import (
    BACKUPS,
    INSTANCES,
    REGION,
    bad,
    document,
    entries,
    find,
    links,
    mine,
    paged,
    reference,
    stamp,
    word,
)
from hearth_devcloud.trove.databases import database, distinct_databases
from hearth_devcloud.trove.users import add_user, distinct_users, user

VOLUME_SIZE_MAX_GB = 150
_USED_GB = 0.12

size = integer(1)
volume = entries({"size": size}, {"type": nullable(word())})
nic = entries({}, {"net-id": uuid, "network_id": uuid, "subnet_id": uuid, "ip_address": address})


def nics(value: Any) -> list[Body]:
    """Check the networks of an instance, of which there is at most one. Raises ValueError."""
    found: list[Body] = list_of(nic)(value)
    if len(found) > 1:
        raise ValueError("only one network is allowed")
    return found


_ACCESS = entries({}, {"is_public": boolean, "allowed_cidrs": list_of(word())})
FIELDS = Collection(
    "database",
    "instances",
    "instance",
    {
        "name": Field(word(), required=True),
        "flavorRef": Field(reference, update=False),
        "volume": Field(volume, update=False),
        "databases": Field(list_of(database), default=list, update=False),
        "users": Field(list_of(user), default=list, update=False),
        "restorePoint": Field(entries({"backupRef": reference}, {}), update=False),
        "availability_zone": Field(nullable(word()), update=False),
        "datastore": Field(
            entries({}, {"type": word(), "version": word()}), default=dict, update=False
        ),
        "nics": Field(nics, default=list, update=False),
        "replica_of": Field(nullable(reference)),
        "replica_count": Field(integer(1, null=True), update=False),
        "locality": Field(one_of("affinity", "anti-affinity"), update=False),
        "region_name": Field(word(), update=False),
        "access": Field(_ACCESS, default=dict),
    },
)


def create(call: Call) -> Reply:
    """Handle POST of an instance; reply with status 200. Replicas may be several instances."""
    values = document(call, "instance", FIELDS)
    source = _source(call, values)
    if source is not None:
        values |= {name: source.hidden[name] for name in ("flavorRef", "datastore")}
        values["volume"] = dict(source.body["volume"])
    if values["flavorRef"] is None:
        raise bad("Validation error: instance 'flavorRef' is a required property")
    flavor = datastores.flavor_of(call, values["flavorRef"])
    if values["volume"] is None:
        raise bad("Volume size was not specified.")
    check_size(values["volume"]["size"])
    datastore, version = datastores.chosen(values["datastore"])
    if values["restorePoint"]:
        _check_backup(call, values["restorePoint"]["backupRef"])
    distinct_databases(values["databases"])
    distinct_users(values["users"], {one["name"] for one in values["databases"]})
    count = values["replica_count"] or 1
    quotas.check(call, instances=count, volumes=count * values["volume"]["size"])
    more = {"datastore": {"type": datastore.name, "version": version}, "flavor_id": flavor.id}
    made = []
    for number in range(1, count + 1):
        name = values["name"] if count == 1 else f"{values['name']}-{number}"
        made.append(new_instance(call, {**values, **more, "name": name}, source))
    return Reply(200, {"instance": view(call, made[0], detail=True)})


def check_size(gigabytes: int) -> None:
    """Raise Refusal 413 for a volume that is too large."""
    if gigabytes > VOLUME_SIZE_MAX_GB:
        words = f"Volume 'size' cannot exceed maximum of {VOLUME_SIZE_MAX_GB} GB."
        raise Refusal(413, message=words)


def _source(call: Call, values: Body) -> Thing | None:
    """Return the instance of which the new one is a replica, or None. Raises Refusal."""
    if not values["replica_of"]:
        if (values["replica_count"] or 1) > 1:
            raise bad("Replica count only valid when creating replicas.")
        return None
    for name in ("flavorRef", "volume", "datastore", "locality"):
        if values[name]:
            raise bad(f"Cannot specify {name} when creating replicas.")
    source = find(call, INSTANCES, values["replica_of"])
    if source.hidden["replica_of"]:
        raise Refusal(403, message=f"Cannot create a replica of a replica {source.id}.")
    if values["databases"] or values["users"]:
        raise bad("Cannot create a replica with databases and users.")
    usable(source)
    return source


def _check_backup(call: Call, backup_id: str) -> None:
    backup = find(call, BACKUPS, backup_id)
    if backup.body["status"] != "COMPLETED":
        raise Refusal(409, message=f"Unable to create instance: backup {backup_id} is not ready.")


def new_instance(
    call: Call, values: Body, source: Thing | None = None, cluster: Thing | None = None
) -> Thing:
    """Create an instance from checked values, and return it. Raises Refusal.

    `source` is the instance of which it is a replica, `cluster` the cluster of which it is a
    member.
    """
    store, project_id = call.cloud.store, call.caller.project_id
    now, ident = stamp(store.time), store.new_id()
    body: Body = {
        "id": ident,
        "name": values["name"],
        "status": "BUILD",
        "operating_status": "",
        "datastore": values["datastore"],
        "region": values.get("region_name") or REGION,
        "volume": {"size": values["volume"]["size"]},
        "access": values.get("access") or {},
        "created": now,
        "updated": now,
        "service_status_updated": now,
    }
    thing = Thing(ident, INSTANCES, project_id, body)
    thing.hidden |= {
        "flavorRef": values["flavor_id"],
        "datastore": values["datastore"],
        "locality": values.get("locality"),
        "replica_of": source.id if source is not None else None,
        "cluster_id": cluster.id if cluster is not None else None,
        "databases": {one["name"]: one for one in values.get("databases") or []},
        "users": {},
    }
    for one in values.get("users") or []:
        add_user(thing, one)
    thing.hidden["ports"] = [_plug(call, thing, one) for one in values.get("nics") or []]
    store.insert(thing)
    begin(call, thing, "BUILD")
    return thing


def _plug(call: Call, thing: Thing, given: Body) -> str:
    """Create the port of an instance in the network of a user, and return its id."""
    network_id, subnet_id = given.get("network_id") or given.get("net-id"), given.get("subnet_id")
    if not (network_id or subnet_id):
        raise bad("Network or subnet is not provided.")
    if given.get("ip_address") and not subnet_id:
        raise bad("Subnet is not provided.")
    if subnet_id:
        subnet = subnets.find(call, subnet_id)
        if network_id not in (None, subnet.body["network_id"]):
            raise bad(f"Subnet {subnet_id} is not in network {network_id}.")
        network_id = subnet.body["network_id"]
    fixed = {"subnet_id": subnet_id, "ip_address": given.get("ip_address")}
    wanted = {name: value for name, value in fixed.items() if value}
    fields: Body = {"name": f"trove-{thing.id}", "device_id": thing.id}
    fields |= {"device_owner": "trove:instance", "fixed_ips": [wanted] if wanted else None}
    network = networks.find(call, str(network_id))
    return new_port(call.cloud, network, "", fields, implicit=True).id


def begin(call: Call, thing: Thing, status: str, **changes: Any) -> None:
    """Start a task of an instance; at its end the fields `changes` get their values."""
    body, store = thing.body, call.cloud.store
    body.update(status=status, updated=stamp(store.time))
    body.pop("fault", None)
    thing.hidden["changes"] = changes
    thing.hidden["fails"] = call.effects.error and status != "SHUTDOWN"
    store.later(call.effects.slow_s or 0, thing, "database.instance")


def done(cloud: Cloud, thing: Thing) -> None:
    """Complete the task of an instance: apply its changes, or remove the instance."""
    body, now = thing.body, stamp(cloud.store.time)
    changes = thing.hidden.pop("changes", {})
    body.update(updated=now, service_status_updated=now)
    if body["status"] == "SHUTDOWN":
        remove(cloud, thing)
    elif thing.hidden.pop("fails", False):
        body.update(status="ERROR", operating_status="FAILED")
        words = "The instance could not be prepared."
        body["fault"] = {"message": words, "created": now, "details": words}
    else:
        if "flavor_id" in changes:
            thing.hidden["flavorRef"] = changes["flavor_id"]
        if "size" in changes:
            body["volume"]["size"] = changes["size"]
        body.update(status="ACTIVE", operating_status="HEALTHY")


def remove(cloud: Cloud, thing: Thing) -> None:
    """Remove an instance and its ports."""
    for port_id in thing.hidden["ports"]:
        port = cloud.store.table("network.ports").get(port_id)
        if port is not None:
            remove_port(cloud, port)
    cloud.store.remove(thing)


def addresses(call: Call, thing: Thing) -> list[str]:
    """Return the IP addresses of an instance in the network of its user."""
    found = [call.cloud.store.table("network.ports").get(one) for one in thing.hidden["ports"]]
    return [fixed["ip_address"] for port in found if port for fixed in port.body["fixed_ips"]]


def flavor_view(call: Call, thing: Thing) -> Body:
    """Return the flavor of an instance, in the format of the API."""
    flavor_id = thing.hidden["flavorRef"]
    return {"id": flavor_id, "links": links(call, "flavors", flavor_id)}


def view(call: Call, thing: Thing, *, detail: bool) -> Body:
    """Return an instance in the format of the API; `detail` adds what lists do not show."""
    names = ("id", "name", "status", "operating_status", "datastore", "region", "volume", "access")
    shown: Body = {name: thing.body[name] for name in names}
    shown |= {"links": links(call, "instances", thing.id), "flavor": flavor_view(call, thing)}
    if found := addresses(call, thing):
        shown["ip"] = found
        shown["addresses"] = [{"address": one, "type": "private"} for one in found]
    if source := thing.hidden["replica_of"]:
        shown["replica_of"] = {"id": source, "links": links(call, "instances", source)}
    if below := replicas(call, thing):
        shown["replicas"] = [{"id": i, "links": links(call, "instances", i)} for i in below]
    if not detail:
        return shown
    for name in ("created", "updated", "service_status_updated", "fault"):
        if name in thing.body:
            shown[name] = thing.body[name]
    for name in ("cluster_id", "locality"):
        if thing.hidden[name]:
            shown[name] = thing.hidden[name]
    if thing.body["status"] == "ACTIVE":
        shown["volume"] = {**thing.body["volume"], "used": _USED_GB}
    return shown


def replicas(call: Call, thing: Thing) -> list[str]:
    """Return the ids of the replicas of an instance."""
    every = call.cloud.store.table(INSTANCES).values()
    return [one.id for one in every if one.hidden["replica_of"] == thing.id]


def usable(thing: Thing) -> None:
    """Raise Refusal 422 unless the instance is ACTIVE."""
    if thing.body["status"] != "ACTIVE":
        words = f"Instance {thing.id} is not ready. (Status is {thing.body['status']})."
        raise Refusal(422, message=words)


def single(thing: Thing) -> None:
    """Raise Refusal 501 if the instance is a member of a cluster."""
    if thing.hidden["cluster_id"]:
        words = "The operation is not supported for the members of clusters."
        raise Refusal(501, message=words)


def _listed(call: Call, *, detail: bool) -> Reply:
    inside = (call.argument("include_clustered") or "").lower() == "true"
    found = [one for one in mine(call, INSTANCES) if inside or not one.hidden["cluster_id"]]
    shown, more = paged(call, "instances/detail" if detail else "instances", found)
    return Reply(200, {"instances": [view(call, one, detail=detail) for one in shown], **more})


def brief(call: Call) -> Reply:
    """Handle GET of the instances."""
    return _listed(call, detail=False)


def detailed(call: Call) -> Reply:
    """Handle GET of the instances with all their fields."""
    return _listed(call, detail=True)


def show(call: Call) -> Reply:
    """Handle GET of an instance."""
    return Reply(200, {"instance": view(call, find(call, INSTANCES, call.ids[0]), detail=True)})


def update(call: Call) -> Reply:
    """Handle PUT of an instance: set its name, and one other field; reply with status 202."""
    thing = find(call, INSTANCES, call.ids[0])
    changes = document(call, "instance", FIELDS, creating=False)
    if len(changes.keys() - {"name"}) > 1:
        raise bad("Only one attribute (except 'name') is allowed to update.")
    usable(thing)
    if changes.pop("replica_of", None):
        raise bad("A replica can only be detached.")
    if "replica_of" in call.object("instance"):
        thing.hidden["replica_of"] = None
    thing.body.update(changes, updated=stamp(call.cloud.store.time))
    return Reply(202)


def delete(call: Call) -> Reply:
    """Handle DELETE of an instance; reply with status 202."""
    thing = find(call, INSTANCES, call.ids[0])
    single(thing)
    if replicas(call, thing):
        words = f"The replica source {thing.id} cannot be deleted without detaching the replicas."
        raise Refusal(403, message=words)
    if thing.body["status"] == "BUILD":
        raise Refusal(422, message=f"Instance {thing.id} is not ready. (Status is BUILD).")
    if thing.body["status"] != "SHUTDOWN":
        begin(call, thing, "SHUTDOWN")
    return Reply(202)


def of_backup(call: Call) -> Reply:
    """Handle GET of the backups of an instance."""
    thing = find(call, INSTANCES, call.ids[0])
    found = [b.body for b in mine(call, BACKUPS) if b.body["instance_id"] == thing.id]
    return Reply(200, {"backups": found})


_PATH = "/v1.0/instances"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, brief),
    ("GET", _PATH + "/detail", detailed),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("PATCH", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("GET", _PATH + "/{}/backups", of_backup),
]
