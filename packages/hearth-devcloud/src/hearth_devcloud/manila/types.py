"""Share types and their extra specs; for administrators, except for reading."""

from __future__ import annotations

import re
from typing import Any

from hearth_devcloud.collection import boolean
from hearth_devcloud.fixed_ids import fixed
from hearth_devcloud.http import Actions, Body, Call, Refusal, Reply, Route
from hearth_devcloud.manila.base import (
    PATH,
    SHARES,
    TEXT,
    TYPES,
    admin_only,
    bad,
    forbidden,
    missing,
)
from hearth_devcloud.microversion import Since
from hearth_devcloud.store import Resource, Store

DEFAULT = "default"
SERVERS = "driver_handles_share_servers"
_SNAPSHOTS = "snapshot_support"
_OPTIONAL = (
    _SNAPSHOTS,
    "create_share_from_snapshot_support",
    "revert_to_snapshot_support",
    "mount_snapshot_support",
)
_VISIBLE = {SERVERS, *_OPTIONAL, "replication_type", "availability_zones"}
_KEY = re.compile(r"^[\w.:-]+$")
_PUBLIC = ("share_type_access:is_public", "os-share-type-access:is_public")


def plant(store: Store) -> None:
    """Create the default share type, whose shares need no share network."""
    body: Body = {
        "id": fixed("share-type", DEFAULT),
        "name": DEFAULT,
        "description": None,
        "is_public": True,
        "extra_specs": {SERVERS: "False", **dict.fromkeys(_OPTIONAL[:2], "True")},
    }
    store.insert(Resource(body["id"], TYPES, None, body, seed=True))


def type_of(call: Call, name: object) -> Resource:
    """Return the share type with this name or id that the caller may use. Raises Refusal 404."""
    for share_type in call.cloud.store.all(TYPES):
        if name in (share_type.id, share_type.body["name"]) and _may_see(call, share_type):
            return share_type
    raise Refusal(404, message="Share type not found.")


def spec(share_type: Resource, name: str) -> bool:
    """Return whether an extra spec of a type is true."""
    text = str(share_type.body["extra_specs"].get(name, "")).lower()
    return text.removeprefix("<is>").strip() in ("true", "1", "yes", "on")


def _may_see(call: Call, share_type: Resource) -> bool:
    if call.caller.is_admin or share_type.body["is_public"]:
        return True
    return call.caller.project_id in share_type.hidden.get("access", [])


def _view(call: Call, share_type: Resource) -> Body:
    body = share_type.body
    specs = {
        name: value
        for name, value in body["extra_specs"].items()
        if call.caller.is_admin or name in _VISIBLE
    }
    view: Body = {
        "id": share_type.id,
        "name": body["name"],
        "extra_specs": specs,
        "required_extra_specs": {n: v for n, v in specs.items() if n == SERVERS},
        _PUBLIC[call.version < (2, 7)]: body["is_public"],
    }
    if call.version >= (2, 41):
        view["description"] = body["description"]
    if call.version >= (2, 46):
        view["is_default"] = body["name"] == DEFAULT
    return view


def _reply(call: Call, share_type: Resource) -> Reply:
    view = _view(call, share_type)
    return Reply(200, {"volume_type": view, "share_type": view})


def types(call: Call) -> Reply:
    """Handle GET /types: list the public types.

    For an administrator, `is_public=false` means the private types and `is_public=all` all types.
    """
    is_public: bool | None = True
    if call.caller.is_admin and (text := call.argument("is_public")) is not None:
        try:
            is_public = None if text.lower() == "all" else boolean(text)
        except ValueError:
            raise bad(f"Invalid is_public filter [{text}]") from None
    visible = [
        _view(call, share_type)
        for share_type in call.cloud.store.all(TYPES)
        if _may_see(call, share_type)
        and (
            is_public is None
            or not call.caller.is_admin
            or share_type.body["is_public"] == is_public
        )
    ]
    return Reply(200, {"volume_types": visible, "share_types": visible})


def default(call: Call) -> Reply:
    """Handle GET /types/default: show the default type."""
    return _reply(call, type_of(call, DEFAULT))


def _own(call: Call) -> Resource:
    share_type = call.cloud.store.get(TYPES, call.ids[0])
    if share_type is None or not _may_see(call, share_type):
        raise Refusal(404, message="Share type not found.")
    return share_type


def show(call: Call) -> Reply:
    """Handle GET of a type."""
    return _reply(call, _own(call))


def _check(call: Call, attributes: Body, names: set[str], current: Resource | None = None) -> None:
    """Check the fields of a type; `names` are the allowed ones, `current` is the type to update.

    Raises Refusal 400, or 409 if another type has the name.
    """
    if "description" in attributes and call.version < (2, 41):
        raise bad("'description' key is not supported by this microversion. Use 2.41 or greater.")
    unknown = sorted(set(attributes) - names)
    if unknown:
        raise bad(f"Additional properties are not allowed: {', '.join(unknown)}")
    name, text = attributes.get("name", "x"), attributes.get("description")
    if not isinstance(name, str) or not 0 < len(name) <= 255:
        raise bad("Type name or description is not valid.")
    if text is not None and not (isinstance(text, str) and len(text) <= 255):
        raise bad("Type name or description is not valid.")
    for key in ("share_type_access:is_public", "os-share-type-access:is_public", "is_public"):
        if not isinstance(attributes.get(key, True), bool):
            raise bad(f"Invalid value for {key}: expected true or false")
    if any(share_type is not current for share_type in call.cloud.store.where(TYPES, name=name)):
        raise Refusal(409, message=f"Share Type {name} already exists.")


def create(call: Call) -> Reply:
    """Handle POST of a type."""
    admin_only(call)
    attributes = call.object("share_type")
    _check(call, {"name": None, **attributes}, {"name", "description", "extra_specs", *_PUBLIC})
    specs = attributes.get("extra_specs") or {}
    if not isinstance(specs, dict):
        raise bad("Invalid value for extra_specs: expected an object")
    if call.version < (2, 24):
        specs.setdefault(_SNAPSHOTS, True)
    if SERVERS not in specs:
        raise bad(f"Invalid extra_spec: Required extra specs '{SERVERS}' not specified.")
    body: Body = {
        "id": call.cloud.store.new_id(),
        "name": attributes["name"],
        "description": attributes.get("description"),
        "is_public": next((attributes[name] for name in _PUBLIC if name in attributes), True),
        "extra_specs": _specs(specs),
    }
    return _reply(call, call.cloud.store.insert(Resource(body["id"], TYPES, None, body)))


def update(call: Call) -> Reply:
    """Handle PUT of a type's name, description or visibility."""
    admin_only(call)
    share_type, attributes = _own(call), call.object("share_type")
    _check(call, attributes, {"name", "description", _PUBLIC[0]}, share_type)
    changes = {
        "is_public" if name == _PUBLIC[0] else name: value for name, value in attributes.items()
    }
    share_type.body.update(changes)
    return _reply(call, share_type)


def delete(call: Call) -> Reply:
    """Handle DELETE of an unused type; reply with status 202."""
    admin_only(call)
    share_type = _own(call)
    if call.cloud.store.where(SHARES, share_type=share_type.id):
        raise bad("Target share type is still in use.")
    call.cloud.store.remove(share_type)
    return Reply(202, None, dict(TEXT))


def _specs(specs: Body) -> dict[str, str]:
    """Return checked extra specs as text. Raises Refusal 400."""
    for key, value in specs.items():
        sound = isinstance(value, bool) or (isinstance(value, str) and 0 < len(value) <= 255)
        if sound and key in (SERVERS, *_OPTIONAL):
            text = re.sub(r"^<is>\s*", "", str(value).strip(), flags=re.IGNORECASE).lower()
            sound = text in ("true", "false", "1", "0", "yes", "no", "on", "off")
        if not sound or not 0 < len(key) <= 255:
            raise bad(f"Invalid extra_spec: {key}: {value}")
        if not _KEY.match(key):
            message = "alphanumeric characters, underscores, periods, colons and hyphens."
            raise bad(f"Key names can only contain {message}")
    return {key: str(value) for key, value in specs.items()}


def specs(call: Call) -> Reply:
    """Handle GET of the extra specs of a type."""
    admin_only(call)
    return Reply(200, {"extra_specs": _own(call).body["extra_specs"]})


def set_specs(call: Call) -> Reply:
    """Handle POST of extra specs: add them to those of a type."""
    admin_only(call)
    share_type, specs = _own(call), call.object("extra_specs")
    share_type.body["extra_specs"] = {**share_type.body["extra_specs"], **_specs(specs)}
    return Reply(200, {"extra_specs": specs})


def spec_shown(call: Call) -> Reply:
    """Handle GET of one extra spec of a type."""
    admin_only(call)
    specs: Any = _own(call).body["extra_specs"]
    if call.ids[1] not in specs:
        raise missing("Extra spec", call.ids[1])
    return Reply(200, {call.ids[1]: specs[call.ids[1]]})


def set_spec(call: Call) -> Reply:
    """Handle PUT of one extra spec of a type."""
    admin_only(call)
    share_type, specs = _own(call), call.json()
    if not isinstance(specs, dict) or list(specs) != [call.ids[1]]:
        raise bad("Request body and URI mismatch")
    share_type.body["extra_specs"] = {**share_type.body["extra_specs"], **_specs(specs)}
    return Reply(200, _specs(specs))


def unset_spec(call: Call) -> Reply:
    """Handle DELETE of one extra spec of a type; reply with status 202."""
    admin_only(call)
    share_type, name = _own(call), call.ids[1]
    if name == SERVERS or (name == _SNAPSHOTS and call.version < (2, 24)):
        raise forbidden(f"Extra spec '{name}' can't be deleted.")
    if name not in share_type.body["extra_specs"]:
        raise missing("Extra spec", name)
    specs = {key: value for key, value in share_type.body["extra_specs"].items() if key != name}
    share_type.body["extra_specs"] = specs
    return Reply(202, None, dict(TEXT))


def access(call: Call) -> Reply:
    """Handle GET of the projects that may use a private type."""
    admin_only(call)
    share_type = _own(call)
    if share_type.body["is_public"]:
        raise Refusal(404, message="Access list not available for public share types.")
    access_list = [
        {"share_type_id": share_type.id, "project_id": p}
        for p in share_type.hidden.get("access", [])
    ]
    return Reply(200, {"share_type_access": access_list})


def act(call: Call) -> Reply:
    """Handle POST of addProjectAccess or removeProjectAccess; reply with status 202."""
    admin_only(call)
    share_type = _own(call)
    present = share_type.hidden.get("access", [])
    if share_type.body["is_public"]:
        raise Refusal(409, message="Type access modification is not applicable to public types.")
    match call.json():
        case {"addProjectAccess": {"project": str(project)}}:
            if project in present:
                raise Refusal(409, message=f"Share type access for {project} already exists.")
            share_type.hidden["access"] = [*present, project]
        case {"removeProjectAccess": {"project": str(project)}}:
            if project not in present:
                raise missing("Share type access", project)
            share_type.hidden["access"] = [
                project_id for project_id in present if project_id != project
            ]
        case _:
            raise bad("Unknown action; expected addProjectAccess or removeProjectAccess")
    return Reply(202, None, dict(TEXT))


_PATH = PATH + "/types"
_SPECS = _PATH + "/{}/extra_specs"
ROUTES: list[Route] = [
    ("GET", _PATH, types),
    ("POST", _PATH, create),
    ("GET", _PATH + "/default", default),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", Since((2, 50), update)),
    ("DELETE", _PATH + "/{}", delete),
    ("POST", _PATH + "/{}/action", Actions(("addProjectAccess", "removeProjectAccess"), act)),
    ("GET", _PATH + "/{}/share_type_access", access),
    ("GET", _PATH + "/{}/os-share-type-access", access),
    ("GET", _SPECS, specs),
    ("POST", _SPECS, set_specs),
    ("GET", _SPECS + "/{}", spec_shown),
    ("PUT", _SPECS + "/{}", set_spec),
    ("DELETE", _SPECS + "/{}", unset_spec),
]
