"""OS::Octavia::Pool, its members and its health monitor."""

from collections.abc import Sequence

from hearth.resources.octavia.base import OctaviaResource, lbaas
from hearth.resources.properties import ADMIN_STATE_UP, DESCRIPTION, NAME, TENANT_ID
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtLeastOne,
    Attr,
    Each,
    OnlyFor,
    Prop,
    Range,
    RequiredFor,
    Resolve,
    Rule,
    Support,
)


class Pool(OctaviaResource):
    """Servers among which a load balancer distributes requests."""

    type_name = "OS::Octavia::Pool"
    support = Support(version="10.0.0")
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "description": DESCRIPTION,
        "lb_algorithm": Prop(
            STRING,
            "Load-balancing algorithm.",
            required=True,
            update_allowed=True,
            constraints=(
                AllowedValues(["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"]),
            ),
        ),
        "listener": Prop(
            STRING,
            "Listener whose default pool it becomes, by name or id.",
            constraint="octavia.listener",
        ),
        "loadbalancer": Prop(
            STRING, "Its load balancer, by name or id.", constraint="octavia.loadbalancer"
        ),
        "name": NAME,
        "protocol": Prop(
            STRING,
            "Protocol of the members.",
            required=True,
            constraints=(
                AllowedValues(["TCP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROXY", "UDP"]),
            ),
        ),
        "session_persistence": Prop(
            MAP,
            "How requests of one client reach the same member.",
            update_allowed=True,
            schema={
                "cookie_name": Prop(STRING, "Name of the cookie, for APP_COOKIE."),
                "type": Prop(
                    STRING,
                    "How requests of the same client are recognised.",
                    required=True,
                    constraints=(AllowedValues(["SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"]),),
                ),
            },
        ),
        "tls_enabled": Prop(
            BOOLEAN,
            "true: connections to members use TLS.",
            default=False,
            update_allowed=True,
            since="14.0.0",
        ),
    }
    attributes = {
        "healthmonitor_id": Attr(STRING, "Id of its health monitor."),
        "listeners": Attr(STRING, "The listeners that use it."),
        "members": Attr(LIST, "Its members.", cached=False),
    }
    translation = (
        Resolve(("listener",), "octavia.listener"),
        Resolve(("loadbalancer",), "octavia.loadbalancer"),
    )
    collection = lbaas("pools", "pool")
    renamed = {"listener": "listener_id", "loadbalancer": "loadbalancer_id"}
    relations = (
        AtLeastOne("loadbalancer", "listener"),
        Each(
            "session_persistence",
            RequiredFor("cookie_name", "type", "APP_COOKIE"),
            OnlyFor("cookie_name", "type", "APP_COOKIE"),
        ),
    )


class PoolMember(OctaviaResource):
    """A server in a pool."""

    type_name = "OS::Octavia::PoolMember"
    support = Support(version="10.0.0")
    properties = {
        "address": Prop(STRING, "Its address.", required=True, constraint="ip_addr"),
        "admin_state_up": ADMIN_STATE_UP,
        "monitor_address": Prop(
            STRING,
            "Address for the health monitor; that of the member when not given.",
            constraint="ip_addr",
        ),
        "monitor_port": Prop(
            INTEGER,
            "Port for the health monitor; that of the member when not given.",
            constraints=(Range(min=1, max=65535),),
        ),
        "pool": Prop(STRING, "Its pool, by name or id.", required=True, constraint="octavia.pool"),
        "protocol_port": Prop(
            INTEGER,
            "Port of the member.",
            required=True,
            constraints=(Range(min=1, max=65535),),
        ),
        "subnet": Prop(STRING, "Subnet of the member, by name or id.", constraint="neutron.subnet"),
        "tags": Prop(
            LIST, "Tags: arbitrary words for filtering.", update_allowed=True, since="13.0.0"
        ),
        "weight": Prop(
            INTEGER,
            "Weight: its share of the requests, relative to other members.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=0, max=256),),
        ),
    }
    translation: Sequence[Rule] = (
        Resolve(("subnet",), "neutron.subnet"),
        Resolve(("pool",), "octavia.pool"),
    )
    collection = lbaas("pools/{pool}/members", "member")
    not_sent = frozenset({"pool"})
    renamed = {"subnet": "subnet_id"}


class HealthMonitor(OctaviaResource):
    """A check that tests the members of a pool regularly."""

    type_name = "OS::Octavia::HealthMonitor"
    support = Support(version="10.0.0")
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "delay": Prop(
            INTEGER,
            "Seconds between two checks.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "expected_codes": Prop(
            STRING,
            "HTTP status codes of a healthy member, such as 200, 200,202 or 200-204.",
            update_allowed=True,
        ),
        "http_method": Prop(
            STRING,
            "HTTP method of a check.",
            update_allowed=True,
            constraints=(
                AllowedValues(
                    ["GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH"]
                ),
            ),
        ),
        "max_retries": Prop(
            INTEGER,
            "Number of successful checks until a member is healthy.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=1, max=10),),
        ),
        "pool": Prop(STRING, "The pool, by name or id.", required=True, constraint="octavia.pool"),
        "tenant_id": TENANT_ID,
        "timeout": Prop(
            INTEGER,
            "Seconds until a check fails; less than the delay.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "type": Prop(
            STRING,
            "Type of the checks.",
            required=True,
            constraints=(AllowedValues(["PING", "TCP", "HTTP", "HTTPS", "UDP-CONNECT"]),),
        ),
        "url_path": Prop(STRING, "URL path of a check.", update_allowed=True),
    }
    attributes = {
        "pools": Attr(LIST, "The pool, as a list."),
    }
    translation = (Resolve(("pool",), "octavia.pool"),)
    collection = lbaas("healthmonitors", "healthmonitor")
    renamed = {"pool": "pool_id", "tenant_id": "project_id"}
