"""Volume transfers: a project offers a volume, and another project accepts it with a key."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.cinder import quotas
from hearth_devcloud.cinder.base import bad, find, links, mine, missing
from hearth_devcloud.cinder.volumes import touch
from hearth_devcloud.http import Body, Call, Handler, Reply, Route
from hearth_devcloud.listing import filtered, ordered, page
from hearth_devcloud.microversion import Since
from hearth_devcloud.store import Resource, stamp_micro

_TABLE = "volume.transfers"
_WITH_SNAPSHOTS = (3, 55)
_NAME_MAX = 255


def _brief(call: Call, transfer: Resource) -> Body:
    """Return a transfer as in the brief list and in the reply to its acceptance."""
    body = transfer.body
    return {
        "id": transfer.id,
        "volume_id": body["volume_id"],
        "name": body["name"],
        "links": links(call, call.segments[1], transfer.id),
    }


def _view(call: Call, transfer: Resource) -> Body:
    view = {**_brief(call, transfer), "created_at": transfer.body["created_at"]}
    if call.version >= _WITH_SNAPSHOTS:
        view["no_snapshots"] = transfer.body["no_snapshots"]
    if call.version >= (3, 57):
        view["source_project_id"] = transfer.project_id
        view |= {"destination_project_id": None, "accepted": False}
    return view


def create(call: Call) -> Reply:
    """Handle POST of a transfer: offer a volume; reply with its key, which nothing shows again."""
    attributes, store = call.object("transfer"), call.cloud.store
    names = {"volume_id", "name"} | ({"no_snapshots"} if call.version >= _WITH_SNAPSHOTS else set())
    if set(attributes) - names:
        raise bad(f"Additional properties are not allowed: {sorted(set(attributes) - names)}")
    if not isinstance(attributes.get("volume_id"), str):
        raise bad("'volume_id' is a required property")
    name = attributes.get("name")
    if name is not None and (not isinstance(name, str) or len(name) > _NAME_MAX):
        raise bad(
            f"Invalid input for field/attribute name: expected at most {_NAME_MAX} characters"
        )
    without_snapshots = attributes.get("no_snapshots", False)
    if not isinstance(without_snapshots, bool):
        raise bad("Invalid input for field/attribute no_snapshots: expected true or false")
    volume = find(call, "volumes", attributes["volume_id"], "Volume")
    if volume.body["status"] != "available":
        raise bad("Invalid volume: status must be available")
    snapshots = store.where(tables.VOLUME_SNAPSHOTS, volume_id=volume.id)
    if not without_snapshots and any(s.body["status"] != "available" for s in snapshots):
        raise bad("Invalid snapshot: status must be available")
    volume.body["status"] = "awaiting-transfer"
    touch(call.cloud, volume)
    body: Body = {
        "id": store.new_id(),
        "created_at": stamp_micro(store.time),
        "name": name.strip() if name is not None else None,
        "volume_id": volume.id,
        "no_snapshots": without_snapshots,
    }
    hidden = {"auth_key": store.new_secret(16)}
    transfer = store.insert(Resource(body["id"], _TABLE, volume.project_id, body, hidden))
    return Reply(202, {"transfer": {**_view(call, transfer), **hidden}})


def _listed(call: Call) -> tuple[list[Resource], Body]:
    """Return the transfers of the requested page, and the link to the next page."""
    ignore = frozenset({"limit", "marker", "sort", "sort_key", "sort_dir", "all_tenants", "offset"})
    matching = ordered(filtered(mine(call, "transfers"), call.query, ignore), call)
    transfers, has_next = page(matching, call, marker_status=404)
    if not has_next:
        return transfers, {}
    query = "&".join(p for p in call.raw_query.split("&") if not p.startswith("marker="))
    href = f"{call.base}/volume{call.path}?{query}&marker={transfers[-1].id}"
    return transfers, {"transfers_links": [{"rel": "next", "href": href}]}


def brief(call: Call) -> Reply:
    """Handle GET of the transfers in brief."""
    transfers, more = _listed(call)
    return Reply(200, {"transfers": [_brief(call, transfer) for transfer in transfers], **more})


def detail(call: Call) -> Reply:
    """Handle GET of the transfers with all fields."""
    transfers, more = _listed(call)
    return Reply(200, {"transfers": [_view(call, transfer) for transfer in transfers], **more})


def _own(call: Call) -> Resource:
    return find(call, "transfers", call.ids[0], "Transfer")


def show(call: Call) -> Reply:
    """Handle GET of a transfer."""
    return Reply(200, {"transfer": _view(call, _own(call))})


def accept(call: Call) -> Reply:
    """Handle POST accept: move the volume of a transfer to the caller's project.

    Its snapshots move too, unless the transfer is without them; then they remain where they are.
    """
    store, attributes, caller = call.cloud.store, call.object("accept"), call.caller
    transfer = store.get(_TABLE, call.ids[0])
    if transfer is None:
        raise missing("Transfer", call.ids[0])
    if attributes.get("auth_key") != transfer.hidden["auth_key"]:
        text = f"Attempt to transfer {transfer.id} with invalid auth key."
        raise bad(f"Invalid auth key: {text}")
    volume = store.get(tables.VOLUMES, transfer.body["volume_id"])
    if volume is None:
        raise missing("Volume", transfer.body["volume_id"])
    snapshots = store.where(tables.VOLUME_SNAPSHOTS, volume_id=volume.id)
    if transfer.body["no_snapshots"]:
        snapshots = []
    if caller.project_id != volume.project_id:
        size = volume.body["size"] + sum(snapshot.body["size"] for snapshot in snapshots)
        increase = {"volumes": 1, "gigabytes": size, "snapshots": len(snapshots)}
        quotas.check(call.cloud, caller.project_id or "", increase)
    for resource in (volume, *snapshots):
        resource.project_id = caller.project_id
        resource.body["user_id"] = caller.user_id
        touch(call.cloud, resource)
    volume.body["status"] = "available"
    store.remove(transfer)
    return Reply(202, {"transfer": _brief(call, transfer)})


def cancel(call: Call) -> Reply:
    """Handle DELETE of a transfer: cancel it, so that the volume stays in its project."""
    transfer = _own(call)
    volume = call.cloud.store.get(tables.VOLUMES, transfer.body["volume_id"])
    if volume is not None:
        volume.body["status"] = "available"
        touch(call.cloud, volume)
    call.cloud.store.remove(transfer)
    return Reply(202, None, {"Content-Type": "text/html; charset=UTF-8"})


_HANDLERS: tuple[tuple[str, str, Handler], ...] = (
    ("POST", "", create),
    ("GET", "", brief),
    ("GET", "/detail", detail),
    ("GET", "/{}", show),
    ("POST", "/{}/accept", accept),
    ("DELETE", "/{}", cancel),
)
ROUTES: list[Route] = [
    *((method, f"/v3/os-volume-transfer{path}", handler) for method, path, handler in _HANDLERS),
    *(
        (method, f"/v3/volume-transfers{path}", Since(_WITH_SNAPSHOTS, handler))
        for method, path, handler in _HANDLERS
    ),
]
