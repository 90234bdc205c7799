"""Flavors, their extra specs and the access to them."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.collection import Collection, Field, Invalid, boolean, integer, nullable, text
from hearth_devcloud.http import Actions, Body, Call, Reply, Route
from hearth_devcloud.listing import page
from hearth_devcloud.nova.base import admin_only, bad, conflict, links, missing
from hearth_devcloud.store import Resource

FLAVORS = Collection(
    "compute",
    "flavors",
    "flavor",
    {
        "name": Field(text(), required=True),
        "ram": Field(integer(1), required=True),
        "vcpus": Field(integer(1), required=True),
        "disk": Field(integer(0), default=0),
        "id": Field(nullable(text())),
        "swap": Field(integer(0), default=0),
        "OS-FLV-EXT-DATA:ephemeral": Field(integer(0), default=0),
        "rxtx_factor": Field(default=1.0),
        "os-flavor-access:is_public": Field(boolean, default=True),
        "description": Field(nullable(text(65535))),
    },
)


def flavor_body(**fields: object) -> Body:
    """Return the stored fields of a flavor: those in `fields`, and defaults for the others."""
    values = FLAVORS.for_create(fields)
    values.pop("id")
    values["extra_specs"] = {}
    values["access"] = []
    return values


def flavor_of(call: Call, flavor_id: str) -> Resource | None:
    """Return the flavor with this id, or None if it does not exist or the caller may not use it."""
    flavor = call.cloud.store.get(tables.FLAVORS, flavor_id)
    if flavor is None or call.caller.is_admin or flavor.body["os-flavor-access:is_public"]:
        return flavor
    return flavor if call.caller.project_id in flavor.body["access"] else None


def _find(call: Call) -> Resource:
    flavor = flavor_of(call, call.ids[0])
    if flavor is None:
        raise missing("Flavor", call.ids[0])
    return flavor


def _view(call: Call, flavor: Resource) -> Body:
    body = flavor.body
    view: Body = {"id": flavor.id}
    for key in ("name", "ram", "disk"):
        view[key] = body[key]
    view["swap"] = body["swap"] if body["swap"] or call.version >= (2, 75) else ""
    view["OS-FLV-EXT-DATA:ephemeral"] = body["OS-FLV-EXT-DATA:ephemeral"]
    view["OS-FLV-DISABLED:disabled"] = False
    view["vcpus"] = body["vcpus"]
    view["os-flavor-access:is_public"] = body["os-flavor-access:is_public"]
    view["rxtx_factor"] = body["rxtx_factor"]
    view["links"] = links(call, "flavors", flavor.id)
    if call.version >= (2, 55):
        view["description"] = body["description"]
    if call.version >= (2, 61):
        view["extra_specs"] = body["extra_specs"]
    return view


def _page(call: Call, *, detail: bool) -> Reply:
    store = call.cloud.store
    flavors = [t for t in store.all(tables.FLAVORS) if flavor_of(call, t.id) is not None]
    public = call.argument("is_public")
    if public is not None and public.lower() != "none" and call.caller.is_admin:
        is_public = public.lower() in ("true", "1", "t")
        flavors = [t for t in flavors if t.body["os-flavor-access:is_public"] is is_public]
    for argument, key in (("minRam", "ram"), ("minDisk", "disk")):
        if (least := call.argument(argument)) and least.isdecimal():
            flavors = [t for t in flavors if t.body[key] >= int(least)]
    flavors, has_next = page(flavors, call)
    views = [
        _view(call, t)
        if detail
        else {"id": t.id, "name": t.body["name"], "links": links(call, "flavors", t.id)}
        for t in flavors
    ]
    body: Body = {"flavors": views}
    if has_next:
        query = f"limit={call.argument('limit')}&marker={flavors[-1].id}"
        href = f"{call.base}/compute{call.path}?{query}"
        body["flavors_links"] = [{"rel": "next", "href": href}]
    return Reply(200, body)


def brief(call: Call) -> Reply:
    """Handle GET /flavors: list the flavors with id, name and links."""
    return _page(call, detail=False)


def detail(call: Call) -> Reply:
    """Handle GET /flavors/detail: list the flavors with all fields."""
    return _page(call, detail=True)


def show(call: Call) -> Reply:
    """Handle GET of a flavor."""
    return Reply(200, {"flavor": _view(call, _find(call))})


def create(call: Call) -> Reply:
    """Handle POST of a flavor, for administrators."""
    admin_only(call)
    attributes = call.object("flavor")
    try:
        values = FLAVORS.for_create(attributes)
    except Invalid as error:
        raise bad(error.message) from None
    store = call.cloud.store
    requested_id = values.pop("id")
    flavor_id = store.new_id() if requested_id in (None, "auto") else str(requested_id)
    if store.get(tables.FLAVORS, flavor_id) is not None or store.where(
        tables.FLAVORS, name=values["name"]
    ):
        raise conflict(f"Flavor with name {values['name']} already exists.")
    body = {"id": flavor_id, **values, "extra_specs": {}, "access": []}
    flavor = store.insert(Resource(flavor_id, tables.FLAVORS, None, body))
    return Reply(200, {"flavor": _view(call, flavor)})


def update(call: Call) -> Reply:
    """Handle PUT of a flavor's description, for administrators."""
    admin_only(call)
    flavor = _find(call)
    flavor.body["description"] = call.object("flavor").get("description")
    return Reply(200, {"flavor": _view(call, flavor)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a flavor; reply with status 202."""
    admin_only(call)
    call.cloud.store.remove(_find(call))
    return Reply(202)


def specs(call: Call) -> Reply:
    """Handle GET of the extra specs of a flavor."""
    return Reply(200, {"extra_specs": _find(call).body["extra_specs"]})


def set_specs(call: Call) -> Reply:
    """Handle POST of extra specs: add them to those of a flavor."""
    admin_only(call)
    flavor, specs = _find(call), call.object("extra_specs")
    flavor.body["extra_specs"] = {**flavor.body["extra_specs"], **specs}
    return Reply(200, {"extra_specs": specs})


def spec(call: Call) -> Reply:
    """Handle GET of one extra spec of a flavor."""
    specs = _find(call).body["extra_specs"]
    if call.ids[1] not in specs:
        raise missing("Extra spec", call.ids[1])
    return Reply(200, {call.ids[1]: specs[call.ids[1]]})


def set_spec(call: Call) -> Reply:
    """Handle PUT of one extra spec of a flavor."""
    admin_only(call)
    flavor, specs = _find(call), call.json()
    if not isinstance(specs, dict) or list(specs) != [call.ids[1]]:
        raise bad("The key in the body must be the key in the path")
    flavor.body["extra_specs"] = {**flavor.body["extra_specs"], **specs}
    return Reply(200, specs)


def unset_spec(call: Call) -> Reply:
    """Handle DELETE of one extra spec of a flavor."""
    admin_only(call)
    flavor = _find(call)
    if call.ids[1] not in flavor.body["extra_specs"]:
        raise missing("Extra spec", call.ids[1])
    specs = {k: v for k, v in flavor.body["extra_specs"].items() if k != call.ids[1]}
    flavor.body["extra_specs"] = specs
    return Reply(200)


def _access(flavor: Resource) -> Reply:
    access = [{"flavor_id": flavor.id, "tenant_id": project} for project in flavor.body["access"]]
    return Reply(200, {"flavor_access": access})


def access(call: Call) -> Reply:
    """Handle GET of the projects that may use a private flavor."""
    admin_only(call)
    flavor = _find(call)
    if flavor.body["os-flavor-access:is_public"]:
        raise missing("Access list", flavor.id)
    return _access(flavor)


def act(call: Call) -> Reply:
    """Handle POST of the action addTenantAccess or removeTenantAccess on a flavor."""
    admin_only(call)
    flavor, arguments = _find(call), call.json()
    present = flavor.body["access"]
    match arguments:
        case {"addTenantAccess": {"tenant": str(project)}}:
            if project in present:
                raise conflict("Flavor access already exists")
            flavor.body["access"] = [*present, project]
        case {"removeTenantAccess": {"tenant": str(project)}}:
            if project not in present:
                raise missing("Flavor access", project)
            flavor.body["access"] = [project_id for project_id in present if project_id != project]
        case _:
            raise bad(
                'Expected {"addTenantAccess": {"tenant": ID}} '
                'or {"removeTenantAccess": {"tenant": ID}}'
            )
    return _access(flavor)


_PATH = "/v2.1/flavors"
_SPECS = _PATH + "/{}/os-extra_specs"
ROUTES: list[Route] = [
    ("GET", _PATH, brief),
    ("GET", _PATH + "/detail", detail),
    ("POST", _PATH, create),
    ("GET", _PATH + "/{}", show),
    ("PUT", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("GET", _SPECS, specs),
    ("POST", _SPECS, set_specs),
    ("GET", _SPECS + "/{}", spec),
    ("PUT", _SPECS + "/{}", set_spec),
    ("DELETE", _SPECS + "/{}", unset_spec),
    ("GET", _PATH + "/{}/os-flavor-access", access),
    ("POST", _PATH + "/{}/action", Actions(("addTenantAccess", "removeTenantAccess"), act)),
]
