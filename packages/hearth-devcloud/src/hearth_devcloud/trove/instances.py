"""The API of database instances: create, list, show, update and delete."""

from __future__ import annotations

from typing import Any

from hearth_devcloud import tables
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
from hearth_devcloud.store import Resource
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
    entries: list[Body] = list_of(nic)(value)
    if len(entries) > 1:
        raise ValueError("only one network is allowed")
    return entries


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
    distinct_users(values["users"], {database["name"] for database in values["databases"]})
    count = values["replica_count"] or 1
    quotas.check(call, instances=count, volumes=count * values["volume"]["size"])
    extra = {"datastore": {"type": datastore.name, "version": version}, "flavor_id": flavor.id}
    instances = []
    for number in range(1, count + 1):
        name = values["name"] if count == 1 else f"{values['name']}-{number}"
        instances.append(new_instance(call, {**values, **extra, "name": name}, source))
    return Reply(200, {"instance": view(call, instances[0], detail=True)})


def check_size(gigabytes: int) -> None:
    """Raise Refusal 413 for a volume that is too large."""
    if gigabytes > VOLUME_SIZE_MAX_GB:
        message = f"Volume 'size' cannot exceed maximum of {VOLUME_SIZE_MAX_GB} GB."
        raise Refusal(413, message=message)


def _source(call: Call, values: Body) -> Resource | None:
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
    call: Call, values: Body, source: Resource | None = None, cluster: Resource | None = None
) -> Resource:
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
    instance = Resource(ident, INSTANCES, project_id, body)
    instance.hidden |= {
        "flavorRef": values["flavor_id"],
        "datastore": values["datastore"],
        "locality": values.get("locality"),
        "replica_of": source.id if source is not None else None,
        "cluster_id": cluster.id if cluster is not None else None,
        "databases": {database["name"]: database for database in values.get("databases") or []},
        "users": {},
    }
    for account in values.get("users") or []:
        add_user(instance, account)
    instance.hidden["ports"] = [_plug(call, instance, nic) for nic in values.get("nics") or []]
    store.insert(instance)
    begin(call, instance, "BUILD")
    return instance


def _plug(call: Call, instance: Resource, nic: Body) -> str:
    """Create the port of an instance in the network of a user, and return its id."""
    network_id, subnet_id = nic.get("network_id") or nic.get("net-id"), nic.get("subnet_id")
    if not (network_id or subnet_id):
        raise bad("Network or subnet is not provided.")
    if nic.get("ip_address") and not subnet_id:
        raise bad("Subnet is not provided.")
    if subnet_id:
        subnet = subnets.find(call, subnet_id)
        if network_id not in (None, subnet.body["network_id"]):
            raise bad(f"Subnet {subnet_id} is not in network {network_id}.")
        network_id = subnet.body["network_id"]
    fixed = {"subnet_id": subnet_id, "ip_address": nic.get("ip_address")}
    fixed_ip = {name: value for name, value in fixed.items() if value}
    fields: Body = {"name": f"trove-{instance.id}", "device_id": instance.id}
    fields |= {"device_owner": "trove:instance", "fixed_ips": [fixed_ip] if fixed_ip else None}
    network = networks.find(call, str(network_id))
    return new_port(call.cloud, network, "", fields, implicit=True).id


def begin(call: Call, instance: Resource, status: str, **changes: Any) -> None:
    """Start a task of an instance; at its end the fields `changes` get their values."""
    body, store = instance.body, call.cloud.store
    body.update(status=status, updated=stamp(store.time))
    body.pop("fault", None)
    instance.hidden["changes"] = changes
    instance.hidden["fails"] = call.effects.error and status != "SHUTDOWN"
    store.later(call.effects.slow_s or 0, instance, "database.instance")


def done(cloud: Cloud, instance: Resource) -> None:
    """Complete the task of an instance: apply its changes, or remove the instance."""
    body, now = instance.body, stamp(cloud.store.time)
    changes = instance.hidden.pop("changes", {})
    body.update(updated=now, service_status_updated=now)
    if body["status"] == "SHUTDOWN":
        remove(cloud, instance)
    elif instance.hidden.pop("fails", False):
        body.update(status="ERROR", operating_status="FAILED")
        message = "The instance could not be prepared."
        body["fault"] = {"message": message, "created": now, "details": message}
    else:
        if "flavor_id" in changes:
            instance.hidden["flavorRef"] = changes["flavor_id"]
        if "size" in changes:
            body["volume"]["size"] = changes["size"]
        body.update(status="ACTIVE", operating_status="HEALTHY")


def remove(cloud: Cloud, instance: Resource) -> None:
    """Remove an instance and its ports."""
    for port_id in instance.hidden["ports"]:
        port = cloud.store.table(tables.PORTS).get(port_id)
        if port is not None:
            remove_port(cloud, port)
    cloud.store.remove(instance)


def addresses(call: Call, instance: Resource) -> list[str]:
    """Return the IP addresses of an instance in the network of its user."""
    ports = [
        call.cloud.store.table(tables.PORTS).get(port_id) for port_id in instance.hidden["ports"]
    ]
    return [fixed["ip_address"] for port in ports if port for fixed in port.body["fixed_ips"]]


def flavor_view(call: Call, instance: Resource) -> Body:
    """Return the flavor of an instance, in the format of the API."""
    flavor_id = instance.hidden["flavorRef"]
    return {"id": flavor_id, "links": links(call, "flavors", flavor_id)}


def view(call: Call, instance: Resource, *, detail: bool) -> Body:
    """Return an instance in the format of the API; `detail` adds what lists do not show."""
    names = ("id", "name", "status", "operating_status", "datastore", "region", "volume", "access")
    fields: Body = {name: instance.body[name] for name in names}
    fields |= {
        "links": links(call, "instances", instance.id),
        "flavor": flavor_view(call, instance),
    }
    if ips := addresses(call, instance):
        fields["ip"] = ips
        fields["addresses"] = [{"address": ip, "type": "private"} for ip in ips]
    if source := instance.hidden["replica_of"]:
        fields["replica_of"] = {"id": source, "links": links(call, "instances", source)}
    if below := replicas(call, instance):
        fields["replicas"] = [{"id": i, "links": links(call, "instances", i)} for i in below]
    if not detail:
        return fields
    for name in ("created", "updated", "service_status_updated", "fault"):
        if name in instance.body:
            fields[name] = instance.body[name]
    for name in ("cluster_id", "locality"):
        if instance.hidden[name]:
            fields[name] = instance.hidden[name]
    if instance.body["status"] == "ACTIVE":
        fields["volume"] = {**instance.body["volume"], "used": _USED_GB}
    return fields


def replicas(call: Call, instance: Resource) -> list[str]:
    """Return the ids of the replicas of an instance."""
    every = call.cloud.store.table(INSTANCES).values()
    return [candidate.id for candidate in every if candidate.hidden["replica_of"] == instance.id]


def usable(instance: Resource) -> None:
    """Raise Refusal 422 unless the instance is ACTIVE."""
    if instance.body["status"] != "ACTIVE":
        message = f"Instance {instance.id} is not ready. (Status is {instance.body['status']})."
        raise Refusal(422, message=message)


def single(instance: Resource) -> None:
    """Raise Refusal 501 if the instance is a member of a cluster."""
    if instance.hidden["cluster_id"]:
        message = "The operation is not supported for the members of clusters."
        raise Refusal(501, message=message)


def _listed(call: Call, *, detail: bool) -> Reply:
    inside = (call.argument("include_clustered") or "").lower() == "true"
    instances = [
        instance
        for instance in mine(call, INSTANCES)
        if inside or not instance.hidden["cluster_id"]
    ]
    page, links = paged(call, "instances/detail" if detail else "instances", instances)
    return Reply(
        200, {"instances": [view(call, instance, detail=detail) for instance in page], **links}
    )


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
    instance = find(call, INSTANCES, call.ids[0])
    changes = document(call, "instance", FIELDS, creating=False)
    if len(changes.keys() - {"name"}) > 1:
        raise bad("Only one attribute (except 'name') is allowed to update.")
    usable(instance)
    if changes.pop("replica_of", None):
        raise bad("A replica can only be detached.")
    if "replica_of" in call.object("instance"):
        instance.hidden["replica_of"] = None
    instance.body.update(changes, updated=stamp(call.cloud.store.time))
    return Reply(202)


def delete(call: Call) -> Reply:
    """Handle DELETE of an instance; reply with status 202."""
    instance = find(call, INSTANCES, call.ids[0])
    single(instance)
    if replicas(call, instance):
        message = (
            f"The replica source {instance.id} cannot be deleted without detaching the replicas."
        )
        raise Refusal(403, message=message)
    if instance.body["status"] == "BUILD":
        raise Refusal(422, message=f"Instance {instance.id} is not ready. (Status is BUILD).")
    if instance.body["status"] != "SHUTDOWN":
        begin(call, instance, "SHUTDOWN")
    return Reply(202)


def of_backup(call: Call) -> Reply:
    """Handle GET of the backups of an instance."""
    instance = find(call, INSTANCES, call.ids[0])
    backups = [b.body for b in mine(call, BACKUPS) if b.body["instance_id"] == instance.id]
    return Reply(200, {"backups": backups})


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
