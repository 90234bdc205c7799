"""The initial objects of the cloud: users, projects, networks, flavors, images and others.

Their ids are fixed, so that clients find the same objects after a restart.
"""

from __future__ import annotations

import hashlib
from typing import Any

from hearth_devcloud import ironic, tables
from hearth_devcloud.cinder.base import DEFAULT_TYPE
from hearth_devcloud.fixed_ids import fixed, fixed_hex
from hearth_devcloud.guest import simulated
from hearth_devcloud.http import Cloud
from hearth_devcloud.keystone.role_grants import assign
from hearth_devcloud.manila import types as share_types
from hearth_devcloud.neutron.networks import new_network
from hearth_devcloud.neutron.routers import seeded_router
from hearth_devcloud.neutron.subnets import new_subnet
from hearth_devcloud.nova.flavors import flavor_body
from hearth_devcloud.store import Resource, stamp_micro, stamp_z

Body = dict[str, Any]

_USERS: tuple[tuple[str, str, str | None], ...] = (
    ("admin", "default", "admin"),
    ("demo", "default", "demo"),
    ("hearth", "default", "service"),
    ("aodh", "default", "service"),
    ("heat_domain_admin", "heat", None),
)
_GRANTS = (
    ("projects", "admin", "admin", "admin"),
    ("projects", "demo", "demo", "member"),
    ("projects", "demo", "admin", "admin"),
    ("projects", "service", "hearth", "admin"),
    ("projects", "service", "hearth", "service"),
    ("projects", "service", "aodh", "service"),
    ("domains", "default", "admin", "admin"),
    ("domains", "heat", "heat_domain_admin", "admin"),
)
_ROLES = ("admin", "member", "reader", "service", "heat_stack_owner", "heat_stack_user")
_SERVICE_USERS = ("blazar", "mistral", "zaqar")  # trustees of users' trusts
SERVICES = (
    ("alarming", "aodh", "/alarming"),
    ("identity", "keystone", "/identity"),
    ("compute", "nova", "/compute/v2.1"),
    ("placement", "placement", "/placement"),
    ("network", "neutron", "/network"),
    ("image", "glance", "/image"),
    ("block-storage", "cinder", "/volume/v3/$(project_id)s"),
    ("baremetal", "ironic", "/baremetal"),
    ("container", "zun", "/application-container/v1"),
    ("database", "trove", "/database/v1.0/$(project_id)s"),
    ("dns", "designate", "/dns"),
    ("key-manager", "barbican", "/key-manager"),
    ("load-balancer", "octavia", "/load-balancer"),
    ("messaging", "zaqar", "/messaging"),
    ("object-store", "swift", "/object-store/v1/AUTH_$(project_id)s"),
    ("sharev2", "manilav2", "/shared-file-system/v2"),
    ("reservation", "blazar", "/reservation/v1"),
    ("workflowv2", "mistral", "/workflow/v2"),
)
_FLAVORS = (
    ("42", "m1.nano", 192, 1, 1),
    ("1", "m1.tiny", 512, 1, 1),
    ("2", "m1.small", 2048, 20, 1),
    ("3", "m1.medium", 4096, 40, 2),
    ("4", "m1.large", 8192, 80, 4),
    ("5", "m1.xlarge", 16384, 160, 8),
)
_IMAGES = (
    ("cirros", "qcow2", 4096),
    ("cirros-0.3.2-x86_64-disk", "qcow2", 4096),
    ("cirros-0.3.5-x86_64-disk", "qcow2", 4096),
    ("cirros-0.6.2-x86_64-disk", "qcow2", 4096),
    ("fedora-20.x86_64", "qcow2", 8192),
)
_NODE_IMAGES = (
    ("debian-kube", "debian", "v1.31.4"),
    ("fedora-coreos-kube", "fedora-coreos", "v1.31.4"),
    ("ubuntu-kube", "ubuntu", "v1.31.4"),
    ("ubuntu-kube-v1.32.1", "ubuntu", "v1.32.1"),
)  # (name, distribution, Kubernetes version)
AGENT_IMAGE = "debian-12"  # with a simulated agent, like images of nodes
HOST_IMAGE = "host"
_SANDBOX_NODE = {"os_distro": "sandbox", "kube_version": "v1.31.4"}
_KEYPAIRS = ("stack_key", "test_key", "default")


def sow(cloud: Cloud) -> None:
    """Create all initial objects in an empty cloud."""
    _identity(cloud)
    plant_catalogue(cloud)
    _networks(cloud)
    _compute(cloud)
    _images(cloud)
    _volumes(cloud)
    share_types.plant(cloud.store)
    ironic.plant(cloud.store)
    cloud.store.changed = False


def _put(cloud: Cloud, table: str, resource_id: str, body: Body, **hidden: Any) -> Resource:
    project = hidden.pop("project_id", None)
    resource = Resource(resource_id, table, project, {"id": resource_id, **body}, hidden, seed=True)
    return cloud.store.insert(resource)


def _identity(cloud: Cloud) -> None:
    store = cloud.store
    for domain_id, name in (("default", "Default"), (fixed_hex("domain", "heat"), "heat")):
        body: Body = {"name": name, "description": "", "enabled": True, "tags": [], "options": {}}
        _put(cloud, "identity.domains", domain_id, body)
    for name in ("admin", "demo", "service"):
        body = {
            "name": name,
            "domain_id": "default",
            "description": "",
            "enabled": True,
            "parent_id": "default",
            "is_domain": False,
            "tags": [],
            "options": {},
        }
        _put(cloud, "identity.projects", fixed_hex("project", name), body)
    for name, domain, project in _USERS:
        _user(cloud, name, domain, project)
    for name in _ROLES:
        body = {"name": name, "domain_id": None, "description": None}
        body["options"] = {"immutable": True} if name in ("admin", "member", "reader") else {}
        _put(cloud, tables.ROLES, fixed_hex("role", name), body)
    for kind, target, user, role in _GRANTS:
        target_id = _domain(target) if kind == "domains" else fixed_hex("project", target)
        assign(store, kind, target_id, fixed_hex("user", user), fixed_hex("role", role))


def _user(cloud: Cloud, name: str, domain: str, project: str | None) -> None:
    body: Body = {
        "name": name,
        "domain_id": _domain(domain),
        "enabled": True,
        "default_project_id": fixed_hex("project", project) if project else None,
        "password_expires_at": None,
        "options": {},
    }
    user_id = fixed_hex("user", name)
    _put(cloud, tables.USERS, user_id, body, password=cloud.settings.password)


def _domain(name: str) -> str:
    return name if name == "default" else fixed_hex("domain", name)


def plant_catalogue(cloud: Cloud) -> None:
    """Create the region, service users, services and endpoints, with the cloud's current URL."""
    for name in _SERVICE_USERS:
        if cloud.store.get(tables.USERS, fixed_hex("user", name)) is None:
            _user(cloud, name, "default", None)
    region: Body = {"description": "", "parent_region_id": None}
    if cloud.store.get("identity.regions", "RegionOne") is None:
        _put(cloud, "identity.regions", "RegionOne", region)
    services = [(type_, name, cloud.url + path) for type_, name, path in SERVICES]
    if cloud.settings.orchestration_url:
        services.append(("orchestration", "heat", cloud.settings.orchestration_url))
    if cloud.settings.cloudformation_url:
        services.append(("cloudformation", "heat-cfn", cloud.settings.cloudformation_url))
    if cloud.settings.cluster_url:
        services.append(("container-infra", "magnum", cloud.settings.cluster_url))
    for type_, name, url in services:
        service_id = fixed_hex("service", type_)
        body: Body = {"type": type_, "name": name, "enabled": True}
        _put(cloud, "identity.services", service_id, body)
        for interface in ("public", "internal", "admin"):
            endpoint: Body = {
                "interface": interface,
                "region_id": "RegionOne",
                "region": "RegionOne",
                "service_id": service_id,
                "url": url,
                "enabled": True,
            }
            _put(cloud, tables.ENDPOINTS, fixed_hex("endpoint", type_, interface), endpoint)


def _networks(cloud: Cloud) -> None:
    """Create the networks of devstack: `private` and `public`, connected by `router1`."""
    networks: dict[str, tuple[Resource, Resource]] = {}
    for name, project, cidr, external in (
        ("public", "admin", "172.24.4.0/22", True),
        ("private", "demo", "10.0.0.0/24", False),
    ):
        attributes: Body = {"name": name, "router:external": external, "shared": not external}
        owner = fixed_hex("project", project)
        network = new_network(cloud, fixed("network", name), owner, attributes, seed=True)
        attributes = {"name": f"{name}-subnet", "cidr": cidr, "enable_dhcp": not external}
        subnet = new_subnet(cloud, fixed("subnet", name), network, attributes, seed=True)
        networks[name] = network, subnet
    ids = (fixed("router", "router1"), fixed("port", "gateway"), fixed("port", "interface"))
    seeded_router(cloud, "router1", networks["public"][0], networks["private"][1], ids)


def _compute(cloud: Cloud) -> None:
    for flavor_id, name, ram, disk, cpus in _FLAVORS:
        body = flavor_body(name=name, ram=ram, disk=disk, vcpus=cpus)
        _put(cloud, tables.FLAVORS, flavor_id, body)
    user = fixed_hex("user", "demo")
    for name in _KEYPAIRS:
        key = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
        body = {
            "name": name,
            "public_key": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{key}{key[:11]} {name}",
            "fingerprint": ":".join(key[i : i + 2] for i in range(0, 32, 2)),
            "user_id": user,
            "type": "ssh",
            "created_at": stamp_micro(cloud.store.time),
            "serial": cloud.store.new_serial(),
        }
        _put(cloud, tables.KEYPAIRS, f"{user}/{name}", body)


def _images(cloud: Cloud) -> None:
    for name, disk_format, size in _IMAGES:
        _image(cloud, name, disk_format, size)
    _image(cloud, AGENT_IMAGE, "qcow2", 4096, os_distro="debian", **{simulated.PROPERTY: "true"})
    for name, distribution, version in _NODE_IMAGES:
        node = {"os_distro": distribution, "kube_version": version, simulated.PROPERTY: "true"}
        _image(cloud, name, "qcow2", 4096, **node)


def plant_image(cloud: Cloud, name: str) -> None:
    """Create the image `name` for sandbox servers, unless it exists."""
    if image_named(cloud, name) is None:
        properties = _SANDBOX_NODE if name == HOST_IMAGE else {}
        _image(cloud, name, "raw", 4096, **properties)


def image_named(cloud: Cloud, name: str) -> Resource | None:
    """Return the initial image with this name, or None if it does not exist."""
    return cloud.store.get(tables.IMAGES, fixed("image", name))


def _image(cloud: Cloud, name: str, disk_format: str, size: int, **properties: str) -> None:
    admin = fixed_hex("project", "admin")
    now = stamp_z(cloud.store.time)
    data = b"\0" * size
    body: Body = {
        "name": name,
        "disk_format": disk_format,
        "container_format": "bare",
        "visibility": "public",
        "size": size,
        "virtual_size": size,
        "status": "active",
        "checksum": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "protected": False,
        "min_ram": 0,
        "min_disk": 0,
        "owner": admin,
        "os_hidden": False,
        "os_hash_algo": "sha512",
        "os_hash_value": hashlib.sha512(data).hexdigest(),
        "created_at": now,
        "updated_at": now,
        "tags": [],
    }
    image = _put(cloud, tables.IMAGES, fixed("image", name), body, project_id=admin, data=data)
    image.hidden["extra"] = {
        "owner_specified.openstack.md5": "",
        "owner_specified.openstack.sha256": "",
        "owner_specified.openstack.object": f"images/{name}",
        **properties,
    }


def _volumes(cloud: Cloud) -> None:
    body: Body = {
        "name": DEFAULT_TYPE,
        "is_public": True,
        "description": None,
        "extra_specs": {"volume_backend_name": DEFAULT_TYPE},
    }
    _put(cloud, "volume.types", fixed("type", DEFAULT_TYPE), body)
