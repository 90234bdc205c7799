"""Checks of the request that creates a server, and the resulting values."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    Collection,
    Field,
    Invalid,
    anything,
    boolean,
    integer,
    is_uuid,
    list_of,
    mapping,
    nullable,
    one_of,
    text,
)
from hearth_devcloud.http import Body, Call
from hearth_devcloud.nova import quotas
from hearth_devcloud.nova.base import admin_only, bad, conflict, forbidden
from hearth_devcloud.nova.flavors import flavor_of
from hearth_devcloud.nova.hosts import group_of, zone_names
from hearth_devcloud.nova.keypairs import key_of
from hearth_devcloud.store import Resource

USER_DATA_MAX = 65535
_SINCE = {
    "description": (2, 19),
    "tags": (2, 52),
    "trusted_image_certificates": (2, 63),
    "host": (2, 74),
    "hypervisor_hostname": (2, 74),
    "hostname": (2, 90),
}


def words(value: Any) -> Any:
    """Check metadata and return it: strings of at most 255 characters. Raises ValueError."""
    for key, item in mapping(value).items():
        if not isinstance(item, str) or len(item) > 255 or not 0 < len(key) <= 255:
            raise ValueError(f"keys and values must be strings of at most 255 characters: {key!r}")
    return value or {}


def name_of_server(value: Any) -> Any:
    """Check the name of a server and return it without outer spaces. Raises ValueError."""
    name = text()(value)
    if not name.strip():
        raise ValueError("name must not be empty")
    return name.strip()


SERVERS = Collection(
    "compute",
    "servers",
    "server",
    {
        "name": Field(name_of_server, required=True),
        "flavorRef": Field(anything, required=True),
        "imageRef": Field(anything, default=""),
        "networks": Field(anything),
        "metadata": Field(words, default=dict),
        "user_data": Field(nullable(text(USER_DATA_MAX))),
        "key_name": Field(nullable(text())),
        "security_groups": Field(list_of(mapping), default=list),
        "availability_zone": Field(nullable(text())),
        "config_drive": Field(anything),
        "adminPass": Field(text()),
        "accessIPv4": Field(text(), default=""),
        "accessIPv6": Field(text(), default=""),
        "OS-DCF:diskConfig": Field(one_of("AUTO", "MANUAL"), default="MANUAL"),
        "block_device_mapping": Field(list_of(mapping), default=list),
        "block_device_mapping_v2": Field(list_of(mapping), default=list),
        "min_count": Field(integer(1), default=1),
        "max_count": Field(integer(1), default=None),
        "return_reservation_id": Field(boolean, default=False),
        "personality": Field(list_of(mapping), default=list),
        "description": Field(nullable(text())),
        "tags": Field(list_of(text(60)), default=list),
        "trusted_image_certificates": Field(anything),
        "host": Field(text()),
        "hypervisor_hostname": Field(text()),
        "hostname": Field(text()),
    },
)


def checked(call: Call, attributes: Mapping[str, Any]) -> Body:
    """Return all fields of a request for a server, checked and with defaults.

    Raises Refusal 400 with a message as in Nova's schema validation.
    """
    for key, since in _SINCE.items():
        if key in attributes and call.version < since:
            raise bad(f"Additional properties are not allowed ('{key}' was unexpected)")
    if "personality" in attributes and call.version >= (2, 57):
        raise bad("Additional properties are not allowed ('personality' was unexpected)")
    try:
        values = SERVERS.for_create(attributes)
    except Invalid as error:
        names = ", ".join(f"'{name}'" for name in error.names)
        if error.fault.value == "unknown":
            raise bad(f"Additional properties are not allowed ({names} was unexpected)") from None
        if error.fault.value == "missing":
            raise bad(f"{names} is a required property") from None
        raise bad(f"Invalid input for field/attribute {error.message}") from None
    if values["user_data"] is not None:
        try:
            base64.b64decode(values["user_data"], validate=True)
        except binascii.Error:
            raise bad("Invalid input for field/attribute user_data: not base64") from None
    return values


def flavor(call: Call, values: Body) -> Resource:
    """Return the requested flavor. Raises Refusal 400."""
    reference = str(values["flavorRef"]).rpartition("/")[2]
    resource = flavor_of(call, reference)
    if resource is None:
        raise bad(f"Flavor {reference} could not be found.")
    return resource


def image(call: Call, values: Body, chosen: Resource) -> str:
    """Return the id of the requested image, or an empty text for a boot from a volume.

    `chosen` is the flavor. Raises Refusal 400 or 403.
    """
    reference = values["imageRef"] or ""
    if not isinstance(reference, str):
        raise bad("Invalid imageRef provided.")
    reference = reference.rpartition("/")[2]
    if not reference:
        boots = [d for d in values["block_device_mapping_v2"] if str(d.get("boot_index")) == "0"]
        if not boots and not values["block_device_mapping"]:
            raise bad("Invalid image identifier or unable to access an image")
        return ""
    check_image(call, reference, chosen.body)
    if chosen.body["disk"] == 0 and not call.caller.is_admin:
        raise forbidden("Only volume-backed servers are allowed for flavors with zero disk.")
    return reference


def check_image(call: Call, reference: str, chosen: Body) -> Resource:
    """Return the image with the id `reference`. `chosen` are the fields of the flavor.

    Raises Refusal 400 if the caller may not use the image or it does not fit the flavor.
    """
    if not is_uuid(reference):
        raise bad("Invalid imageRef provided.")
    image = call.cloud.store.get(tables.IMAGES, reference)
    if image is None or not _may_use(call, image):
        raise bad(f"Can not find requested image {reference}")
    if image.body["status"] != "active":
        raise bad(f"Image {reference} is not active.")
    if image.body["min_ram"] > chosen["ram"]:
        raise bad("Flavor's memory is too small for requested image.")
    if image.body["min_disk"] > chosen["disk"]:
        raise bad("Flavor's disk is too small for requested image.")
    return image


def _may_use(call: Call, image: Resource) -> bool:
    caller = call.caller
    if caller.is_admin or image.body["visibility"] in ("public", "community"):
        return True
    return image.project_id == caller.project_id or caller.project_id in image.hidden.get(
        "members", {}
    )


def networks(call: Call, values: Body) -> list[Body]:
    """Check the requested networks and ports, and return them. Raises Refusal 400 or 409.

    Each item has a `port`, or the `uuid` of a network and perhaps a `fixed_ip`.
    """
    requested_networks = values["networks"]
    if requested_networks is None:
        if call.version >= (2, 37):
            raise bad("'networks' is a required property")
        return _only_network(call)
    if requested_networks == "auto" and call.version >= (2, 37):
        return _only_network(call)
    if requested_networks == "none" and call.version >= (2, 37):
        return []
    if not isinstance(requested_networks, list):
        raise bad("Invalid input for field/attribute networks: expected a list, auto or none")
    return [_network(call, item) for item in requested_networks]


def _mine(call: Call) -> list[Resource]:
    return [
        network for network in call.cloud.store.all(tables.NETWORKS) if _may_plug(call, network)
    ]


def _may_plug(call: Call, network: Resource) -> bool:
    return network.project_id == call.caller.project_id or bool(network.body["shared"])


def _only_network(call: Call) -> list[Body]:
    candidates = [network for network in _mine(call) if not network.body["router:external"]]
    if len(candidates) > 1:
        raise conflict("Multiple possible networks found, use a Network ID to be more specific.")
    return [{"uuid": network.id} for network in candidates if network.body["subnets"]]


def _network(call: Call, item: Any) -> Body:
    if not isinstance(item, dict) or set(item) - {"uuid", "port", "fixed_ip", "tag"}:
        raise bad("An item of networks may only have the keys uuid, port, fixed_ip and tag")
    store, caller = call.cloud.store, call.caller
    if item.get("port"):
        port = store.get(tables.PORTS, item["port"])
        if port is None or not (caller.is_admin or port.project_id == caller.project_id):
            raise bad(f"Port id {item['port']} could not be found.")
        if port.body["device_id"]:
            raise conflict(f"Port {port.id} is still in use.")
        return {"port": port.id}
    if not item.get("uuid"):
        raise bad("Bad networks format: network uuid is not given")
    network = store.get(tables.NETWORKS, item["uuid"])
    if network is None or not (caller.is_admin or _may_plug(call, network)):
        raise bad(f"Network {item['uuid']} could not be found.")
    if not network.body["subnets"]:
        raise bad(f"Network {network.id} requires a subnet in order to boot instances on.")
    return {"uuid": network.id, "fixed_ip": item.get("fixed_ip")}


def block_devices(call: Call, values: Body) -> list[Body]:
    """Check the requested block devices, and return those that are volumes. Raises Refusal 400."""
    devices = []
    legacy = [
        {
            "uuid": item.get("volume_id") or item.get("snapshot_id"),
            "source_type": "snapshot" if item.get("snapshot_id") else "volume",
            "destination_type": "volume",
            "boot_index": 0 if str(item.get("device_name", "")).endswith("vda") else None,
            "delete_on_termination": item.get("delete_on_termination", False),
            "device_name": item.get("device_name"),
            "volume_size": item.get("volume_size"),
        }
        for item in values["block_device_mapping"]
    ]
    table_names = {
        "volume": tables.VOLUMES,
        "snapshot": tables.VOLUME_SNAPSHOTS,
        "image": tables.IMAGES,
    }
    for item in [*legacy, *values["block_device_mapping_v2"]]:
        source = item.get("source_type")
        if source not in ("volume", "snapshot", "image", "blank"):
            raise bad(
                f"Invalid input for field/attribute source_type. Value: {source}. "
                "Expected one of: volume, snapshot, image, blank"
            )
        if item.get("no_device"):
            continue
        resource = None
        if source != "blank":
            resource = call.cloud.store.get(table_names[source], item.get("uuid"))
            if resource is None:
                kind = source.capitalize()
                raise bad(f"Block Device Mapping is Invalid: {kind} {item.get('uuid')} not found.")
            if source == "volume" and resource.body["status"] != "available":
                raise bad(
                    f"Block Device Mapping is Invalid: volume {resource.id} is not available."
                )
        if source == "image" and item.get("destination_type") != "volume":
            continue
        if source == "blank" and item.get("destination_type") != "volume":
            continue
        if not str(item.get("volume_size") or 0).isdecimal():
            raise bad("Invalid input for field/attribute volume_size: expected an integer")
        if source in ("image", "blank") and not item.get("volume_size"):
            raise bad("Block Device Mapping is Invalid: a volume_size is needed.")
        devices.append(
            {
                "source": source,
                "id": resource.id if resource is not None else None,
                "size": int(item.get("volume_size") or 0) or None,
                "boot": str(item.get("boot_index")) == "0",
                "delete_on_termination": bool(item.get("delete_on_termination", False)),
                "tag": item.get("tag"),
                "device": item.get("device_name"),
                "volume_type": item.get("volume_type"),
            }
        )
    return devices


def references(call: Call, values: Body, hints: Body) -> Resource | None:
    """Check the key pair, security groups, zone and server group that a request refers to.

    `hints` are the scheduler hints. Return the server group or None. Raises Refusal.
    """
    caller, store = call.caller, call.cloud.store
    if values["key_name"] and key_of(call, caller.user_id, values["key_name"]) is None:
        raise bad("Invalid key_name provided.")
    for group in values["security_groups"]:
        security_group(call, str(group.get("name")))
    zone = values["availability_zone"]
    if zone is not None:
        name, _, host = zone.partition(":")
        if name and name not in zone_names(call):
            raise bad("The requested availability zone is not available")
        if host:
            admin_only(call)
    for key in ("host", "hypervisor_hostname"):
        if values[key]:
            admin_only(call)
    group_id = hints.get("group")
    if group_id is None:
        return None
    server_group = group_of(call, str(group_id))
    if server_group is None:
        raise bad(f"Instance group {group_id} could not be found.")
    bound = quotas.limits(call.cloud, caller.project_id or "")["server_group_members"]
    alive = store.table(tables.SERVERS)
    if 0 <= bound <= sum(member in alive for member in server_group.body["members"]):
        raise forbidden("Quota exceeded, too many servers in group")
    return server_group


def security_group(call: Call, name: str) -> str:
    """Return the id of the project's security group with this name or id. Raises Refusal 400."""
    from hearth_devcloud.neutron.security import default_group

    project_id = call.caller.project_id or ""
    if name == "default":
        return default_group(call.cloud, project_id).id
    for group in call.cloud.store.all(tables.SECURITY_GROUPS):
        if group.project_id == project_id and name in (group.id, group.body["name"]):
            return group.id
    raise bad(f"Security group {name} not found for project {project_id}.")
