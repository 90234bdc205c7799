"""Flavors, their extra specs and the access to them."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, Invalid, boolean, integer, nullable, text
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.listing import page
from hearth_devcloud.nova.base import admin_only, bad, conflict, links, missing
from hearth_devcloud.store import Thing

_TABLE = "compute.flavors"

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


def flavor_body(**given: object) -> Body:
    """Return the stored fields of a flavor: those in `given`, and defaults for the others."""
    values = FLAVORS.for_create(given)
    values.pop("id")
    values["extra_specs"] = {}
    values["access"] = []
    return values


def flavor_of(call: Call, flavor_id: str) -> Thing | None:
    """Return the flavor with this id, or None if it does not exist or the caller may not use it."""
    thing = call.cloud.store.get(_TABLE, flavor_id)
    if thing is None or call.caller.is_admin or thing.body["os-flavor-access:is_public"]:
        return thing
    return thing if call.caller.project_id in thing.body["access"] else None


def _find(call: Call) -> Thing:
    thing = flavor_of(call, call.ids[0])
    if thing is None:
        raise missing("Flavor", call.ids[0])
    return thing


def _view(call: Call, thing: Thing) -> Body:
    body = thing.body
    view: Body = {"id": thing.id}
    for key in ("name", "ram", "disk"):
        view[key] = body[key]
    view["swap"] = body["swap"] if body["swap"] or call.version >= (2, 75) else ""
    view["OS-FLV-EXT-DATA:ephemeral"] = body["OS-FLV-EXT-DATA:ephemeral"]
    view["OS-FLV-DISABLED:disabled"] = False
    view["vcpus"] = body["vcpus"]
    view["os-flavor-access:is_public"] = body["os-flavor-access:is_public"]
    view["rxtx_factor"] = body["rxtx_factor"]
    view["links"] = links(call, "flavors", thing.id)
    if call.version >= (2, 55):
        view["description"] = body["description"]
    if call.version >= (2, 61):
        view["extra_specs"] = body["extra_specs"]
    return view


def _page(call: Call, *, detail: bool) -> Reply:
    store = call.cloud.store
    things = [t for t in store.all(_TABLE) if flavor_of(call, t.id) is not None]
    public = call.argument("is_public")
    if public is not None and public.lower() != "none" and call.caller.is_admin:
        wanted = public.lower() in ("true", "1", "t")
        things = [t for t in things if t.body["os-flavor-access:is_public"] is wanted]
    for argument, key in (("minRam", "ram"), ("minDisk", "disk")):
        if (least := call.argument(argument)) and least.isdecimal():
            things = [t for t in things if t.body[key] >= int(least)]
    found, more = page(things, call)
    views = [
        _view(call, t)
        if detail
        else {"id": t.id, "name": t.body["name"], "links": links(call, "flavors", t.id)}
        for t in found
    ]
    body: Body = {"flavors": views}
    if more:
        query = f"limit={call.argument('limit')}&marker={found[-1].id}"
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
    given = call.object("flavor")
    try:
        values = FLAVORS.for_create(given)
    except Invalid as error:
        raise bad(error.message) from None
    store = call.cloud.store
    wanted = values.pop("id")
    flavor_id = store.new_id() if wanted in (None, "auto") else str(wanted)
    if store.get(_TABLE, flavor_id) is not None or store.where(_TABLE, name=values["name"]):
        raise conflict(f"Flavor with name {values['name']} already exists.")
    body = {"id": flavor_id, **values, "extra_specs": {}, "access": []}
    thing = store.insert(Thing(flavor_id, _TABLE, None, body))
    return Reply(200, {"flavor": _view(call, thing)})


def update(call: Call) -> Reply:
    """Handle PUT of a flavor's description, for administrators."""
    admin_only(call)
    thing = _find(call)
    thing.body["description"] = call.object("flavor").get("description")
    return Reply(200, {"flavor": _view(call, thing)})


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
    thing, given = _find(call), call.object("extra_specs")
    thing.body["extra_specs"] = {**thing.body["extra_specs"], **given}
    return Reply(200, {"extra_specs": given})


def spec(call: Call) -> Reply:
    """Handle GET of one extra spec of a flavor."""
    found = _find(call).body["extra_specs"]
    if call.ids[1] not in found:
        raise missing("Extra spec", call.ids[1])
    return Reply(200, {call.ids[1]: found[call.ids[1]]})


def set_spec(call: Call) -> Reply:
    """Handle PUT of one extra spec of a flavor."""
    admin_only(call)
    thing, given = _find(call), call.json()
    if not isinstance(given, dict) or list(given) != [call.ids[1]]:
        raise bad("The key in the body must be the key in the path")
    thing.body["extra_specs"] = {**thing.body["extra_specs"], **given}
    return Reply(200, given)


def unset_spec(call: Call) -> Reply:
    """Handle DELETE of one extra spec of a flavor."""
    admin_only(call)
    thing = _find(call)
    if call.ids[1] not in thing.body["extra_specs"]:
        raise missing("Extra spec", call.ids[1])
    kept = {k: v for k, v in thing.body["extra_specs"].items() if k != call.ids[1]}
    thing.body["extra_specs"] = kept
    return Reply(200)


def _access(thing: Thing) -> Reply:
    found = [{"flavor_id": thing.id, "tenant_id": project} for project in thing.body["access"]]
    return Reply(200, {"flavor_access": found})


def access(call: Call) -> Reply:
    """Handle GET of the projects that may use a private flavor."""
    admin_only(call)
    thing = _find(call)
    if thing.body["os-flavor-access:is_public"]:
        raise missing("Access list", thing.id)
    return _access(thing)


def act(call: Call) -> Reply:
    """Handle POST of the action addTenantAccess or removeTenantAccess on a flavor."""
    admin_only(call)
    thing, given = _find(call), call.json()
    present = thing.body["access"]
    match given:
        case {"addTenantAccess": {"tenant": str(project)}}:
            if project in present:
                raise conflict("Flavor access already exists")
            thing.body["access"] = [*present, project]
        case {"removeTenantAccess": {"tenant": str(project)}}:
            if project not in present:
                raise missing("Flavor access", project)
            thing.body["access"] = [other for other in present if other != project]
        case _:
            raise bad(
                'Expected {"addTenantAccess": {"tenant": ID}} '
                'or {"removeTenantAccess": {"tenant": ID}}'
            )
    return _access(thing)


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
    ("POST", _PATH + "/{}/action", act),
]
