"""What others do to the objects of a stack, in the cloud, without the knowledge of Hearth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.second_steps.operations import of_group
from tests.second_steps.watch import until

if TYPE_CHECKING:
    from tests.second_steps.stack import Stack

GONE_S = 30
STUCK = {"error_deleting": "error", "error_extending": "available"}
"""States of volumes and shares that only an operator ends, and what the operator sets instead."""
BALANCERS, POOLS = "/v2/lbaas/loadbalancers", "/v2/lbaas/pools"
ATTACHMENTS = ("AWS::EC2::VolumeAttachment", "OS::Cinder::VolumeAttachment")


def act_on_server(stack: Stack, ident: str | None, action: Mapping[str, Any]) -> None:
    """Call an action of the server as an administrator; it may be gone."""
    answer = _call(stack, "POST", "compute", f"/servers/{ident}/action", dict(action))
    assert answer.status_code in (200, 202, 404), answer.text


def _call(stack: Stack, method: str, service: str, path: str, body: Any = None) -> Any:
    """Call a service as an administrator.

    Not by a proxy of the SDK: it warns about itself, and warnings of threads cannot be caught.
    """
    session = stack.place.connections["admin"].session
    where = {"service_type": service, "interface": "public"}
    return session.request(path, method, endpoint_filter=where, json=body, raise_exc=False)


def end_trusts(stack: Stack) -> None:
    """Let Keystone lose the trusts of the stack."""
    for ident in stack.account.trusts():
        stack.place.admin("DELETE", f"objects/{ident}")


def harm(stack: Stack, ident: str | None, *, gone: bool) -> None:
    """Delete the object, or set it into an error state.

    Of a group, that is the object of its first member. A resource whose id is that of another
    resource's object has none of its own; only an attachment can be taken away.
    """
    if ident is not None and of_group(stack.one):
        members = stack.members(ident)
        ident = members[min(members)] if members else None
    if not ident:
        return
    short = ident.rpartition("/")[2]
    if short in stack.idents(others=True):
        if gone and stack.one.type_name in ATTACHMENTS:
            _detach(stack, short)
        return
    things = stack.place.admin("GET", f"objects?named={short}")["objects"]
    if gone:
        _delete(stack, short, {thing["table"] for thing in things})
        return
    for thing in things:
        for key in ("status", "provisioning_status"):
            if key in thing["body"]:
                error = _in_style("ERROR", str(thing["body"][key]))
                _set(stack, thing, {key: error})


def reset_stuck_objects(stack: Stack) -> None:
    """Set the state of volumes and shares whose delete or extension failed, as the operator must:
    only that state prevents another one."""
    if not any(state in step.lower() for step in stack.steps for state in STUCK):
        return
    ours = {entry.rpartition(" ")[2] for entry in stack.account.left()}
    for table in ("volume.volumes", "shared-file-system.shares"):
        for thing in stack.place.admin("GET", f"objects?table={table}")["objects"]:
            if thing["id"] in ours and (state := STUCK.get(thing["body"]["status"])):
                _set(stack, thing, {"status": state})


def _delete(stack: Stack, ident: str, tables: set[str]) -> None:
    """Delete an object; a server or load balancer as its owner does, so that its parts go too."""
    for table, service, path, query in (
        ("compute.servers", "compute", f"/servers/{ident}", ""),
        ("load-balancer.loadbalancers", "load-balancer", f"{BALANCERS}/{ident}", "?cascade=true"),
        ("load-balancer.pools", "load-balancer", f"{POOLS}/{ident}", ""),
    ):
        if table in tables:
            _delete_at(stack, service, path, query)
            return
    for port in stack.place.admin("GET", "objects?table=network.ports")["objects"]:
        if (port["body"]["device_id"] or "").endswith(ident):
            stack.place.admin("DELETE", f"objects/{port['id']}")
    stack.place.admin("DELETE", f"objects/{ident}")


def _delete_at(stack: Stack, service: str, path: str, query: str) -> None:
    def gone() -> bool:
        _call(stack, "DELETE", service, path + query)  # refused while another change is under way
        return bool(_call(stack, "GET", service, path).status_code == 404)

    until(gone, GONE_S)


def _detach(stack: Stack, volume: str) -> None:
    """Detach a volume from its servers."""

    def attachments() -> Any:
        return _call(stack, "GET", "block-storage", f"/volumes/{volume}").json()["volume"][
            "attachments"
        ]

    for one in attachments():
        path = f"/servers/{one['server_id']}/os-volume_attachments/{volume}"
        _call(stack, "DELETE", "compute", path)
    until(lambda: attachments() == [], GONE_S)


def _set(stack: Stack, thing: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    change = {"table": thing["table"], "id": thing["id"], "body": dict(body)}
    stack.place.admin("PATCH", "objects", change)


def _in_style(word: str, other: str) -> str:
    """Write a word as the service writes another one: in capitals, small or with one capital."""
    for style in (str.upper, str.lower, str.capitalize):
        if style(other) == other:
            return style(word)
    return word
