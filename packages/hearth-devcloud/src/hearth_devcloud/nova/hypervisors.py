"""The compute services of Nova and their hypervisors; the choice of a host for a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.fixed_ids import fixed
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.microversion import Since
from hearth_devcloud.nova.base import admin_only, bad
from hearth_devcloud.store import Resource, Store, stamp_micro

HOST = "devcloud"
HOST_CPUS = 1000
HOST_RAM_MB = 800_000
HOST_DISK_GB = 600_000
RESERVED_RAM_MB = 512
HOSTS: Mapping[str, str] = {
    HOST: "9d9a6a5e-6e0f-5c55-8a0c-6f7f1c1d6c11",
    "devcloud-2": fixed("hypervisor", "devcloud-2"),
}
"""The ids of the hypervisors by host. New servers get the first host that is in operation."""

_STATES = "compute.service_states"  # only services whose state was changed
_COMPUTE = "nova-compute"


@dataclass(frozen=True)
class _Service:
    number: int
    binary: str
    host: str

    @property
    def uuid(self) -> str:
        return fixed("compute-service", str(self.number))

    def state(self, store: Store) -> Body:
        """Return the fields status, disabled_reason and forced_down."""
        row = store.get(_STATES, str(self.number))
        initial = {"status": "enabled", "disabled_reason": None, "forced_down": False}
        return initial if row is None else row.body


_SERVICES = (
    _Service(2, "nova-scheduler", HOST),
    _Service(3, "nova-conductor", HOST),
    *(_Service(number, _COMPUTE, host) for number, host in enumerate(HOSTS, 4)),
)


def _service_of(host: str) -> _Service:
    return next(s for s in _SERVICES if (s.binary, s.host) == (_COMPUTE, host))


def is_up(store: Store, host: str) -> bool:
    """Return whether the compute service of a host runs."""
    return not _service_of(host).state(store)["forced_down"]


def is_enabled(store: Store, host: str) -> bool:
    """Return whether the compute service of a host may get new servers."""
    return bool(_service_of(host).state(store)["status"] == "enabled")


def choose(store: Store, without: str | None = None) -> str | None:
    """Return a host for a server, other than `without`; None if no other host is in operation."""
    for host in HOSTS:
        if host != without and is_enabled(store, host) and is_up(store, host):
            return host
    return None


def host_of(server: Resource) -> str:
    """Return the host for which a server was scheduled; the first one before that."""
    return str(server.hidden.get("scheduled_host") or HOST)


def host_status(store: Store, host: str) -> str:
    """Return the status of a server's host: UP, DOWN, or MAINTENANCE if its service is disabled."""
    if not is_up(store, host):
        return "DOWN"
    return "UP" if is_enabled(store, host) else "MAINTENANCE"


def _view(call: Call, service: _Service) -> Body:
    state = service.state(call.cloud.store)
    view: Body = {
        "binary": service.binary,
        "host": service.host,
        "id": service.uuid if call.version >= (2, 53) else service.number,
        "zone": "nova" if service.binary == _COMPUTE else "internal",
        "status": state["status"],
        "state": "down" if state["forced_down"] else "up",
        "updated_at": stamp_micro(call.cloud.store.time),
        "disabled_reason": state["disabled_reason"],
    }
    if call.version >= (2, 11):
        view["forced_down"] = state["forced_down"]
    return view


def services(call: Call) -> Reply:
    """Handle GET os-services: list Nova's services."""
    admin_only(call, "os_compute_api:os-services:list")
    views = [
        _view(call, service)
        for service in _SERVICES
        if call.argument("binary") in (None, service.binary)
        and call.argument("host") in (None, service.host)
    ]
    return Reply(200, {"services": views})


def update_service(call: Call) -> Reply:
    """Handle PUT of a compute service: enable or disable it, or report that its host is down."""
    admin_only(call, "os_compute_api:os-services:update")
    store = call.cloud.store
    service = next((s for s in _SERVICES if s.uuid == call.ids[0]), None)
    if service is None:
        raise Refusal(404, message=f"Service {call.ids[0]} could not be found.")
    if service.binary != _COMPUTE:
        text = f"Updating a {service.binary} service is not supported."
        raise bad(f"{text} Only nova-compute services can be updated.")
    changes = _checked(call.json())
    row = store.get(_STATES, str(service.number))
    if row is None:
        row = Resource(str(service.number), _STATES, None, service.state(store), seed=True)
        store.insert(row)
    if "status" in changes:
        row.body["status"] = changes["status"]
        row.body["disabled_reason"] = changes.get("disabled_reason")
    row.body["forced_down"] = changes.get("forced_down", row.body["forced_down"])
    return Reply(200, {"service": _view(call, service)})


def _checked(changes: Any) -> Body:
    """Return the changes of a service in a request. Raises Refusal 400."""
    if not isinstance(changes, dict) or not changes.keys() & {"status", "forced_down"}:
        raise bad("'status' or 'forced_down' is a required property")
    unknown = sorted(set(changes) - {"status", "forced_down", "disabled_reason"})
    if unknown:
        raise bad(f"Additional properties are not allowed: {unknown}")
    status, reason = changes.get("status", "enabled"), changes.get("disabled_reason")
    for name, valid in (
        ("status", status in ("enabled", "disabled")),
        ("forced_down", isinstance(changes.get("forced_down", False), bool)),
        ("disabled_reason", isinstance(reason, str | None)),
    ):
        if not valid:
            raise bad(f"Invalid input for field/attribute {name}. Value: {changes[name]}.")
    if reason is not None and status == "enabled":
        raise bad("Specifying disabled_reason when status is enabled is invalid.")
    return changes


def demand(server: Resource) -> tuple[int, int, int]:
    """Return what a server uses of its host: CPUs, memory in MiB and disk in GiB."""
    flavor = server.hidden["flavor"]
    return flavor["vcpus"], flavor["ram"], flavor["disk"]


def _hypervisor(call: Call, host: str) -> Body:
    """Return a hypervisor in the format of the call's microversion."""
    store, service = call.cloud.store, _service_of(host)
    servers = [demand(t) for t in store.all(tables.SERVERS) if host_of(t) == host]
    cpus, ram, disk = (sum(amounts) for amounts in zip((0, 0, 0), *servers, strict=True))
    newer, state = call.version >= (2, 53), service.state(store)
    view: Body = {
        "id": HOSTS[host] if newer else 1 + list(HOSTS).index(host),
        "hypervisor_hostname": host,
        "state": "down" if state["forced_down"] else "up",
        "status": state["status"],
        "hypervisor_type": "fake",
        "hypervisor_version": 1000,
        "host_ip": "127.0.0.1",
        "service": {
            "id": service.uuid if newer else service.number,
            "host": host,
            "disabled_reason": state["disabled_reason"],
        },
    }
    if call.version >= (2, 88):
        return {**view, "uptime": None}
    return {
        **view,
        "vcpus": HOST_CPUS,
        "memory_mb": HOST_RAM_MB,
        "local_gb": HOST_DISK_GB,
        "vcpus_used": cpus,
        "memory_mb_used": RESERVED_RAM_MB + ram,
        "local_gb_used": disk,
        "free_ram_mb": HOST_RAM_MB - RESERVED_RAM_MB - ram,
        "free_disk_gb": HOST_DISK_GB - disk,
        "current_workload": 0,
        "running_vms": len(servers),
        "disk_available_least": 0,
        "cpu_info": {"arch": "x86_64"} if call.version >= (2, 28) else '{"arch": "x86_64"}',
    }


def _hypervisors(call: Call) -> list[Body]:
    """Return the hypervisors that match the pattern in the query. Raises Refusal 404 if none do."""
    admin_only(call)
    pattern = call.argument("hypervisor_hostname_pattern") or ""
    hypervisors = [_hypervisor(call, host) for host in HOSTS if pattern in host]
    if not hypervisors:
        raise Refusal(404, message=f"No hypervisor matching '{pattern}' could be found.")
    return hypervisors


def hypervisors(call: Call) -> Reply:
    """Handle GET os-hypervisors: list the hypervisors in brief."""
    brief = ("id", "hypervisor_hostname", "state", "status")
    return Reply(200, {"hypervisors": [{k: h[k] for k in brief} for h in _hypervisors(call)]})


def hypervisors_detail(call: Call) -> Reply:
    """Handle GET os-hypervisors/detail: list the hypervisors with all fields."""
    return Reply(200, {"hypervisors": _hypervisors(call)})


def show_hypervisor(call: Call) -> Reply:
    """Handle GET of a hypervisor."""
    admin_only(call)
    for host in HOSTS:
        hypervisor = _hypervisor(call, host)
        if call.ids[0] == str(hypervisor["id"]):
            return Reply(200, {"hypervisor": hypervisor})
    raise Refusal(404, message=f"Hypervisor with ID '{call.ids[0]}' could not be found.")


ROUTES: list[Route] = [
    ("GET", "/v2.1/os-services", services),
    ("PUT", "/v2.1/os-services/{}", Since((2, 53), update_service)),
    ("GET", "/v2.1/os-hypervisors", hypervisors),
    ("GET", "/v2.1/os-hypervisors/detail", hypervisors_detail),
    ("GET", "/v2.1/os-hypervisors/{}", show_hypervisor),
]
