"""The life of a server: connecting ports and volumes, build, changes of state, deletion."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.aodh.evaluation import happened
from hearth_devcloud.cinder import attachments
from hearth_devcloud.guest import simulated
from hearth_devcloud.http import Body, Call, Cloud, Refusal
from hearth_devcloud.neutron.ports import bind, new_port, remove_port
from hearth_devcloud.neutron.rest import touch
from hearth_devcloud.nova import usage
from hearth_devcloud.nova.base import conflict
from hearth_devcloud.nova.hypervisors import HOST_CPUS, HOST_RAM_MB, choose, host_of
from hearth_devcloud.store import Resource, stamp_micro, stamp_z

STATES = {
    "active": "ACTIVE",
    "stopped": "SHUTOFF",
    "paused": "PAUSED",
    "suspended": "SUSPENDED",
    "rescued": "RESCUE",
    "resized": "VERIFY_RESIZE",
    "shelved": "SHELVED",
    "shelved_offloaded": "SHELVED_OFFLOADED",
    "error": "ERROR",
    "building": "BUILD",
}


def set_state(cloud: Cloud, server: Resource, vm_state: str, task_state: str | None = None) -> None:
    """Set the VM state and the task state of a server, and the resulting API status."""
    status, before = STATES[vm_state], server.body["vm_state"]
    match task_state:
        case "rebooting":
            status = "REBOOT"
        case "rebooting_hard":
            status = "HARD_REBOOT"
        case "rebuilding":
            status = "REBUILD"
        case "resize_prep":
            status = "RESIZE"
        case "resize_reverting":
            status = "REVERT_RESIZE"
        case "migrating":
            status = "MIGRATING"
    server.body.update(vm_state=vm_state, task_state=task_state, status=status)
    server.body["updated"] = stamp_z(cloud.store.time)
    cloud.store.changed = True
    if vm_state != before:
        tell(cloud, server, "compute.instance.update", old_state=before)


def tell(cloud: Cloud, server: Resource, event_type: str, **extra: Any) -> None:
    """Report an event of a server to the alarm service, which may have alarms about it.

    `extra` are further traits of the event.
    """
    traits = {
        "instance_id": server.id,
        "display_name": server.body["name"],
        "host": server.hidden.get("host"),
        "state": server.body["vm_state"],
        "tenant_id": server.project_id,
        **extra,
    }
    traits = {name: value for name, value in traits.items() if value is not None}
    happened(cloud, event_type, traits)


def allow(server: Resource, verb: str, states: Collection[str]) -> None:
    """Raise Refusal 409 unless a server has one of these VM states and no task."""
    vm_state, task_state = server.body["vm_state"], server.body["task_state"]
    text = f"Cannot '{verb}' instance {server.id} while it is in"
    if vm_state not in states:
        raise conflict(f"{text} vm_state {vm_state}")
    if task_state is not None:
        raise conflict(f"{text} task_state {task_state}")


def begin(call: Call, server: Resource, task_state: str, target: str) -> None:
    """Set the task state of a server and schedule the transition to the VM state `target`."""
    server.hidden["target"] = target
    server.hidden["task_fails"] = call.effects.error
    set_state(call.cloud, server, server.body["vm_state"], task_state)
    call.cloud.store.later(call.effects.slow_s or 0, server, "compute.changed")


def move(cloud: Cloud, server: Resource, host: str) -> None:
    """Place a server and its ports on another host."""
    server.hidden.update(scheduled_host=host, host=host)
    for port_id in server.hidden["ports"]:
        if (port := cloud.store.table(tables.PORTS).get(port_id)) is not None:
            port.body["binding:host_id"] = host
            touch(cloud, port)


def fail(cloud: Cloud, server: Resource, message: str) -> None:
    """Set a server to the state error; `message` becomes its fault message."""
    now = stamp_z(cloud.store.time)
    server.hidden["fault"] = {"code": 500, "created": now, "message": message}
    set_state(cloud, server, "error")


def wire(cloud: Cloud, server: Resource) -> None:
    """Carry out the first half of a server's build: connect ports and attach volumes.

    Schedule the second half, or set the server to error.
    """
    hidden = server.hidden
    flavor = hidden["flavor"]
    if server.body["task_state"] == "deleting":
        return
    host = choose(cloud.store)
    if host is None or flavor["vcpus"] > HOST_CPUS or flavor["ram"] > HOST_RAM_MB:
        fail(cloud, server, "No valid host was found. There are not enough hosts available.")
        return
    hidden["scheduled_host"] = host
    try:
        for item in hidden["wanted_networks"]:
            hidden["ports"].append(plug(cloud, server, item).id)
        for device in hidden["wanted_devices"]:
            _attach(cloud, server, device)
    except Refusal as refused:
        unplug_all(cloud, server)
        _let_go(cloud, server)
        fail(cloud, server, f"Build of instance {server.id} aborted: {refused.message}")
        return
    set_state(cloud, server, "building", "spawning")
    cloud.store.later(hidden["build_s"] / 2, server, "compute.built")


def _attach(cloud: Cloud, server: Resource, device: Body) -> None:
    volume = None
    if device["source"] == "volume":
        volume = cloud.store.get(tables.VOLUMES, device["id"])
        if volume is None:
            raise Refusal(404, message=f"Volume {device['id']} no longer exists.")
    else:
        volume = attachments.volume_for_server(cloud, server, device)
    attach_volume(cloud, server, volume, device)


def attach_volume(cloud: Cloud, server: Resource, volume: Resource, device: Body) -> Body:
    """Attach a volume to a server; return the server's entry about it.

    `device` contains the options of the attachment, such as the device name.
    """
    devices = {item["device"] for item in server.hidden["volumes"]}
    name = device.get("device")
    if not name or name in devices:
        letters = "abcdefghijklmnopqrstuvwxyz"
        first = 0 if device.get("boot") else 1
        name = next(f"/dev/vd{c}" for c in letters[first:] if f"/dev/vd{c}" not in devices)
    slow_s = float(device.get("slow_s") or 0)
    attachment = attachments.attach(cloud, volume, server.id, name, after_s=slow_s)
    item = {
        "volume_id": volume.id,
        "device": name,
        "attachment_id": attachment["attachment_id"],
        "delete_on_termination": bool(device.get("delete_on_termination")),
        "tag": device.get("tag"),
        "bdm_uuid": cloud.store.new_id(),
        "boot": bool(device.get("boot")),
    }
    server.hidden["volumes"].append(item)
    return item


def plug(cloud: Cloud, server: Resource, item: Body) -> Resource:
    """Connect a server to a port, and return the port.

    This is the port in `item`, or a new one on the network in `item`. Raises Refusal.
    """
    store = cloud.store
    binding: Body = {
        "device_id": server.id,
        "device_owner": f"compute:{server.hidden['zone']}",
        "binding:host_id": host_of(server),
    }
    if item.get("port"):
        port = store.get(tables.PORTS, item["port"])
        if port is None or (port.body["device_id"] and port.body["device_id"] != server.id):
            raise Refusal(409, message=f"Port {item['port']} does not exist or is in use.")
        port.body.update(binding, dns_name=port.body["dns_name"] or server.hidden["hostname"])
        bind(port)
        touch(cloud, port)
        return port
    network = store.get(tables.NETWORKS, item["uuid"])
    if network is None:
        raise Refusal(404, message=f"Network {item['uuid']} no longer exists.")
    attributes: Body = {**binding, "dns_name": server.hidden["hostname"]}
    if item.get("fixed_ip"):
        attributes["fixed_ips"] = [{"ip_address": item["fixed_ip"]}]
    if server.hidden["security_group_ids"] and network.body["port_security_enabled"]:
        attributes["security_groups"] = server.hidden["security_group_ids"]
    port = new_port(cloud, network, server.project_id or "", attributes, implicit=True)
    server.hidden["own_ports"].append(port.id)
    return port


def unplug(cloud: Cloud, server: Resource, port_id: str) -> None:
    """Disconnect a server from a port.

    A port that was created for the server is deleted; any other port is unbound.
    """
    port = cloud.store.table(tables.PORTS).get(port_id)
    server.hidden["ports"] = [
        other_id for other_id in server.hidden["ports"] if other_id != port_id
    ]
    if port is None:
        return
    if port_id in server.hidden["own_ports"]:
        remove_port(cloud, port)
        return
    port.body.update({"device_id": "", "device_owner": "", "binding:host_id": ""})
    bind(port)
    touch(cloud, port)


def unplug_all(cloud: Cloud, server: Resource) -> None:
    """Disconnect a server from all its ports."""
    for port_id in list(server.hidden["ports"]):
        unplug(cloud, server, port_id)


def _let_go(cloud: Cloud, server: Resource) -> None:
    for item in server.hidden["volumes"]:
        volume = cloud.store.table(tables.VOLUMES).get(item["volume_id"])
        if volume is not None:
            attachments.detach(cloud, volume, item["attachment_id"], at_once=True)
            if item["delete_on_termination"]:
                cloud.store.remove(volume)
    server.hidden["volumes"] = []


def built(cloud: Cloud, server: Resource) -> None:
    """Carry out the second half of a server's build: it becomes active, or fails.

    If a driver runs the servers, make it boot the server.
    """
    if server.body["task_state"] == "deleting":
        return
    if server.hidden["fails"]:
        unplug_all(cloud, server)
        fail(cloud, server, "The hypervisor could not start the instance.")
        return
    if cloud.machines is not None:
        cloud.machines.boot(server)
        return
    running(cloud, server)
    simulated.begin(cloud, server)


def running(cloud: Cloud, server: Resource) -> None:
    """Set a new server to active, and set its host and launch time."""
    server.hidden["host"] = host_of(server)
    server.hidden["launched_at"] = stamp_micro(cloud.store.time)
    set_state(cloud, server, "active")


def changed(cloud: Cloud, server: Resource) -> None:
    """Complete a task of a server: set its target state, or make the driver carry it out."""
    target = server.hidden.pop("target", None)
    if target is None or server.body["task_state"] == "deleting":
        return
    if (destination := server.hidden.pop("destination", None)) is not None:
        _moved_live(cloud, server, destination, target)
        return
    if server.hidden.pop("task_fails", False):
        fail(cloud, server, "A fault rule made the task fail.")
        return
    if cloud.machines is not None:
        cloud.machines.change(server, server.body["task_state"], target)
        return
    set_state(cloud, server, target)
    if target == "active":
        simulated.started(cloud, server)


def _moved_live(cloud: Cloud, server: Resource, destination: str, target: str) -> None:
    """Complete a live migration: the guest has not noticed it. If it fails, the server stays."""
    if not server.hidden.pop("task_fails", False):
        move(cloud, server, destination)
    set_state(cloud, server, target)


def deleted(cloud: Cloud, server: Resource) -> None:
    """Complete the deletion of a server.

    If a driver runs the servers, it removes the processes first.
    """
    if cloud.machines is not None:
        cloud.machines.remove(server)
        return
    gone(cloud, server)


def gone(cloud: Cloud, server: Resource) -> None:
    """Remove a server, and the ports and volumes that were created for it."""
    before = server.body["vm_state"]
    server.body["vm_state"] = "deleted"
    tell(cloud, server, "compute.instance.update", old_state=before)
    simulated.gone(cloud, server)
    unplug_all(cloud, server)
    _let_go(cloud, server)
    for group in cloud.store.all("compute.server_groups"):
        if server.id in group.body["members"]:
            group.body["members"] = [m for m in group.body["members"] if m != server.id]
    usage.remember(cloud.store, server)
    cloud.store.remove(server)


TRANSITIONS: dict[str, Any] = {
    "compute.wire": wire,
    "compute.built": built,
    "compute.changed": changed,
    "compute.deleted": deleted,
}
