"""Where the suite runs: devcloud in a box, or a cloud that is there; Hearth over it either way."""

import re
import secrets
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from keystoneauth1.exceptions import EndpointNotFound

from tests.clients.dev import hearth_dev
from tests.forked import Forked
from tests.types.case import kinds
from tests.types.story import Orchestration

warnings.filterwarnings("ignore", module="openstack")
READY = re.compile(r"^hearth is ready: all (?P<url>\S+)/v1 ")
QUOTAS = {
    "compute": ("instances", "cores", "ram", "key_pairs", "server_groups"),
    "volume": ("volumes", "gigabytes", "snapshots"),
    "network": (
        "network", "subnet", "port", "router", "floatingip", "security_group",
        "security_group_rule", "subnetpool", "rbac_policy", "trunk",
        "flow_classifier", "port_pair", "port_pair_group", "port_chain",
    ),
    "database": ("instances", "volumes"),
    "load_balancer": (
        "loadbalancer", "listener", "pool", "member", "healthmonitor", "l7policy", "l7rule",
    ),
}  # fmt: skip
"""What projects have limits for."""
QUOTAS_AT = {
    "compute": ("compute", "/os-quota-sets", "quota_set"),
    "volume": ("block_storage", "/os-quota-sets", "quota_set"),
    "network": ("network", "/quotas", "quota"),
    "database": ("database", "/mgmt/quotas", "quotas"),
    "load_balancer": ("load_balancer", "/lbaas/quotas", "quota"),
}
FORCED = {"compute", "network"}
UNLIMITED = -1


@dataclass
class Place:
    """A cloud with Hearth over it; callers by name: `admin` and `demo`."""

    name: str
    url: str
    patience_s: float
    connections: dict[str, Any]
    remains: Callable[[], list[str]]
    there: bool = False  # a cloud that is there, not one in a box
    cloud_url: str = ""  # of devcloud, for what only it can do
    local: threading.local = field(default_factory=threading.local)

    def heat(self, caller: str) -> Orchestration:
        """The API for a caller; each thread has its own."""
        if not hasattr(self.local, "apis"):
            self.local.apis = {}
        if caller not in self.local.apis:
            session = self.connections[caller].session
            self.local.apis[caller] = Orchestration(
                self.url, session.get_project_id(), session.get_token, self.patience_s
            )
        found: Orchestration = self.local.apis[caller]
        return found

    def lacks(self, type_name: str) -> str:
        """Why this cloud cannot have a type; empty: it can."""
        kind, admin = kinds()[type_name], self.connections["admin"]
        try:
            if kind.service is not None:
                admin.session.get_endpoint(service_type=kind.service)
        except EndpointNotFound:
            return f"no {kind.service} service"
        if kind.extension and not admin.network.find_extension(kind.extension):
            return f"no network extension {kind.extension}"
        return ""

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        """A call to devcloud's way behind the scenes."""
        answer = requests.request(
            method, f"{self.cloud_url}/devcloud/{path}", json=body, timeout=30
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def knobs(self, rules: list[dict[str, Any]]) -> None:
        """Rules for what shall befall which calls."""
        self.admin("POST", "knobs", {"rules": rules})

    def knobs_off(self) -> None:
        """No rules."""
        self.admin("DELETE", "knobs")

    def left_over(self) -> list[str]:
        """What was made and is still there."""
        return self.remains()


@contextmanager
def in_a_box(folder: Path, *, in_a_hurry: bool = False) -> Iterator[Place]:
    """`hearth dev`, with room for many stacks at once."""
    box = hearth_dev(folder, "--revive-retired-types", in_a_hurry=in_a_hurry)
    with box as dev, dev.sdk() as demo, dev.sdk("hearth-admin") as admin:
        limit(admin, UNLIMITED)
        switch = {"threshold_alarms": True}  # or there could be no OS::Aodh::Alarm
        requests.post(f"{dev.cloud_url}/devcloud/knobs", json=switch, timeout=30)
        dev.mark()
        callers = {"admin": admin, "demo": demo}
        yield Place("devcloud", dev.url, 60, callers, dev.left_over, cloud_url=dev.cloud_url)


def limit(
    admin: Any, to: int, services: Iterable[str] = ("compute", "volume", "network", "database")
) -> None:
    """The same limit for all that the two projects may have; many stacks at once need room."""
    with warnings.catch_warnings(action="ignore"):  # of the SDK, about itself
        projects = admin.identity.get("/projects").json()["projects"]
        for project in (one["id"] for one in projects if one["name"] in ("admin", "demo")):
            for service in services:
                _limit(admin, service, project, to)


def _limit(admin: Any, service: str, project: str, to: int) -> None:
    proxy, path, key = QUOTAS_AT[service]
    if _lacks(admin, proxy):
        return
    limits = dict.fromkeys(QUOTAS[service], to)
    if service == "network":  # extensions bring some of them
        had = admin.network.get(f"{path}/{project}").json()[key]
        limits = {name: limit for name, limit in limits.items() if name in had}
    if service in FORCED:
        limits["force"] = True  # below what is used, too
    answer = getattr(admin, proxy).put(f"{path}/{project}", json={key: limits})
    assert answer.ok, answer.text


def _lacks(admin: Any, proxy: str) -> bool:
    """Whether the cloud has no service for these calls of the SDK."""
    from openstack.exceptions import ServiceDisabledException

    try:
        getattr(admin, proxy).get  # noqa: B018 - that of a missing service has no attributes
    except ServiceDisabledException:
        return True
    return False


CONF = """\
[DEFAULT]
auth_encryption_key = {secret}
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = {password}
stack_user_domain_id = {domain}
region_name_for_services = {region}
heat_waitcondition_server_url = http://127.0.0.1:1/v1/waitcondition
[hearth]
revive_retired_types = true
[database]
connection = sqlite:///{folder}/hearth.db
[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = 0
[heat_api]
bind_host = 127.0.0.1
[keystone_authtoken]
auth_url = {auth_url}
username = hearth
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
"""


@contextmanager
def real(admin_name: str, folder: Path) -> Iterator[Place]:
    """`hearth serve` on a cloud that is there; makes itself a service user and a stack domain."""
    import openstack

    admin, demo = openstack.connect(cloud=admin_name), openstack.connect(cloud="demo")
    limit(admin, UNLIMITED)
    _furnish(admin, demo)
    password = secrets.token_hex(16)
    domain = _users(admin, password)
    config = folder / "hearth.conf"
    config.touch(mode=0o600)
    config.write_text(
        CONF.format(
            secret=secrets.token_hex(16), password=password, domain=domain.id, folder=folder,
            region=admin.config.get_region_name() or "RegionOne",
            auth_url=admin.config.get_auth_args()["auth_url"],
        )
    )  # fmt: skip
    command = ["serve", "--config", str(config), "--port", "0"]
    before: set[str] = set()
    with Forked(command) as process:
        try:
            line = process.stdout.readline()
            found = READY.match(line)
            assert found is not None, f"no ready line: {line!r}"

            def remains() -> list[str]:
                """What was not there before."""
                return sorted(_everything(admin) - before)

            callers = {"admin": admin, "demo": demo}
            with _registered(admin, found["url"]):
                before = _everything(admin)
                yield Place("real", found["url"], 300, callers, remains, there=True)
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def _registered(admin: Any, url: str) -> Iterator[None]:
    """Hearth stands in the catalogue."""
    identity = admin.identity
    service = identity.create_service(type="orchestration", name="hearth")
    identity.create_endpoint(
        service_id=service.id, interface="public", region_id="RegionOne",
        url=f"{url}/v1/%(tenant_id)s",
    )  # fmt: skip
    admin.session.invalidate()  # its token holds the catalogue of before
    try:
        yield
    finally:
        identity.delete_service(service)


def _furnish(admin: Any, demo: Any) -> None:
    """What the examples and cases take to be there, as it is in devcloud."""
    image = "fedora-20.x86_64"
    if admin.image.find_image(image) is None:
        admin.image.create_image(
            name=image, disk_format="raw", container_format="bare", visibility="public",
            data=b"\0" * 4096, validate_checksum=False,
        )  # fmt: skip
    if demo.network.find_network("private") is None:
        network = demo.network.create_network(name="private")
        demo.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.0.0.0/24")


def _users(admin: Any, password: str) -> Any:
    """The service user and the administrator of the stack domain, as an installer makes them."""
    identity = admin.identity
    roles = {role.name: role for role in identity.roles()}
    project = identity.find_project("service")
    domain = identity.find_domain("heat") or identity.create_domain(name="heat")
    for name, home in (("hearth", "default"), ("heat_domain_admin", domain.id)):
        user = identity.find_user(name, domain_id=home)
        if user is None:
            user = identity.create_user(name=name, domain_id=home, password=password)
        else:
            identity.update_user(user, password=password)
        if home == domain.id:
            identity.assign_domain_role_to_user(domain, user, roles["admin"])
        else:
            for role in ("admin", "service"):
                identity.assign_project_role_to_user(project, user, roles[role])
    return domain


def _everything(admin: Any) -> set[str]:
    """What there is of each kind, in all projects, but for trusts and the stack domain's users."""
    listed = {
        "domain": admin.identity.domains(),
        "project": admin.identity.projects(),
        "user": admin.identity.users(domain_id="default"),
        "group": admin.identity.groups(),
        "role": admin.identity.roles(),
        "service": admin.identity.services(),
        "endpoint": admin.identity.endpoints(),
        "region": admin.identity.regions(),
        "network": admin.network.networks(),
        "subnet": admin.network.subnets(),
        "subnet pool": admin.network.subnet_pools(),
        "address scope": admin.network.address_scopes(),
        "port": admin.network.ports(),
        "router": admin.network.routers(),
        "floating IP": admin.network.ips(),
        "security group": (g for g in admin.network.security_groups() if g.name != "default"),
        "trunk": admin.network.trunks(),
        "QoS policy": admin.network.qos_policies(),
        "RBAC policy": admin.network.rbac_policies(),
        "server": admin.compute.servers(all_projects=True),
        "flavor": admin.compute.flavors(is_public=None),
        "aggregate": admin.compute.aggregates(),
        "server group": admin.compute.server_groups(all_projects=True),
        "volume": admin.block_storage.volumes(all_projects=True),
        "snapshot": admin.block_storage.snapshots(all_projects=True),
        "volume type": admin.block_storage.types(),
        "image": admin.image.images(),
    }
    if not _lacks(admin, "load_balancer"):
        listed["load balancer"] = admin.load_balancer.load_balancers()
    if not _lacks(admin, "dns"):
        listed["zone"] = admin.dns.zones(all_projects=True)
    return {f"{kind} {one.id} {one.name}" for kind, found in listed.items() for one in found}
