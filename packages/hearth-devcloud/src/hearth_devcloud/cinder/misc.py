"""Smaller parts of the Cinder API: services, zones, extensions, messages, volume transfers."""

from __future__ import annotations

from hearth_devcloud.cinder.base import admin_only, bad, find, links, mine
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.listing import filtered
from hearth_devcloud.store import Resource, stamp_micro

_TRANSFERS = "volume.transfers"


def services(call: Call) -> Reply:
    """Handle GET os-services: list Cinder's services."""
    admin_only(call)
    rows = (("cinder-volume", "devcloud@lvm"), ("cinder-scheduler", "devcloud"))
    views = []
    for binary, host in rows:
        row: Body = {
            "binary": binary,
            "host": host,
            "zone": "nova",
            "status": "enabled",
            "state": "up",
            "updated_at": stamp_micro(call.cloud.store.time),
            "disabled_reason": None,
        }
        if binary == "cinder-volume":
            row |= {"replication_status": "disabled", "active_backend_id": None, "frozen": False}
        views.append(row)
    return Reply(200, {"services": views})


def zones(call: Call) -> Reply:
    """Handle GET os-availability-zone: list the availability zones."""
    views = [{"zoneName": "nova", "zoneState": {"available": True}}]
    return Reply(200, {"availabilityZoneInfo": views})


def extensions(call: Call) -> Reply:
    """Handle GET /extensions: list the API extensions."""
    names = (
        "OS-SCH-HNT",
        "os-types-manage",
        "os-types-extra-specs",
        "os-volume-type-access",
        "os-volume-encryption-metadata",
        "encryption",
        "qos-specs",
        "os-quota-sets",
        "backups",
    )
    views = [
        {"name": name, "alias": name, "description": name, "updated": "2013-01-01T00:00:00+00:00"}
        for name in names
    ]
    return Reply(200, {"extensions": [{**extension, "links": []} for extension in views]})


def messages(call: Call) -> Reply:
    """Handle GET /messages: list the messages about failed volumes."""
    owned = filtered(mine(call, "messages"), call.query)
    views = [{**t.body, "links": links(call, "messages", t.id)} for t in owned]
    return Reply(200, {"messages": views})


def transfer(call: Call) -> Reply:
    """Handle POST os-volume-transfer: offer a volume to another project."""
    attributes, store = call.object("transfer"), call.cloud.store
    volume = find(call, "volumes", attributes.get("volume_id"), "Volume")
    if volume.body["status"] != "available":
        raise bad("Invalid volume: status must be available")
    volume.body["status"] = "awaiting-transfer"
    body: Body = {
        "id": store.new_id(),
        "created_at": stamp_micro(store.time),
        "name": attributes.get("name"),
        "volume_id": volume.id,
    }
    hidden = {"auth_key": store.new_secret(16)}
    resource = store.insert(Resource(body["id"], _TRANSFERS, volume.project_id, body, hidden))
    return Reply(202, {"transfer": {**_view(call, resource), **hidden}})


def _view(call: Call, transfer: Resource) -> Body:
    return {**transfer.body, "links": links(call, "os-volume-transfer", transfer.id)}


def show_transfer(call: Call) -> Reply:
    """Handle GET of a transfer."""
    transfer = find(call, "transfers", call.ids[0], "Transfer")
    return Reply(200, {"transfer": _view(call, transfer)})


def accept(call: Call) -> Reply:
    """Handle POST accept: move the volume of a transfer to the caller's project."""
    store, attributes = call.cloud.store, call.object("accept")
    transfer = store.get(_TRANSFERS, call.ids[0])
    if transfer is None:
        raise Refusal(404, message="Transfer could not be found.")
    if attributes.get("auth_key") != transfer.hidden["auth_key"]:
        raise bad("Invalid auth key")
    volume = store.get("volume.volumes", transfer.body["volume_id"])
    if volume is not None:
        volume.project_id, volume.body["status"] = call.caller.project_id, "available"
    store.remove(transfer)
    return Reply(202, {"transfer": _view(call, transfer)})


def cancel(call: Call) -> Reply:
    """Handle DELETE of a transfer: cancel it, so that the volume stays in its project."""
    transfer = find(call, "transfers", call.ids[0], "Transfer")
    volume = call.cloud.store.get("volume.volumes", transfer.body["volume_id"])
    if volume is not None:
        volume.body["status"] = "available"
    call.cloud.store.remove(transfer)
    return Reply(202, None, {"Content-Type": "text/html; charset=UTF-8"})


def pools(call: Call) -> Reply:
    """Handle GET scheduler-stats/get_pools: list the storage pools."""
    admin_only(call)
    capabilities: Body = {
        "pool_name": "pool",
        "total_capacity_gb": 100_000,
        "free_capacity_gb": 100_000,
        "provisioned_capacity_gb": 0,
        "reserved_percentage": 0,
        "QoS_support": True,
        "thin_provisioning_support": True,
        "thick_provisioning_support": False,
        "max_over_subscription_ratio": "20.0",
        "multiattach": True,
        "online_extend_support": True,
        "location_info": "devcloud",
        "allocated_capacity_gb": 0,
        "cacheable": True,
        "driver_version": "1.0.0",
        "filter_function": None,
        "goodness_function": None,
        "storage_protocol": "iSCSI",
        "timestamp": stamp_micro(call.cloud.store.time),
        "vendor_name": "Hearth",
        "volume_backend_name": "lvm",
    }
    return Reply(200, {"pools": [{"name": "devcloud@lvm#pool", "capabilities": capabilities}]})


ROUTES: list[Route] = [
    ("GET", "/v3/os-services", services),
    ("GET", "/v3/os-availability-zone", zones),
    ("GET", "/v3/extensions", extensions),
    ("GET", "/v3/messages", messages),
    ("GET", "/v3/scheduler-stats/get_pools", pools),
    ("POST", "/v3/os-volume-transfer", transfer),
    ("GET", "/v3/os-volume-transfer/{}", show_transfer),
    ("POST", "/v3/os-volume-transfer/{}/accept", accept),
    ("DELETE", "/v3/os-volume-transfer/{}", cancel),
]
