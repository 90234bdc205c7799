"""Volume types, their extra specs and encryption, and QoS specs."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.cinder.base import DEFAULT_TYPE, admin_only, bad, links, missing
from hearth_devcloud.cinder.volumes import type_of
from hearth_devcloud.http import Actions, Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource

_TABLE = "volume.types"
_QOS = "volume.qos_specs"
_TEXT = {"Content-Type": "text/html; charset=UTF-8"}


def _view(call: Call, volume_type: Resource, *, access: bool = True) -> Body:
    body = volume_type.body
    view: Body = {
        "id": volume_type.id,
        "name": body["name"],
        "is_public": body["is_public"],
        "description": body["description"],
        "extra_specs": body["extra_specs"] if call.caller.is_admin else {},
    }
    if access:
        view["os-volume-type-access:is_public"] = body["is_public"]
    if call.caller.is_admin and access:
        view["qos_specs_id"] = body.get("qos_specs_id")
    return view


def _may_see(call: Call, volume_type: Resource) -> bool:
    if call.caller.is_admin or volume_type.body["is_public"]:
        return True
    return call.caller.project_id in volume_type.hidden.get("access", [])


def types(call: Call) -> Reply:
    """Handle GET /types: list the volume types that the caller may use."""
    visible = [t for t in call.cloud.store.all(_TABLE) if _may_see(call, t)]
    return Reply(200, {"volume_types": [_view(call, volume_type) for volume_type in visible]})


def default(call: Call) -> Reply:
    """Handle GET /types/default: show the default volume type."""
    volume_type = type_of(call, DEFAULT_TYPE)
    return Reply(200, {"volume_type": _view(call, volume_type, access=False)})


def _own(call: Call) -> Resource:
    volume_type = call.cloud.store.get(_TABLE, call.ids[0])
    if volume_type is None or not _may_see(call, volume_type):
        raise missing("Volume type", call.ids[0])
    return volume_type


def show(call: Call) -> Reply:
    """Handle GET of a volume type."""
    return Reply(200, {"volume_type": _view(call, _own(call))})


def create(call: Call) -> Reply:
    """Handle POST of a volume type, for administrators."""
    admin_only(call)
    attributes, store = call.object("volume_type"), call.cloud.store
    public = attributes.get("os-volume-type-access:is_public", True)
    names = {"name", "description", "extra_specs", "os-volume-type-access:is_public"}
    _check(call, {"name": None, **attributes, "is_public": public}, {*names, "is_public"})
    name = attributes["name"]
    body = {
        "id": store.new_id(),
        "name": name,
        "is_public": public,
        "description": attributes.get("description"),
        "extra_specs": attributes.get("extra_specs") or {},
    }
    volume_type = store.insert(Resource(body["id"], _TABLE, None, body))
    view = _view(call, volume_type)
    view.pop("qos_specs_id", None)
    return Reply(200, {"volume_type": view})


def update(call: Call) -> Reply:
    """Handle PUT of a volume type's name, description or visibility."""
    admin_only(call)
    volume_type, attributes = _own(call), call.object("volume_type")
    _check(call, attributes, {"name", "description", "is_public"}, volume_type)
    volume_type.body.update(attributes)
    return Reply(200, {"volume_type": _view(call, volume_type)})


def _check(call: Call, attributes: Body, names: set[str], current: Resource | None = None) -> None:
    """Check the fields of a volume type in a request; `names` are the allowed fields.

    `current` is the type that is updated. Raises Refusal 400, or 409 if the name is in use.
    """
    if set(attributes) - names:
        raise bad(f"Additional properties are not allowed: {sorted(set(attributes) - names)}")
    if not isinstance(attributes.get("is_public", True), bool):
        raise bad("Invalid input for field/attribute is_public: expected true or false")
    if "name" not in attributes:
        return
    name = attributes["name"]
    if not isinstance(name, str) or not 0 < len(name) <= 255:
        raise bad("Invalid input for field/attribute name: expected 1 to 255 characters")
    if any(volume_type is not current for volume_type in call.cloud.store.where(_TABLE, name=name)):
        raise Refusal(409, message=f"Volume Type {name} already exists.")


def delete(call: Call) -> Reply:
    """Handle DELETE of an unused volume type; reply with status 202."""
    admin_only(call)
    volume_type = _own(call)
    if call.cloud.store.where(tables.VOLUMES, volume_type=volume_type.body["name"]):
        raise bad("Target volume type is still in use.")
    call.cloud.store.remove(volume_type)
    return Reply(202, None, dict(_TEXT))


def specs(call: Call) -> Reply:
    """Handle GET of the extra specs of a volume type."""
    return Reply(200, {"extra_specs": _own(call).body["extra_specs"]})


def set_specs(call: Call) -> Reply:
    """Handle POST of extra specs: add them to those of a volume type."""
    admin_only(call)
    volume_type, specs = _own(call), call.object("extra_specs")
    volume_type.body["extra_specs"] = {**volume_type.body["extra_specs"], **specs}
    return Reply(200, {"extra_specs": specs})


def set_spec(call: Call) -> Reply:
    """Handle PUT of one extra spec of a volume type."""
    admin_only(call)
    volume_type, specs = _own(call), call.json()
    volume_type.body["extra_specs"] = {**volume_type.body["extra_specs"], **specs}
    return Reply(200, specs)


def unset_spec(call: Call) -> Reply:
    """Handle DELETE of one extra spec of a volume type."""
    admin_only(call)
    volume_type = _own(call)
    if call.ids[1] not in volume_type.body["extra_specs"]:
        raise missing("Extra spec", call.ids[1])
    specs = {k: v for k, v in volume_type.body["extra_specs"].items() if k != call.ids[1]}
    volume_type.body["extra_specs"] = specs
    return Reply(202, None, dict(_TEXT))


_CIPHERING = ("provider", "cipher", "key_size", "control_location")


def _ciphering(call: Call) -> Body:
    """Return the checked fields of an encryption in a request. Raises Refusal 400."""
    attributes = call.object("encryption")
    if set(attributes) - set(_CIPHERING):
        raise bad(
            f"Additional properties are not allowed: {sorted(set(attributes) - set(_CIPHERING))}"
        )
    size = attributes.get("key_size")
    if size is not None and (isinstance(size, bool) or not str(size).isdecimal()):
        raise bad(f"Invalid input for field/attribute key_size: expected digits, got {size}")
    if attributes.get("control_location", "front-end") not in ("front-end", "back-end"):
        raise bad("Invalid input for control_location: expected front-end or back-end")
    if not attributes.get("provider", "x"):
        raise bad("Invalid input for field/attribute provider: it must not be empty")
    return attributes


def _idle(call: Call, volume_type: Resource) -> None:
    """Raise Refusal 400 if volumes of this type exist: their encryption cannot change."""
    if call.cloud.store.where(tables.VOLUMES, volume_type=volume_type.body["name"]):
        raise bad("Cannot change encryption specs. Volume type in use.")


def encrypt(call: Call) -> Reply:
    """Handle POST of an encryption: add it to a volume type that has none."""
    admin_only(call)
    volume_type, attributes = _own(call), _ciphering(call)
    if "provider" not in attributes or "control_location" not in attributes:
        raise bad("'provider' and 'control_location' are required properties")
    if "encryption" in volume_type.hidden:
        raise bad(f"Volume type encryption for type {volume_type.id} already exists.")
    _idle(call, volume_type)
    body: Body = {key: attributes.get(key) for key in _CIPHERING}
    body |= {"volume_type_id": volume_type.id, "encryption_id": call.cloud.store.new_id()}
    volume_type.hidden["encryption"] = body
    return Reply(200, {"encryption": body})


def encryption(call: Call) -> Reply:
    """Handle GET of the encryption of a volume type."""
    admin_only(call)
    return Reply(200, _own(call).hidden.get("encryption", {}))


def update_encryption(call: Call) -> Reply:
    """Handle PUT of the encryption of a volume type."""
    admin_only(call)
    volume_type, attributes = _own(call), _ciphering(call)
    if "encryption" not in volume_type.hidden:
        raise missing("Volume type encryption", volume_type.id)
    _idle(call, volume_type)
    volume_type.hidden["encryption"].update(attributes)
    return Reply(200, {"encryption": attributes})


def decrypt(call: Call) -> Reply:
    """Handle DELETE of the encryption of a volume type."""
    admin_only(call)
    volume_type = _own(call)
    if "encryption" not in volume_type.hidden:
        raise missing("Volume type encryption", volume_type.id)
    _idle(call, volume_type)
    del volume_type.hidden["encryption"]
    return Reply(202, None, dict(_TEXT))


def access(call: Call) -> Reply:
    """Handle GET of the projects that may use a private type."""
    admin_only(call)
    volume_type = _own(call)
    access_list = [
        {"volume_type_id": volume_type.id, "project_id": p}
        for p in volume_type.hidden.get("access", [])
    ]
    return Reply(200, {"volume_type_access": access_list})


def act(call: Call) -> Reply:
    """Handle POST of the action addProjectAccess or removeProjectAccess on a volume type."""
    admin_only(call)
    volume_type = _own(call)
    present = volume_type.hidden.get("access", [])
    match call.json():
        case {"addProjectAccess": {"project": str(project)}}:
            volume_type.hidden["access"] = [*present, project]
        case {"removeProjectAccess": {"project": str(project)}}:
            if project not in present:
                raise missing("Volume type access", project)
            volume_type.hidden["access"] = [
                project_id for project_id in present if project_id != project
            ]
        case _:
            raise bad("Unknown action; expected addProjectAccess or removeProjectAccess")
    return Reply(202)


def _qos_view(call: Call, qos_specs: Resource) -> Body:
    return {"qos_specs": qos_specs.body, "links": links(call, "qos-specs", qos_specs.id)}


def create_qos(call: Call) -> Reply:
    """Handle POST /qos-specs: create QoS specs."""
    admin_only(call)
    attributes, store = dict(call.object("qos_specs")), call.cloud.store
    name, consumer = attributes.pop("name", None), attributes.pop("consumer", "back-end")
    if not isinstance(name, str):
        raise bad("'name' is a required property")
    _check_specs(consumer, attributes)
    if store.where(_QOS, name=name):
        raise Refusal(409, message=f"Qos specs {name} already exists.")
    body = {"id": store.new_id(), "name": name, "consumer": consumer, "specs": attributes}
    return Reply(200, _qos_view(call, store.insert(Resource(body["id"], _QOS, None, body))))


def _check_specs(consumer: object, specs: Body) -> None:
    """Raise Refusal 400 for an unknown consumer or a spec that is not text."""
    if consumer not in ("front-end", "back-end", "both"):
        raise bad(f"Invalid consumer {consumer}: expected front-end, back-end or both")
    for key, value in specs.items():
        if not isinstance(value, str) or len(value) > 255:
            raise bad(f"Invalid input for {key}: expected text of at most 255 characters")


def _qos(call: Call) -> Resource:
    admin_only(call)
    qos_specs = call.cloud.store.get(_QOS, call.ids[0])
    if qos_specs is None:
        raise missing("Qos specs", call.ids[0])
    return qos_specs


def qos_specs(call: Call) -> Reply:
    """Handle GET /qos-specs: list all QoS specs."""
    admin_only(call)
    return Reply(200, {"qos_specs": [qos.body for qos in call.cloud.store.all(_QOS)]})


def show_qos(call: Call) -> Reply:
    """Handle GET of QoS specs."""
    return Reply(200, _qos_view(call, _qos(call)))


def update_qos(call: Call) -> Reply:
    """Handle PUT of QoS specs."""
    qos, attributes = _qos(call), dict(call.object("qos_specs"))
    consumer = attributes.pop("consumer", qos.body["consumer"])
    _check_specs(consumer, attributes)
    qos.body["consumer"] = consumer
    qos.body["specs"] = {**qos.body["specs"], **attributes}
    return Reply(200, {"qos_specs": attributes})


def delete_qos_keys(call: Call) -> Reply:
    """Handle PUT delete_keys: remove keys from QoS specs."""
    qos, keys = _qos(call), call.json().get("keys", [])
    for key in keys:
        if key not in qos.body["specs"]:
            raise missing("QoS spec key", key)
    specs = {k: v for k, v in qos.body["specs"].items() if k not in keys}
    qos.body["specs"] = specs
    return Reply(202)


def _associated(call: Call, qos: Resource) -> list[Resource]:
    return call.cloud.store.where(_TABLE, qos_specs_id=qos.id)


def associations(call: Call) -> Reply:
    """Handle GET of the volume types that are associated with QoS specs."""
    views = [
        {"association_type": "volume_type", "name": kind.body["name"], "id": kind.id}
        for kind in _associated(call, _qos(call))
    ]
    return Reply(200, {"qos_associations": views})


def associate_qos(call: Call) -> Reply:
    """Handle GET associate and disassociate: connect a volume type with QoS specs, or separate it.

    A type can be associated with only one set of specs.
    """
    qos = _qos(call)
    type_id = call.argument("vol_type_id")
    if not type_id:
        raise bad("Volume Type id must not be None.")
    kind = call.cloud.store.get(_TABLE, type_id)
    if kind is None:
        raise missing("Volume type", type_id)
    present = kind.body.get("qos_specs_id")
    if call.segments[-1] == "associate":
        if present not in (None, qos.id):
            raise bad(f"Type {kind.id} is already associated with another qos specs: {present}")
        kind.body["qos_specs_id"] = qos.id
    elif present == qos.id:
        kind.body["qos_specs_id"] = None
    return Reply(202)


def dissociate_all(call: Call) -> Reply:
    """Handle GET disassociate_all: remove all associations of QoS specs."""
    for kind in _associated(call, _qos(call)):
        kind.body["qos_specs_id"] = None
    return Reply(202)


def delete_qos(call: Call) -> Reply:
    """Handle DELETE of QoS specs. If volume types use them, the argument `force` is necessary."""
    qos = _qos(call)
    kinds = _associated(call, qos)
    if kinds and (call.argument("force") or "").lower() != "true":
        raise bad(f"QoS Specs {qos.id} is still associated with entities.")
    for kind in kinds:
        kind.body["qos_specs_id"] = None
    call.cloud.store.remove(qos)
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
    ("POST", _PATH + "/{}/action", Actions(("addProjectAccess", "removeProjectAccess"), act)),
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
