"""OS::Octavia::LoadBalancer and OS::Octavia::Listener."""

from collections.abc import Sequence

from hearth.resources.octavia.base import OctaviaResource, lbaas
from hearth.resources.properties import ADMIN_STATE_UP, DESCRIPTION, NAME, TENANT_ID
from hearth.schema import (
    INTEGER,
    LIST,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Range,
    Relation,
    RequiredFor,
    Resolve,
    Rule,
    Support,
)


class LoadBalancer(OctaviaResource):
    """One address for several servers."""

    type_name = "OS::Octavia::LoadBalancer"
    support = Support(version="10.0.0")
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "availability_zone": Prop(
            STRING,
            "Availability zone of the load-balancing service.",
            constraint="octavia.availabilityzone",
            since="17.0.0",
        ),
        "description": DESCRIPTION,
        "flavor": Prop(
            STRING,
            "Load-balancer flavor, by name or id.",
            constraint="octavia.flavor",
            since="14.0.0",
        ),
        "name": NAME,
        "provider": Prop(STRING, "Provider of the load balancer."),
        "tenant_id": Prop(
            STRING,
            "The project it belongs to; only administrators may choose another project.",
            constraint="keystone.project",
        ),
        "vip_address": Prop(
            STRING,
            "The address; the service chooses one from the subnet when not given.",
            constraint="ip_addr",
        ),
        "vip_subnet": Prop(
            STRING,
            "Subnet of the address, by name or id.",
            required=True,
            constraint="neutron.subnet",
        ),
    }
    attributes = {
        "flavor_id": Attr(STRING, "Id of its flavor."),
        "pools": Attr(LIST, "Its pools."),
        "vip_address": Attr(STRING, "The address."),
        "vip_port_id": Attr(STRING, "Id of the port that has the address."),
        "vip_subnet_id": Attr(STRING, "Id of the subnet of the address."),
    }
    translation: Sequence[Rule] = (
        Resolve(("vip_subnet",), "neutron.subnet"),
        Resolve(("flavor",), "octavia.flavor"),
    )
    collection = lbaas("loadbalancers", "loadbalancer")
    renamed = {"vip_subnet": "vip_subnet_id", "flavor": "flavor_id", "tenant_id": "project_id"}


class Listener(OctaviaResource):
    """A port on which a load balancer accepts connections."""

    type_name = "OS::Octavia::Listener"
    support = Support(version="10.0.0")
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "allowed_cidrs": Prop(
            LIST,
            "Networks that may connect, in CIDR notation; all when not given.",
            update_allowed=True,
            schema=Prop(STRING, constraint="net_cidr"),
            since="14.0.0",
        ),
        "connection_limit": Prop(
            INTEGER,
            "Maximum number of connections; -1 is no limit.",
            default=-1,
            update_allowed=True,
            constraints=(Range(min=-1),),
        ),
        "default_pool": Prop(
            STRING,
            "Pool for requests that match no policy, by name or id.",
            update_allowed=True,
            constraint="octavia.pool",
        ),
        "default_tls_container_ref": Prop(
            STRING,
            "URL of the secret with its certificate, for TERMINATED_HTTPS.",
            update_allowed=True,
        ),
        "description": DESCRIPTION,
        "loadbalancer": Prop(
            STRING,
            "Its load balancer, by name or id.",
            required=True,
            constraint="octavia.loadbalancer",
        ),
        "name": NAME,
        "protocol": Prop(
            STRING,
            "Protocol of the listener.",
            required=True,
            constraints=(
                AllowedValues(["TCP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROXY", "UDP"]),
            ),
        ),
        "protocol_port": Prop(
            INTEGER, "The port.", required=True, constraints=(Range(min=1, max=65535),)
        ),
        "sni_container_refs": Prop(
            LIST,
            "URLs of secrets with certificates for Server Name Indication (SNI).",
            update_allowed=True,
        ),
        "tenant_id": TENANT_ID,
    }
    attributes = {
        "default_pool_id": Attr(STRING, "Id of the pool for requests that match no policy."),
        "loadbalancers": Attr(LIST, "Its load balancers."),
    }
    translation = (
        Resolve(("loadbalancer",), "octavia.loadbalancer"),
        Resolve(("default_pool",), "octavia.pool"),
    )
    collection = lbaas("listeners", "listener")
    renamed = {
        "loadbalancer": "loadbalancer_id",
        "default_pool": "default_pool_id",
        "tenant_id": "project_id",
    }
    relations: Sequence[Relation] = (
        RequiredFor("default_tls_container_ref", "protocol", "TERMINATED_HTTPS"),
    )
