"""Volume types, their extra specs and encryption, and QoS specs."""

from __future__ import annotations

from hearth_devcloud.cinder.base import DEFAULT_TYPE, admin_only, bad, links, missing
from hearth_devcloud.cinder.volumes import type_of
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Thing

_TABLE = "volume.types"
_QOS = "volume.qos_specs"
_TEXT = {"Content-Type": "text/html; charset=UTF-8"}


def _view(call: Call, thing: Thing, *, access: bool = True) -> Body:
    body = thing.body
    shown: Body = {
        "id": thing.id,
        "name": body["name"],
        "is_public": body["is_public"],
        "description": body["description"],
        "extra_specs": body["extra_specs"] if call.caller.is_admin else {},
    }
    if access:
        shown["os-volume-type-access:is_public"] = body["is_public"]
    if call.caller.is_admin and access:
        shown["qos_specs_id"] = body.get("qos_specs_id")
    return shown


def _may_see(call: Call, thing: Thing) -> bool:
    if call.caller.is_admin or thing.body["is_public"]:
        return True
    return call.caller.project_id in thing.hidden.get("access", [])


def types(call: Call) -> Reply:
    """Handle GET /types: list the volume types that the caller may use."""
    found = [t for t in call.cloud.store.all(_TABLE) if _may_see(call, t)]
    return Reply(200, {"volume_types": [_view(call, thing) for thing in found]})


def default(call: Call) -> Reply:
    """Handle GET /types/default: show the default volume type."""
    thing = type_of(call, DEFAULT_TYPE)
    return Reply(200, {"volume_type": _view(call, thing, access=False)})


def _own(call: Call) -> Thing:
    thing = call.cloud.store.get(_TABLE, call.ids[0])
    if thing is None or not _may_see(call, thing):
        raise missing("Volume type", call.ids[0])
    return thing


def show(call: Call) -> Reply:
    """Handle GET of a volume type."""
    return Reply(200, {"volume_type": _view(call, _own(call))})


def create(call: Call) -> Reply:
    """Handle POST of a volume type, for administrators."""
    admin_only(call)
    given, store = call.object("volume_type"), call.cloud.store
    public = given.get("os-volume-type-access:is_public", True)
    known = {"name", "description", "extra_specs", "os-volume-type-access:is_public"}
    _check(call, {"name": None, **given, "is_public": public}, {*known, "is_public"})
    name = given["name"]
    body = {
        "id": store.new_id(),
        "name": name,
        "is_public": public,
        "description": given.get("description"),
        "extra_specs": given.get("extra_specs") or {},
    }
    thing = store.insert(Thing(body["id"], _TABLE, None, body))
    shown = _view(call, thing)
    shown.pop("qos_specs_id", None)
    return Reply(200, {"volume_type": shown})


def update(call: Call) -> Reply:
    """Handle PUT of a volume type's name, description or visibility."""
    admin_only(call)
    thing, given = _own(call), call.object("volume_type")
    _check(call, given, {"name", "description", "is_public"}, thing)
    thing.body.update(given)
    return Reply(200, {"volume_type": _view(call, thing)})


def _check(call: Call, given: Body, known: set[str], own: Thing | None = None) -> None:
    """Check the fields of a volume type in a request; `known` are the allowed fields.

    `own` is the type that is updated. Raises Refusal 400, or 409 if the name is in use.
    """
    if set(given) - known:
        raise bad(f"Additional properties are not allowed: {sorted(set(given) - known)}")
    if not isinstance(given.get("is_public", True), bool):
        raise bad("Invalid input for field/attribute is_public: expected true or false")
    if "name" not in given:
        return
    name = given["name"]
    if not isinstance(name, str) or not 0 < len(name) <= 255:
        raise bad("Invalid input for field/attribute name: expected 1 to 255 characters")
    if any(other is not own for other in call.cloud.store.where(_TABLE, name=name)):
        raise Refusal(409, message=f"Volume Type {name} already exists.")


def delete(call: Call) -> Reply:
    """Handle DELETE of an unused volume type; reply with status 202."""
    admin_only(call)
    thing = _own(call)
    if call.cloud.store.where("volume.volumes", volume_type=thing.body["name"]):
        raise bad("Target volume type is still in use.")
    call.cloud.store.remove(thing)
    return Reply(202, None, dict(_TEXT))


def specs(call: Call) -> Reply:
    """Handle GET of the extra specs of a volume type."""
    return Reply(200, {"extra_specs": _own(call).body["extra_specs"]})


def set_specs(call: Call) -> Reply:
    """Handle POST of extra specs: add them to those of a volume type."""
    admin_only(call)
    thing, given = _own(call), call.object("extra_specs")
    thing.body["extra_specs"] = {**thing.body["extra_specs"], **given}
    return Reply(200, {"extra_specs": given})


def set_spec(call: Call) -> Reply:
    """Handle PUT of one extra spec of a volume type."""
    admin_only(call)
    thing, given = _own(call), call.json()
    thing.body["extra_specs"] = {**thing.body["extra_specs"], **given}
    return Reply(200, given)


def unset_spec(call: Call) -> Reply:
    """Handle DELETE of one extra spec of a volume type."""
    admin_only(call)
    thing = _own(call)
    if call.ids[1] not in thing.body["extra_specs"]:
        raise missing("Extra spec", call.ids[1])
    kept = {k: v for k, v in thing.body["extra_specs"].items() if k != call.ids[1]}
    thing.body["extra_specs"] = kept
    return Reply(202, None, dict(_TEXT))


_CIPHERING = ("provider", "cipher", "key_size", "control_location")


def _ciphering(call: Call) -> Body:
    """Return the checked fields of an encryption in a request. Raises Refusal 400."""
    given = call.object("encryption")
    if set(given) - set(_CIPHERING):
        raise bad(f"Additional properties are not allowed: {sorted(set(given) - set(_CIPHERING))}")
    size = given.get("key_size")
    if size is not None and (isinstance(size, bool) or not str(size).isdecimal()):
        raise bad(f"Invalid input for field/attribute key_size: expected digits, got {size}")
    if given.get("control_location", "front-end") not in ("front-end", "back-end"):
        raise bad("Invalid input for control_location: expected front-end or back-end")
    if not given.get("provider", "x"):
        raise bad("Invalid input for field/attribute provider: it must not be empty")
    return given


def _idle(call: Call, thing: Thing) -> None:
    """Raise Refusal 400 if volumes of this type exist: their encryption cannot change."""
    if call.cloud.store.where("volume.volumes", volume_type=thing.body["name"]):
        raise bad("Cannot change encryption specs. Volume type in use.")


def encrypt(call: Call) -> Reply:
    """Handle POST of an encryption: add it to a volume type that has none."""
    admin_only(call)
    thing, given = _own(call), _ciphering(call)
    if "provider" not in given or "control_location" not in given:
        raise bad("'provider' and 'control_location' are required properties")
    if "encryption" in thing.hidden:
        raise bad(f"Volume type encryption for type {thing.id} already exists.")
    _idle(call, thing)
    body: Body = {key: given.get(key) for key in _CIPHERING}
    body |= {"volume_type_id": thing.id, "encryption_id": call.cloud.store.new_id()}
    thing.hidden["encryption"] = body
    return Reply(200, {"encryption": body})


def encryption(call: Call) -> Reply:
    """Handle GET of the encryption of a volume type."""
    admin_only(call)
    return Reply(200, _own(call).hidden.get("encryption", {}))


def update_encryption(call: Call) -> Reply:
    """Handle PUT of the encryption of a volume type."""
    admin_only(call)
    thing, given = _own(call), _ciphering(call)
    if "encryption" not in thing.hidden:
        raise missing("Volume type encryption", thing.id)
    _idle(call, thing)
    thing.hidden["encryption"].update(given)
    return Reply(200, {"encryption": given})


def decrypt(call: Call) -> Reply:
    """Handle DELETE of the encryption of a volume type."""
    admin_only(call)
    thing = _own(call)
    if "encryption" not in thing.hidden:
        raise missing("Volume type encryption", thing.id)
    _idle(call, thing)
    del thing.hidden["encryption"]
    return Reply(202, None, dict(_TEXT))


def access(call: Call) -> Reply:
    """Handle GET of the projects that may use a private type."""
    admin_only(call)
    thing = _own(call)
    found = [{"volume_type_id": thing.id, "project_id": p} for p in thing.hidden.get("access", [])]
    return Reply(200, {"volume_type_access": found})


def act(call: Call) -> Reply:
    """Handle POST of the action addProjectAccess or removeProjectAccess on a volume type."""
    admin_only(call)
    thing = _own(call)
    present = thing.hidden.get("access", [])
    match call.json():
        case {"addProjectAccess": {"project": str(project)}}:
            thing.hidden["access"] = [*present, project]
        case {"removeProjectAccess": {"project": str(project)}}:
            if project not in present:
                raise missing("Volume type access", project)
            thing.hidden["access"] = [other for other in present if other != project]
        case _:
            raise bad("Unknown action; expected addProjectAccess or removeProjectAccess")
    return Reply(202)


def _qos_view(call: Call, thing: Thing) -> Body:
    return {"qos_specs": thing.body, "links": links(call, "qos-specs", thing.id)}


def create_qos(call: Call) -> Reply:
    """Handle POST /qos-specs: create QoS specs."""
    admin_only(call)
    given, store = dict(call.object("qos_specs")), call.cloud.store
    name, consumer = given.pop("name", None), given.pop("consumer", "back-end")
    if not isinstance(name, str):
        raise bad("'name' is a required property")
    _check_specs(consumer, given)
    if store.where(_QOS, name=name):
        raise Refusal(409, message=f"Qos specs {name} already exists.")
    body = {"id": store.new_id(), "name": name, "consumer": consumer, "specs": given}
    return Reply(200, _qos_view(call, store.insert(Thing(body["id"], _QOS, None, body))))


def _check_specs(consumer: object, specs: Body) -> None:
    """Raise Refusal 400 for an unknown consumer or a spec that is not text."""
    if consumer not in ("front-end", "back-end", "both"):
        raise bad(f"Invalid consumer {consumer}: expected front-end, back-end or both")
    for key, value in specs.items():
        if not isinstance(value, str) or len(value) > 255:
            raise bad(f"Invalid input for {key}: expected text of at most 255 characters")


def _qos(call: Call) -> Thing:
    admin_only(call)
    thing = call.cloud.store.get(_QOS, call.ids[0])
    if thing is None:
        raise missing("Qos specs", call.ids[0])
    return thing


def qos_specs(call: Call) -> Reply:
    """Handle GET /qos-specs: list all QoS specs."""
    admin_only(call)
    return Reply(200, {"qos_specs": [thing.body for thing in call.cloud.store.all(_QOS)]})


def show_qos(call: Call) -> Reply:
    """Handle GET of QoS specs."""
    return Reply(200, _qos_view(call, _qos(call)))


def update_qos(call: Call) -> Reply:
    """Handle PUT of QoS specs."""
    thing, given = _qos(call), dict(call.object("qos_specs"))
    consumer = given.pop("consumer", thing.body["consumer"])
    _check_specs(consumer, given)
    thing.body["consumer"] = consumer
    thing.body["specs"] = {**thing.body["specs"], **given}
    return Reply(200, {"qos_specs": given})


def delete_qos_keys(call: Call) -> Reply:
    """Handle PUT delete_keys: remove keys from QoS specs."""
    thing, keys = _qos(call), call.json().get("keys", [])
    for key in keys:
        if key not in thing.body["specs"]:
            raise missing("QoS spec key", key)
    kept = {k: v for k, v in thing.body["specs"].items() if k not in keys}
    thing.body["specs"] = kept
    return Reply(202)


def _associated(call: Call, thing: Thing) -> list[Thing]:
    return call.cloud.store.where(_TABLE, qos_specs_id=thing.id)


def associations(call: Call) -> Reply:
    """Handle GET of the volume types that are associated with QoS specs."""
    found = [
        {"association_type": "volume_type", "name": kind.body["name"], "id": kind.id}
        for kind in _associated(call, _qos(call))
    ]
    return Reply(200, {"qos_associations": found})


def associate_qos(call: Call) -> Reply:
    """Handle GET associate and disassociate: connect a volume type with QoS specs, or separate it.

    A type can be associated with only one set of specs.
    """
    thing = _qos(call)
    wanted = call.argument("vol_type_id")
    if not wanted:
        raise bad("Volume Type id must not be None.")
    kind = call.cloud.store.get(_TABLE, wanted)
    if kind is None:
        raise missing("Volume type", wanted)
    present = kind.body.get("qos_specs_id")
    if call.segments[-1] == "associate":
        if present not in (None, thing.id):
            raise bad(f"Type {kind.id} is already associated with another qos specs: {present}")
        kind.body["qos_specs_id"] = thing.id
    elif present == thing.id:
        kind.body["qos_specs_id"] = None
    return Reply(202)


def dissociate_all(call: Call) -> Reply:
    """Handle GET disassociate_all: remove all associations of QoS specs."""
    for kind in _associated(call, _qos(call)):
        kind.body["qos_specs_id"] = None
    return Reply(202)


def delete_qos(call: Call) -> Reply:
    """Handle DELETE of QoS specs. If volume types use them, the argument `force` is necessary."""
    thing = _qos(call)
    kinds = _associated(call, thing)
    if kinds and (call.argument("force") or "").lower() != "true":
        raise bad(f"QoS Specs {thing.id} is still associated with entities.")
    for kind in kinds:
        kind.body["qos_specs_id"] = None
    call.cloud.store.remove(thing)
    return Reply(202, None, dict(_TEXT))


_PATH = "/v3/types"
_SPECS = _PATH + "/{}/extra_specs"
_ENCRYPTION = _PATH + "/{}/encryption"
_QOS_PATH = "/v3/qos-specs"
ROUTES: list[Route] = [
    ("GET", _PATH, types),
    ("POST", _PATH, create),
    ("GET", _PATH + "/default", default),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("POST", _PATH + "/{}/action", act),
    ("GET", _PATH + "/{}/os-volume-type-access", access),
    ("GET", _SPECS, specs),
    ("POST", _SPECS, set_specs),
    ("PUT", _SPECS + "/{}", set_spec),
    ("DELETE", _SPECS + "/{}", unset_spec),
    ("POST", _ENCRYPTION, encrypt),
    ("GET", _ENCRYPTION, encryption),
    ("PUT", _ENCRYPTION + "/{}", update_encryption),
    ("DELETE", _ENCRYPTION + "/{}", decrypt),
    ("POST", _QOS_PATH, create_qos),
    ("GET", _QOS_PATH, qos_specs),
    ("GET", _QOS_PATH + "/{}", show_qos),
    ("PUT", _QOS_PATH + "/{}", update_qos),
    ("PUT", _QOS_PATH + "/{}/delete_keys", delete_qos_keys),
    ("GET", _QOS_PATH + "/{}/associate", associate_qos),
    ("GET", _QOS_PATH + "/{}/disassociate", associate_qos),
    ("GET", _QOS_PATH + "/{}/disassociate_all", dissociate_all),
    ("GET", _QOS_PATH + "/{}/associations", associations),
    ("DELETE", _QOS_PATH + "/{}", delete_qos),
]
