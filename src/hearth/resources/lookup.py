"""Finding ids by names, and checking constraints against the cloud.

Each kind of object is listed at most once per request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault, NoService, NotFound
from hearth.cloud.path import segment
from hearth.model.problem import Problem, StackValidationFailed, nearest
from hearth.model.span import Span
from hearth.schema.named import CHECKS, EMPTY_ALLOWED, unknown_constraint, wrong_value

PREFIX = "Property error"
SIMILAR = 0.75  # of names that users choose; ubuntu-24 and ubuntu-kube are less similar
NAMES_SHOWN = 5  # in an error message


class Kind(Struct, frozen=True):
    """A kind of object that templates refer to by name, and the call that lists these objects.

    `matches` are the fields to compare with the given text; `gives` is the field to return.
    """

    label: str
    service: str
    path: str
    matches: tuple[str, ...] = ("id", "name")
    gives: str = "id"
    inner: str | None = None  # a key around each member
    alone: bool = False  # looked up one by one, because lists lack objects that others share
    microversion: str | None = None  # of the list call


def _neutron(label: str, collection: str) -> Kind:
    return Kind(label, "network", f"/v2.0/{collection}")


def _keystone(label: str, collection: str) -> Kind:
    return Kind(label, "identity", f"/v3/{collection}")


def _octavia(label: str, collection: str, gives: str = "id") -> Kind:
    return Kind(label, "load-balancer", f"/v2/lbaas/{collection}", gives=gives)


def _ironic(label: str, collection: str) -> Kind:
    return Kind(
        label, "baremetal", f"/v1/{collection}", ("uuid", "name"), "uuid", microversion="1.53"
    )


KINDS: Mapping[str, Kind] = {
    "glance.image": Kind("Image", "image", "/v2/images"),
    "nova.flavor": Kind("Flavor", "compute", "/flavors/detail"),
    "nova.server": Kind("Server", "compute", "/servers/detail"),
    "nova.host": Kind(
        "Host", "compute", "/os-services?binary=nova-compute", ("host",), gives="host"
    ),
    "nova.keypair": Kind("Key", "compute", "/os-keypairs", ("name",), "name", "keypair"),
    "cinder.volume": Kind("Volume", "block-storage", "/volumes/detail"),
    "cinder.snapshot": Kind("VolumeSnapshot", "block-storage", "/snapshots/detail"),
    "cinder.backup": Kind("VolumeBackup", "block-storage", "/backups/detail"),
    "cinder.vtype": Kind("VolumeType", "block-storage", "/types"),
    "cinder.qos_specs": Kind("QoSSpecs", "block-storage", "/qos-specs"),
    "barbican.secret": Kind("Secret", "key-manager", "/v1/secrets", alone=True),
    "barbican.container": Kind("Container", "key-manager", "/v1/containers", alone=True),
    "designate.zone": Kind("Zone", "dns", "/v2/zones"),
    "neutron.network": _neutron("Network", "networks"),
    "neutron.subnet": _neutron("Subnet", "subnets"),
    "neutron.subnetpool": _neutron("SubnetPool", "subnetpools"),
    "neutron.port": _neutron("Port", "ports"),
    "neutron.router": _neutron("Router", "routers"),
    "neutron.security_group": _neutron("SecurityGroup", "security-groups"),
    "neutron.qos_policy": _neutron("QoSPolicy", "qos/policies"),
    "neutron.address_scope": _neutron("AddressScope", "address-scopes"),
    "neutron.segment": _neutron("Segment", "segments"),
    "neutron.floating_ip": Kind(
        "FloatingIP", "network", "/v2.0/floatingips", ("id", "floating_ip_address")
    ),
    "neutron.taas.tap_service": _neutron("TapService", "taas/tap_services"),
    "neutron.taas.tap_flow": _neutron("TapFlow", "taas/tap_flows"),
    "neutron.flow_classifier": _neutron("FlowClassifier", "sfc/flow_classifiers"),
    "neutron.port_pair": _neutron("PortPair", "sfc/port_pairs"),
    "neutron.port_pair_group": _neutron("PortPairGroup", "sfc/port_pair_groups"),
    "neutron.lbaas.loadbalancer": _octavia("LoadBalancer", "loadbalancers"),
    "neutron.lbaas.listener": _octavia("Listener", "listeners"),
    "neutron.lbaas.pool": _octavia("Pool", "pools"),
    "neutron.lbaas.provider": _octavia("Provider", "providers", "name"),
    "nova.network": _neutron("Network", "networks"),
    "keystone.user": _keystone("KeystoneUser", "users"),
    "keystone.project": _keystone("KeystoneProject", "projects"),
    "keystone.domain": _keystone("KeystoneDomain", "domains"),
    "keystone.group": _keystone("KeystoneGroup", "groups"),
    "keystone.role": _keystone("KeystoneRole", "roles"),
    "keystone.service": _keystone("KeystoneService", "services"),
    "keystone.region": Kind("KeystoneRegion", "identity", "/v3/regions", ("id",)),
    "octavia.loadbalancer": _octavia("LoadBalancer", "loadbalancers"),
    "octavia.listener": _octavia("Listener", "listeners"),
    "octavia.pool": _octavia("Pool", "pools"),
    "octavia.l7policy": _octavia("L7Policy", "l7policies"),
    "octavia.flavor": _octavia("Flavor", "flavors"),
    "octavia.flavorprofile": _octavia("FlavorProfile", "flavorprofiles"),
    "octavia.availabilityzone": _octavia("AvailabilityZone", "availabilityzones", "name"),
    "octavia.availabilityzoneprofile": _octavia(
        "AvailabilityZoneProfile", "availabilityzoneprofiles"
    ),
    "blazar.reservation": Kind("Lease", "reservation", "/leases"),
    "ironic.node": _ironic("Node", "nodes"),
    "ironic.portgroup": _ironic("PortGroup", "portgroups"),
    "magnum.cluster_template": Kind(
        "ClusterTemplate", "container-infra", "/clustertemplates", ("uuid", "name"), "uuid"
    ),
    "manila.share_network": Kind("ShareNetwork", "shared-file-system", "/share-networks/detail"),
    "manila.share_snapshot": Kind("ShareSnapshot", "shared-file-system", "/snapshots/detail"),
    "manila.share_type": Kind("ShareType", "shared-file-system", "/types?is_public=all"),
    "mistral.workflow": Kind("Workflow", "workflow", "/workflows"),
    "trove.flavor": Kind("Flavor", "database", "/flavors", ("str_id", "name"), "str_id"),
}


class Names:
    """Finds objects by name or id for one request. Lists each kind of object at most once."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._listed: dict[str, asyncio.Task[list[Body]]] = {}
        self._found: dict[tuple[str, str], str] = {}

    def begin(self, kinds: Iterable[str]) -> None:
        """Start the list calls of these kinds, without waiting for the answers."""
        for kind in kinds:
            if kind in KINDS and not KINDS[kind].alone:
                self._listing(kind, KINDS[kind])

    async def id_of(self, kind: str, value: str, at: Span | None = None) -> str | Problem:
        """Return the id of the object of type `kind` whose name or id is `value`.

        Returns a Problem, with the place `at`, if there is no such object, if there are several, or
        if the cloud lacks the service. Returns `value` unchanged if the type is not in KINDS or if
        the user may not list the objects. Raises CloudFault.
        """
        entity = KINDS.get(kind)
        if entity is None:
            return value
        if (before := self._found.get((kind, value))) is not None:
            return before
        if entity.alone:
            return await self._existing_id(kind, entity, value, at)
        try:
            members = await self._members(kind, entity)
        except CloudFault as fault:
            if fault.status == 403:
                return value  # who may not list may still name an id
            if isinstance(fault, NoService):
                message = f"{kind} {value}: this cloud has no {entity.service} service"
                return StackValidationFailed(at, message, PREFIX)
            raise
        for field in entity.matches:
            matches = [m for m in members if m.get(field) == value]
            if len(matches) > 1:
                matches = await self._of_project(matches)
            if len(matches) == 1:
                ident = self._found[kind, value] = str(matches[0][entity.gives])
                return ident
            if matches:
                objects = f"{len(matches)} objects of type {entity.label}"
                message = f"{objects} have the name {value}; use an id."
                return StackValidationFailed(at, message, PREFIX)
        return _missing(entity, value, at, [str(m["name"]) for m in members if m.get("name")])

    async def _existing_id(
        self, kind: str, entity: Kind, value: str, at: Span | None
    ) -> str | Problem:
        ident = value.rstrip("/").rpartition("/")[2]
        try:
            path = f"{entity.path}/{segment(ident)}"
            await self._cloud.request(entity.service, "GET", path)
        except CloudFault as fault:
            if isinstance(fault, NotFound):
                return _missing(entity, value, at)
            if fault.status != 403:
                raise
        self._found[kind, value] = value
        return value

    async def _of_project(self, members: list[Body]) -> list[Body]:
        project = (await self._cloud.whoami()).project_id
        own_members = [m for m in members if project in (m.get("project_id"), m.get("tenant_id"))]
        return own_members or members

    async def _members(self, kind: str, entity: Kind) -> list[Body]:
        return await asyncio.shield(self._listing(kind, entity))

    def _listing(self, kind: str, entity: Kind) -> asyncio.Task[list[Body]]:
        if kind not in self._listed:
            task = self._listed[kind] = asyncio.create_task(self._list(entity))
            task.add_done_callback(_retrieve_exception)
        return self._listed[kind]

    async def _list(self, entity: Kind) -> list[Body]:
        members = await self._cloud.listing(
            entity.service, entity.path, microversion=entity.microversion
        )
        return [m[entity.inner] for m in members] if entity.inner else list(members)


def _missing(
    entity: Kind, value: str, at: Span | None, names: Sequence[str] | None = None
) -> Problem:
    """Return the problem that an object is not found. `names` are those of the objects that the
    caller can see; None if they are unknown.
    """
    message = f"The {entity.label} ({value}) could not be found."
    if names is not None:
        near = nearest(value, names, SIMILAR)
        message += f" Did you mean {near}?" if near else _among(names)
    return StackValidationFailed(at, message, PREFIX)


def _among(names: Sequence[str]) -> str:
    """Return a sentence with the first names of a list."""
    known_names = sorted(set(names))
    if not known_names:
        return " There is none."
    suffix = f" and {len(known_names) - NAMES_SHOWN} more" if len(known_names) > NAMES_SHOWN else ""
    return f" Known: {', '.join(known_names[:NAMES_SHOWN])}{suffix}."


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of a list call, so that asyncio does not warn if nobody awaits the
    task.
    """
    if not task.cancelled():
        task.exception()


async def check_constraints(
    checks: Iterable[tuple[str, Any, Span | None]], cloud: Cloud, names: Names | None = None
) -> list[Problem]:
    """Check values against named constraints and return the violations.

    Each item of `checks` is (constraint, value, place in the template); null values are skipped.
    `names` may contain lists that were fetched before. Raises CloudFault.
    """
    names = names or Names(cloud)
    problems: list[Problem] = []
    checks = [check for check in checks if check[1] is not None]
    names.begin({kind for kind, value, _ in checks if kind not in CHECKS and value != ""})
    for constraint, value, at in checks:
        if value == "" and constraint in EMPTY_ALLOWED:
            continue
        if constraint in CHECKS:
            if (message := wrong_value(constraint, value)) is not None:
                problems.append(StackValidationFailed(at, message, PREFIX))
            continue
        if (message := unknown_constraint(constraint)) is not None:
            problems.append(StackValidationFailed(at, f'"{value}": {message}', PREFIX))
            continue
        if value == "":  # what has no name would be found under it
            outcome: str | Problem = _missing(KINDS[constraint], value, at)
        else:
            outcome = await names.id_of(constraint, str(value), at)
        if isinstance(outcome, Problem):
            problems.append(outcome)
    return problems
