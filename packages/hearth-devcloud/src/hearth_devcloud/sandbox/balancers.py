"""HAProxy configurations for the load balancers in the store.

Each listener becomes an HAProxy frontend with a separate backend for its pool, because frontend and
backend must have the same mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hearth_devcloud import tables
from hearth_devcloud.octavia import tree
from hearth_devcloud.store import Body, Resource, Store

MODES = {"HTTP": "http", "TCP": "tcp", "HTTPS": "tcp"}
"""The HAProxy mode by the protocol of a listener. Other protocols are not supported."""

_BALANCE = {
    "ROUND_ROBIN": "roundrobin",
    "LEAST_CONNECTIONS": "leastconn",
    "SOURCE_IP": "source",
    "SOURCE_IP_PORT": "source",
}
_PROXIED = {"PROXY": " send-proxy", "PROXYV2": " send-proxy-v2"}
_CHECKED = {"HTTP", "HTTPS", "TCP", "TLS-HELLO"}
_HEADERS = {
    "X-Forwarded-For": "option forwardfor",
    "X-Forwarded-Port": "http-request set-header X-Forwarded-Port %[dst_port]",
    "X-Forwarded-Proto": "http-request set-header X-Forwarded-Proto http",
}
_CODES = re.compile(r"\d{3}([-,]\d{3})*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_STICKY_S = 1800  # for which a client's address or cookie is remembered after its last request


def served(store: Store) -> list[Resource]:
    """Return the load balancers that need an HAProxy process.

    They are enabled and have a VIP port and at least one supported listener.
    """
    return [
        balancer
        for balancer in store.all(tree.BALANCERS.table)
        if balancer.body["admin_state_up"]
        and balancer.body["provisioning_status"] != "PENDING_DELETE"
        and store.get(tables.PORTS, balancer.body["vip_port_id"]) is not None
        and any(_listeners(store, balancer))
    ]


def configuration(store: Store, balancer: Resource) -> str:
    """Return the HAProxy configuration for a load balancer, without the section `global`."""
    parts = []
    for listener in _listeners(store, balancer):
        pool = _there(store.get(tree.POOLS.table, listener.body["default_pool_id"]))
        parts.append(_frontend(balancer, listener, pool))
        if pool is not None:
            parts.append(_backend(store, listener, pool))
    return "\n".join("\n  ".join(lines) + "\n" for lines in parts)


def members(store: Store, pool: Resource) -> list[Resource]:
    """Return the members of a pool sorted by id, without those that are being deleted."""
    pool_members = (
        member for member in store.all(tree.MEMBERS.table) if member.hidden["parent"] == pool.id
    )
    return sorted(
        (member for member in pool_members if _there(member)), key=lambda member: member.id
    )


def _listeners(store: Store, balancer: Resource) -> Iterator[Resource]:
    listeners = store.where(tree.LISTENERS.table, loadbalancer_id=balancer.id)
    for listener in sorted(listeners, key=lambda listener: str(listener.id)):
        if (
            listener.body["admin_state_up"]
            and listener.body["protocol"] in MODES
            and _there(listener)
        ):
            yield listener


def _there(part: Resource | None) -> Resource | None:
    """Return the given part of a load balancer, or None if it is None or being deleted."""
    going = part is not None and part.body["provisioning_status"] == "PENDING_DELETE"
    return None if going else part


def _frontend(balancer: Resource, listener: Resource, pool: Resource | None) -> list[str]:
    body = listener.body
    lines = [
        f"frontend {listener.id}",
        f"mode {MODES[body['protocol']]}",
        f"bind {balancer.body['vip_address']}:{body['protocol_port']}",
        f"timeout client {body['timeout_client_data']}ms",
    ]
    if body["connection_limit"] > 0:
        lines.append(f"maxconn {body['connection_limit']}")
    if body["allowed_cidrs"]:
        cidrs = " ".join(map(_word, body["allowed_cidrs"]))
        lines.append(f"tcp-request connection reject unless {{ src {cidrs} }}")
    if MODES[body["protocol"]] == "http":
        headers = [name for name, value in body["insert_headers"].items() if _true(value)]
        lines += [_HEADERS[name] for name in headers if name in _HEADERS]
    if pool is not None:
        lines.append(f"default_backend {pool.id}:{listener.id}")
    return lines


def _true(value: object) -> bool:
    return str(value).lower() == "true"


def _backend(store: Store, listener: Resource, pool: Resource) -> list[str]:
    lines = [
        f"backend {pool.id}:{listener.id}",
        f"mode {MODES[listener.body['protocol']]}",
        f"balance {_BALANCE[pool.body['lb_algorithm']]}",
        f"timeout connect {listener.body['timeout_member_connect']}ms",
        f"timeout server {listener.body['timeout_member_data']}ms",
        "option redispatch",
        *_persistence(pool.body["session_persistence"]),
    ]
    monitor = next(
        (
            monitor.body
            for monitor in store.where(tree.MONITORS.table, pool_id=pool.id)
            if _there(monitor)
            and monitor.body["admin_state_up"]
            and monitor.body["type"] in _CHECKED
        ),
        None,
    )
    if monitor is not None:
        lines += _check(monitor)
    if not pool.body["admin_state_up"]:
        return lines
    return lines + [_server(pool.body, member, monitor) for member in members(store, pool)]


def _persistence(persistence: Body | None) -> Iterable[str]:
    match persistence["type"] if persistence else None:
        case "SOURCE_IP":
            return [f"stick-table type ip size 10k expire {_STICKY_S}s", "stick on src"]
        case "HTTP_COOKIE":
            return ["cookie SRV insert indirect nocache"]
        case "APP_COOKIE":
            assert persistence is not None
            name = re.sub(r"[^\w.-]", "", persistence["cookie_name"])
            return [
                f"stick-table type string len 64 size 10k expire {_STICKY_S}s",
                f"stick store-response res.cook({name})",
                f"stick match req.cook({name})",
            ]
    return []


def _check(monitor: Body) -> list[str]:
    lines = [f"timeout check {max(1, monitor['timeout'])}s"]
    if monitor["type"] == "TLS-HELLO":
        lines.append("option ssl-hello-chk")
    elif monitor["type"] in ("HTTP", "HTTPS"):
        codes = str(monitor["expected_codes"] or "").replace(" ", "")
        host = str(monitor["domain_name"] or "").replace("%", "%%")
        version = f"HTTP/{monitor['http_version'] or '1.0'}"
        send = f"meth {_word(monitor['http_method'])} uri {_word(monitor['url_path'])}"
        send += f" ver {_word(version)}" + (f" hdr Host {_word(host)}" if host else "")
        lines += [
            "option httpchk",
            f"http-check send {send}",
            f"http-check expect status {codes if _CODES.fullmatch(codes) else '200'}",
        ]
    return lines


def _server(pool: Body, member: Resource, monitor: Body | None) -> str:
    body = member.body
    line = f"server {member.id} {_host(body['address'])}:{body['protocol_port']}"
    line += f" weight {body['weight']}" + _PROXIED.get(pool["protocol"], "")
    if monitor is not None:
        line += (
            f" check inter {max(1, monitor['delay'])}s"
            f" fall {monitor['max_retries_down']} rise {monitor['max_retries']}"
        )
        line += " check-ssl verify none" if monitor["type"] == "HTTPS" else ""
        line += f" addr {body['monitor_address']}" if body["monitor_address"] else ""
        line += f" port {body['monitor_port']}" if body["monitor_port"] else ""
    line += " backup" if body["backup"] else ""
    if (pool["session_persistence"] or {}).get("type") == "HTTP_COOKIE":
        line += f" cookie {member.id}"
    return line + ("" if body["admin_state_up"] else " disabled")


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _word(text: object) -> str:
    """Return a text quoted as a single word of an HAProxy configuration."""
    plain = _CONTROL.sub("", str(text)).replace("'", "'\\''")
    return f"'{plain}'"
