"""Smaller parts of the Cinder API: services, zones, extensions, messages, pools."""

from __future__ import annotations

from hearth_devcloud.cinder.base import admin_only, links, mine
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.listing import filtered
from hearth_devcloud.store import stamp_micro


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
]
