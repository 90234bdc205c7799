"""The API of resource providers: their inventories, usages, traits and allocations."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.microversion import Since
from hearth_devcloud.nova.hypervisors import host_of
from hearth_devcloud.placement import inventory
from hearth_devcloud.placement.base import admin_only, amounts, known_arguments, missing
from hearth_devcloud.placement.inventory import INVENTORIES, Provider

_PATH = "/resource_providers"
_LINKS = {"inventories": 0, "usages": 0, "aggregates": 1, "traits": 6, "allocations": 11}
_FILTERS = {
    "name": 0,
    "uuid": 0,
    "member_of": 3,
    "resources": 4,
    "in_tree": 14,
    "required": 18,
}


def _view(call: Call, provider: Provider) -> Body:
    path = f"/placement{_PATH}/{provider.uuid}"
    links = [{"rel": "self", "href": path}]
    links += [
        {"rel": name, "href": f"{path}/{name}"}
        for name, minor in _LINKS.items()
        if call.version >= (1, minor)
    ]
    view: Body = {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "links": links,
    }
    if call.version >= (1, 14):
        view |= {"parent_provider_uuid": None, "root_provider_uuid": provider.uuid}
    return view


def carries(provider: Provider, required: list[str]) -> bool:
    """Return whether a provider has the traits in the values of the query argument `required`.

    Traits with `!` must be missing. `in:A,B` means one of the traits.
    """
    for value in required:
        if value.startswith("in:"):
            if not set(value.removeprefix("in:").split(",")) & set(provider.traits):
                return False
        elif any(
            (name.removeprefix("!") in provider.traits) == name.startswith("!")
            for name in value.split(",")
        ):
            return False
    return True


def index(call: Call) -> Reply:
    """Handle GET of the resource providers that match the query."""
    admin_only(call, "resource_providers:list")
    known_arguments(call, _FILTERS)
    demand = amounts(text) if (text := call.argument("resources")) is not None else {}
    matching = [
        provider
        for provider in inventory.providers(call.cloud.store)
        if call.argument("name") in (None, provider.name)
        and call.argument("uuid") in (None, provider.uuid)
        and call.argument("in_tree") in (None, provider.uuid)
        and "member_of" not in call.query  # there are no aggregates
        and provider.fits(demand)
        and carries(provider, call.query.get("required", []))
    ]
    return Reply(200, {"resource_providers": [_view(call, provider) for provider in matching]})


def _own(call: Call, policy: str) -> Provider:
    """Return the provider that the path names. Raises Refusal 403 or 404."""
    admin_only(call, f"resource_providers:{policy}")
    for provider in inventory.providers(call.cloud.store):
        if provider.uuid == call.ids[0]:
            return provider
    raise missing(f"No resource provider with uuid {call.ids[0]} found")


def show(call: Call) -> Reply:
    """Handle GET of a resource provider."""
    return Reply(200, _view(call, _own(call, "show")))


def _with_generation(provider: Provider, view: Body) -> Reply:
    return Reply(200, {**view, "resource_provider_generation": provider.generation})


def inventories(call: Call) -> Reply:
    """Handle GET of the inventories of a resource provider."""
    provider = _own(call, "inventories:list")
    views = {name: entry.view for name, entry in INVENTORIES.items()}
    return _with_generation(provider, {"inventories": views})


def show_inventory(call: Call) -> Reply:
    """Handle GET of the inventory of one resource class."""
    provider, name = _own(call, "inventories:show"), call.ids[1]
    if name not in INVENTORIES:
        raise missing(f"No inventory of class {name} for {provider.uuid}")
    return _with_generation(provider, INVENTORIES[name].view)


def usages(call: Call) -> Reply:
    """Handle GET of what is used of a resource provider."""
    provider = _own(call, "usages")
    return _with_generation(provider, {"usages": provider.used})


def aggregates(call: Call) -> Reply:
    """Handle GET of the aggregates of a resource provider: there are none."""
    provider = _own(call, "aggregates:list")
    if call.version < (1, 19):
        return Reply(200, {"aggregates": []})
    return _with_generation(provider, {"aggregates": []})


def traits(call: Call) -> Reply:
    """Handle GET of the traits of a resource provider."""
    provider = _own(call, "traits:list")
    return _with_generation(provider, {"traits": list(provider.traits)})


def allocations(call: Call) -> Reply:
    """Handle GET of the servers that use a resource provider."""
    provider = _own(call, "allocations:list")
    generation = {"consumer_generation": 1} if call.version >= (1, 28) else {}
    views = {
        server.id: {"resources": used, **generation}
        for server in call.cloud.store.all(tables.SERVERS)
        if host_of(server) == provider.name and (used := inventory.allocated(server))
    }
    return _with_generation(provider, {"allocations": views})


_ONE = _PATH + "/{}"
ROUTES: list[Route] = [
    ("GET", _PATH, index),
    ("GET", _ONE, show),
    ("GET", _ONE + "/inventories", inventories),
    ("GET", _ONE + "/inventories/{}", show_inventory),
    ("GET", _ONE + "/usages", usages),
    ("GET", _ONE + "/aggregates", Since((1, 1), aggregates)),
    ("GET", _ONE + "/traits", Since((1, 6), traits)),
    ("GET", _ONE + "/allocations", allocations),
]
