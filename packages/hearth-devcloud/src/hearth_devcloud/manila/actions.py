"""Actions on shares: access rules, and changes of the size.

A new access rule is queued, then applied, and at last active. It gets the state error if the
protocol of the share does not support its type.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from hearth_devcloud.http import Actions, Body, Call, Cloud, Reply, Route
from hearth_devcloud.manila import quotas
from hearth_devcloud.manila.base import (
    PATH,
    RULES,
    SHARES,
    SNAPSHOTS,
    TEXT,
    action_of,
    admin_only,
    bad,
    find,
    missing,
)
from hearth_devcloud.manila.shares import own
from hearth_devcloud.microversion import Since
from hearth_devcloud.store import Resource, stamp_micro

_SUPPORTED = {
    "NFS": ("ip",),
    "CIFS": ("ip", "user"),
    "GLUSTERFS": ("ip", "cert"),
    "HDFS": ("ip", "user"),
    "CEPHFS": ("cephx",),
    "MAPRFS": ("user",),
}
_STATUSES = (
    "creating",
    "available",
    "deleting",
    "error",
    "error_deleting",
    "migrating",
    "inactive",
)
_USER = re.compile(r"^[^\"/\\\[\]:;|=,+*?<>]{4,255}$")


def _check(call: Call, arguments: Body) -> None:
    """Check the arguments of allow_access. Raises Refusal 400."""
    names = {"access_type", "access_to", "access_level"}
    names |= {"metadata"} if call.version >= (2, 45) else set()
    if arguments.keys() - names:
        raise bad(f"Additional properties are not allowed: {sorted(arguments.keys() - names)}")
    kind, target = arguments.get("access_type"), arguments.get("access_to")
    if not isinstance(kind, str) or not isinstance(target, str):
        raise bad("access_type and access_to are required, and must be strings")
    if arguments.get("access_level") not in (None, "rw", "ro"):
        raise bad(f"Invalid share access level: {arguments['access_level']}.")
    match kind:
        case "ip":
            network = ipaddress.ip_network if call.version >= (2, 38) else ipaddress.IPv4Network
            try:
                network(target)
            except ValueError as error:
                raise bad(str(error)) from None
        case "user":
            if not _USER.match(target) or not target.strip(" ."):
                raise bad("Invalid user or group name. Must be 4-255 characters.")
        case "cert":
            if not 0 < len(target) <= 64:
                raise bad("Invalid CN (common name). Must be 1-64 chars long.")
        case "cephx" if call.version >= (2, 13):
            if not target or not target.isascii() or not target.isprintable() or "." in target:
                raise bad("Ceph IDs must consist of ASCII printable characters without periods.")
        case _:
            raise bad("Only ip, user, cert or cephx access types are supported.")


def _rule(call: Call, rule: Resource, *, alone: bool) -> Body:
    """Return an access rule in the format of the API; `alone` is whether it is not in a list."""
    body = rule.body
    names = ["id", "access_type", "access_to", "access_level", "state"]
    names += ["share_id"] if alone else []
    view: Body = {name: body[name] for name in names}
    if call.version < (2, 28) and body["state"] in ("queued_to_apply", "applying"):
        view["state"] = "new"
    if call.version >= (2, 21):
        view["access_key"] = body["access_key"]
    if call.version >= (2, 33):
        view |= {name: body[name] for name in ("created_at", "updated_at")}
    if call.version >= (2, 45):
        view["metadata"] = body["metadata"]
    return view


def _allow(call: Call, share: Resource, arguments: Body) -> Reply:
    """Add an access rule to an available share."""
    _check(call, arguments)
    store = call.cloud.store
    if share.body["status"] != "available":
        message = f"status {share.body['status']}. It must be available."
        raise bad(f"New access rules cannot be applied while the share has the {message}")
    kind, target = arguments["access_type"], arguments["access_to"]
    if store.where(RULES, share_id=share.id, access_type=kind, access_to=target):
        raise bad(f"Share access {kind}:{target} exists.")
    body: Body = {
        "id": store.new_id(),
        "share_id": share.id,
        "access_type": kind,
        "access_to": target,
        "access_level": arguments.get("access_level") or "rw",
        "access_key": store.new_secret() if kind == "cephx" else None,
        "state": "queued_to_apply",
        "metadata": arguments.get("metadata") or {},
        "created_at": stamp_micro(store.time),
        "updated_at": None,
    }
    hidden = {"fails": call.effects.error}
    rule = store.insert(Resource(body["id"], RULES, share.project_id, body, hidden), implicit=True)
    reply = Reply(200, {"access": _rule(call, rule, alone=True)})
    share.body["access_rules_status"] = "syncing"
    store.later(call.effects.slow_s or 0, rule, "share.allowed")
    return reply


def allowed(cloud: Cloud, rule: Resource) -> None:
    """Complete the application of an access rule."""
    share = cloud.store.table(SHARES)[rule.body["share_id"]]
    if rule.body["state"] == "queued_to_deny":
        return
    fits = rule.body["access_type"] in _SUPPORTED[share.body["share_proto"]]
    rule.body["state"] = "active" if fits and not rule.hidden.pop("fails", False) else "error"
    rule.body["updated_at"] = stamp_micro(cloud.store.time)
    _sum_up(cloud, share)


def _deny(call: Call, share: Resource, arguments: Body) -> Reply:
    """Remove an access rule; reply with status 202."""
    rule = call.cloud.store.get(RULES, arguments.get("access_id"))
    if rule is None or rule.body["share_id"] != share.id:
        raise missing("Share access rule", arguments.get("access_id"))
    rule.body["state"] = "queued_to_deny"
    share.body["access_rules_status"] = "syncing"
    call.cloud.store.later(call.effects.slow_s or 0, rule, "share.denied")
    return Reply(202, None, dict(TEXT))


def denied(cloud: Cloud, rule: Resource) -> None:
    """Complete the removal of an access rule."""
    cloud.store.remove(rule)
    _sum_up(cloud, cloud.store.table(SHARES)[rule.body["share_id"]])


def _sum_up(cloud: Cloud, share: Resource) -> None:
    states = {rule.body["state"] for rule in cloud.store.where(RULES, share_id=share.id)}
    status = "error" if "error" in states else "active" if states <= {"active"} else "syncing"
    share.body["access_rules_status"] = status


def _access_list(call: Call, share: Resource, arguments: Body) -> Reply:
    """List the access rules, before microversion 2.45."""
    if call.version >= (2, 45):
        raise missing("Action", "access_list")
    return _listed(call, share)


def _listed(call: Call, share: Resource) -> Reply:
    rules = call.cloud.store.where(RULES, share_id=share.id)
    return Reply(200, {"access_list": [_rule(call, rule, alone=False) for rule in rules]})


def rules(call: Call) -> Reply:
    """Handle GET /share-access-rules?share_id=ID: list the access rules of a share."""
    share_id = call.argument("share_id")
    if share_id is None:
        raise bad("The field 'share_id' has to be specified.")
    share = call.cloud.store.get(SHARES, share_id)
    caller = call.caller
    if share is None or not (caller.is_admin or share.project_id == caller.project_id):
        raise bad(f"Share {share_id} not found.")
    return _listed(call, share)


def rule_shown(call: Call) -> Reply:
    """Handle GET of an access rule."""
    return Reply(200, {"access": _rule(call, _own_rule(call), alone=True)})


def _own_rule(call: Call) -> Resource:
    return find(call, RULES, call.ids[0], "Share access rule")


def _resize(call: Call, share: Resource, arguments: Body, *, larger: bool) -> Reply:
    """Change the size of an available share; reply with status 202."""
    size, now = arguments.get("new_size"), share.body["size"]
    if isinstance(size, bool) or not isinstance(size, int | str) or not str(size).isdecimal():
        raise bad("New share size must be specified as an integer.")
    verb = "extend" if larger else "shrink"
    if share.body["status"] != "available":
        raise bad(f"Invalid share: status must be available to {verb} it.")
    if (int(size) <= now) if larger else not 0 < int(size) < now:
        side = "greater" if larger else "less"
        raise bad(f"Invalid input received: New size for {verb} must be {side} than {now}.")
    if larger:
        quotas.check(call.cloud, share.project_id or "", {"gigabytes": int(size) - now})
    share.body["status"] = f"{verb}ing"
    share.hidden |= {"new_size": int(size), "fails": call.effects.error}
    call.cloud.store.later(call.effects.slow_s or 0, share, "share.resized")
    return Reply(202, None, dict(TEXT))


def resized(cloud: Cloud, share: Resource) -> None:
    """Complete a change of a share's size."""
    size = share.hidden.pop("new_size")
    if share.hidden.pop("fails", False):
        share.body["status"] += "_error"
    else:
        share.body.update(status="available", size=size)


def _extend(call: Call, share: Resource, arguments: Body) -> Reply:
    return _resize(call, share, arguments, larger=True)


def _shrink(call: Call, share: Resource, arguments: Body) -> Reply:
    return _resize(call, share, arguments, larger=False)


def _reset_status(call: Call, share: Resource, arguments: Body) -> Reply:
    admin_only(call)
    if arguments.get("status") not in _STATUSES:
        raise bad(f"Invalid state. Valid states: {', '.join(_STATUSES)}.")
    share.body["status"] = arguments["status"]
    return Reply(202, None, dict(TEXT))


def _force_delete(call: Call, share: Resource, arguments: Body) -> Reply:
    admin_only(call)
    for snapshot in call.cloud.store.where(SNAPSHOTS, share_id=share.id):
        call.cloud.store.remove(snapshot)
    share.body["status"] = "deleting"
    call.cloud.store.later(0, share, "share.gone")
    return Reply(202, None, dict(TEXT))


_ACTIONS: dict[str, Callable[[Call, Resource, Body], Reply]] = {
    "allow_access": _allow,
    "deny_access": _deny,
    "access_list": _access_list,
    "extend": _extend,
    "shrink": _shrink,
    "reset_status": _reset_status,
    "force_delete": _force_delete,
}


def act(call: Call) -> Reply:
    """Handle POST of an action on a share."""
    share = own(call)
    prefix = "os-" if call.version < (2, 7) else ""
    name, arguments = action_of(call, [prefix + action for action in _ACTIONS])
    return _ACTIONS[name.removeprefix("os-")](call, share, arguments)


_RULES = PATH + "/share-access-rules"
ROUTES: list[Route] = [
    (
        "POST",
        PATH + "/shares/{}/action",
        Actions((*_ACTIONS, *(f"os-{name}" for name in _ACTIONS)), act),
    ),
    ("GET", _RULES, Since((2, 45), rules)),
    ("GET", _RULES + "/{}", Since((2, 45), rule_shown)),
]
