"""The declarations of load balancers and their parts, and the changes of their status.

A load balancer and its parts are a tree, which accepts one change at a time.
"""

from __future__ import annotations

from typing import Any

from hearth_devcloud.collection import (
    Collection,
    Field,
    address,
    anything,
    boolean,
    integer,
    list_of,
    mapping,
    nullable,
    one_of,
    text,
)
from hearth_devcloud.http import Call, Cloud, Refusal
from hearth_devcloud.store import Resource, stamp_z

_ID = text(36)


def persistence(value: Any) -> Any:
    """Check the session persistence of a pool and return it. Raises ValueError."""
    if not isinstance(value, dict) or value.keys() - {"type", "cookie_name", *_PERSISTENCE_TIMES}:
        raise ValueError(
            f"expected an object with the fields of a session persistence, got {value!r}"
        )
    if value.get("type") not in ("SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"):
        raise ValueError("type must be SOURCE_IP, HTTP_COOKIE or APP_COOKIE")
    if (value["type"] == "APP_COOKIE") != bool(value.get("cookie_name")):
        raise ValueError("cookie_name is required for APP_COOKIE and not allowed for other types")
    fields = dict.fromkeys(("cookie_name", *_PERSISTENCE_TIMES))
    return {"type": None, **fields, **value}


_PERSISTENCE_TIMES = ("persistence_timeout", "persistence_granularity")
_COMMON = {
    "name": Field(text(), default=""),
    "description": Field(text(), default=""),
    "admin_state_up": Field(boolean, default=True),
    "tags": Field(list_of(text()), default=list),
}
_OPTIONAL = Field(nullable(anything))
_PROTOCOLS = ("HTTP", "HTTPS", "TCP", "TERMINATED_HTTPS", "UDP", "SCTP", "PROMETHEUS")

BALANCERS = Collection(
    "load-balancer",
    "loadbalancers",
    "loadbalancer",
    {
        **_COMMON,
        "vip_address": Field(nullable(address), update=False),
        "vip_port_id": Field(nullable(_ID), update=False),
        "vip_subnet_id": Field(nullable(_ID), update=False),
        "vip_network_id": Field(nullable(_ID), update=False),
        "vip_sg_ids": Field(list_of(null=True), default=list),
        "additional_vips": Field(list_of(mapping), default=list, update=False),
        "provider": Field(nullable(text()), default="amphora", update=False),
        "flavor_id": Field(nullable(_ID), update=False),
        "vip_qos_policy_id": Field(nullable(_ID)),
        "availability_zone": Field(nullable(text()), update=False),
    },
)
LISTENERS = Collection(
    "load-balancer",
    "listeners",
    "listener",
    {
        **_COMMON,
        "loadbalancer_id": Field(_ID, required=True, update=False),
        "protocol": Field(one_of(*_PROTOCOLS), required=True, update=False),
        "protocol_port": Field(integer(1, 65535), required=True, update=False),
        "connection_limit": Field(integer(-1), default=-1),
        "default_pool_id": Field(nullable(_ID)),
        "default_tls_container_ref": _OPTIONAL,
        "sni_container_refs": Field(list_of(null=True), default=list),
        "insert_headers": Field(mapping, default=dict),
        "timeout_client_data": Field(integer(0), default=50000),
        "timeout_member_connect": Field(integer(0), default=5000),
        "timeout_member_data": Field(integer(0), default=50000),
        "timeout_tcp_inspect": Field(integer(0), default=0),
        "client_ca_tls_container_ref": _OPTIONAL,
        "client_authentication": Field(text(), default="NONE"),
        "client_crl_container_ref": _OPTIONAL,
        "allowed_cidrs": _OPTIONAL,
        "tls_ciphers": _OPTIONAL,
        "tls_versions": _OPTIONAL,
        "alpn_protocols": _OPTIONAL,
        "hsts_max_age": _OPTIONAL,
        "hsts_include_subdomains": Field(boolean, default=False),
        "hsts_preload": Field(boolean, default=False),
    },
)
POOLS = Collection(
    "load-balancer",
    "pools",
    "pool",
    {
        **_COMMON,
        "loadbalancer_id": Field(nullable(_ID), update=False),
        "listener_id": Field(nullable(_ID), update=False),
        "protocol": Field(
            one_of("HTTP", "HTTPS", "TCP", "PROXY", "PROXYV2", "UDP", "SCTP"),
            required=True,
            update=False,
        ),
        "lb_algorithm": Field(
            one_of("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
            required=True,
        ),
        "session_persistence": Field(nullable(persistence)),
        "tls_container_ref": _OPTIONAL,
        "ca_tls_container_ref": _OPTIONAL,
        "crl_container_ref": _OPTIONAL,
        "tls_enabled": Field(boolean, default=False),
        "tls_ciphers": _OPTIONAL,
        "tls_versions": _OPTIONAL,
        "alpn_protocols": _OPTIONAL,
    },
)
MEMBERS = Collection(
    "load-balancer",
    "members",
    "member",
    {
        key: value
        for key, value in {
            **_COMMON,
            "address": Field(address, required=True, update=False),
            "protocol_port": Field(integer(1, 65535), required=True, update=False),
            "weight": Field(integer(0, 256), default=1),
            "backup": Field(boolean, default=False),
            "subnet_id": Field(nullable(_ID), update=False),
            "monitor_address": Field(nullable(address)),
            "monitor_port": Field(integer(1, 65535, null=True)),
        }.items()
        if key != "description"
    },
)
MONITORS = Collection(
    "load-balancer",
    "healthmonitors",
    "healthmonitor",
    {
        "name": _COMMON["name"],
        "admin_state_up": _COMMON["admin_state_up"],
        "tags": _COMMON["tags"],
        "pool_id": Field(_ID, required=True, update=False),
        "type": Field(
            one_of("HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO", "UDP-CONNECT", "SCTP"),
            required=True,
            update=False,
        ),
        "delay": Field(integer(0), required=True),
        "timeout": Field(integer(0), required=True),
        "max_retries": Field(integer(1, 10), required=True),
        "max_retries_down": Field(integer(1, 10), default=3),
        "http_method": Field(nullable(text())),
        "url_path": Field(nullable(text())),
        "expected_codes": Field(nullable(text())),
        "http_version": _OPTIONAL,
        "domain_name": Field(nullable(text())),
    },
)
POLICIES = Collection(
    "load-balancer",
    "l7policies",
    "l7policy",
    {
        **_COMMON,
        "listener_id": Field(_ID, required=True, update=False),
        "action": Field(
            one_of("REJECT", "REDIRECT_TO_POOL", "REDIRECT_TO_URL", "REDIRECT_PREFIX"),
            required=True,
        ),
        "redirect_pool_id": Field(nullable(_ID)),
        "redirect_url": Field(nullable(text(1000))),
        "redirect_prefix": Field(nullable(text(1000))),
        "redirect_http_code": Field(integer(300, 399, null=True)),
        "position": Field(integer(1, 2147483647), default=2147483647),
    },
)
RULES = Collection(
    "load-balancer",
    "rules",
    "rule",
    {
        "admin_state_up": _COMMON["admin_state_up"],
        "tags": _COMMON["tags"],
        "type": Field(
            one_of(
                *("HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE"),
                *("SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT", "SSL_DN_FIELD"),
            ),
            required=True,
        ),
        "compare_type": Field(
            one_of("REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO"), required=True
        ),
        "key": Field(nullable(text())),
        "value": Field(text(), required=True),
        "invert": Field(boolean, default=False),
    },
)
_TABLES = tuple(kind.table for kind in (LISTENERS, POOLS, MEMBERS, MONITORS, POLICIES, RULES))


def below(cloud: Cloud, balancer_id: str) -> list[Resource]:
    """Return all listeners, pools, members and other parts of a load balancer."""
    return [
        part
        for table in _TABLES
        for part in cloud.store.table(table).values()
        if part.hidden["balancer"] == balancer_id
    ]


def mutable(balancer: Resource) -> None:
    """Raise Refusal 409 unless the provisioning status of the load balancer is ACTIVE."""
    if balancer.body["provisioning_status"] != "ACTIVE":
        text_ = f"Load Balancer {balancer.id} is immutable and cannot be updated."
        raise Refusal(409, message=text_)


def change(call: Call, balancer: Resource, part: Resource, status: str) -> None:
    """Start a change of a part, after checking with `mutable` that it is possible."""
    mutable(balancer)
    pending(call, balancer, part, status)


def pending(call: Call, balancer: Resource, part: Resource, status: str) -> None:
    """Set the status of a part, and PENDING_UPDATE for its load balancer.

    The end of the change is scheduled.
    """
    balancer.body["provisioning_status"] = "PENDING_UPDATE"
    part.body["provisioning_status"] = status
    balancer.hidden["fails"] = part.id if call.effects.error else None
    call.cloud.store.later(call.effects.slow_s or 0, balancer, "load-balancer.done")


def done(cloud: Cloud, balancer: Resource) -> None:
    """Complete the pending changes of a load balancer: set ACTIVE or ERROR, or remove parts."""
    now = stamp_z(cloud.store.time).rstrip("Z")
    fails = balancer.hidden.get("fails")
    for part in [*below(cloud, balancer.id), balancer]:
        status = part.body["provisioning_status"]
        if status == "PENDING_DELETE":
            cloud.store.remove(part)
        elif status.startswith("PENDING"):
            part.body["provisioning_status"] = "ERROR" if fails == part.id else "ACTIVE"
            part.body["updated_at"] = now
