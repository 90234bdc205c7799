"""The API of allocation candidates: which providers can give some amounts of resources."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.microversion import Since
from hearth_devcloud.placement import inventory
from hearth_devcloud.placement.base import Amounts, admin_only, amounts, bad, known_arguments
from hearth_devcloud.placement.inventory import INVENTORIES, Provider
from hearth_devcloud.placement.providers import carries

_ARGUMENTS = {"resources": 10, "limit": 16, "required": 17, "member_of": 21, "in_tree": 31}


def _request(call: Call, provider: Provider, demand: Amounts) -> Body:
    if call.version < (1, 12):
        allocation = {"resource_provider": {"uuid": provider.uuid}, "resources": demand}
        return {"allocations": [allocation]}
    request: Body = {"allocations": {provider.uuid: {"resources": demand}}}
    if call.version >= (1, 34):
        request["mappings"] = {"": [provider.uuid]}
    return request


def _summary(call: Call, provider: Provider, demand: Amounts) -> Body:
    names = demand if call.version < (1, 27) else INVENTORIES
    view: Body = {
        "resources": {
            name: {"capacity": INVENTORIES[name].capacity, "used": provider.used[name]}
            for name in names
        }
    }
    if call.version >= (1, 17):
        view["traits"] = list(provider.traits)
    if call.version >= (1, 29):
        view |= {"parent_provider_uuid": None, "root_provider_uuid": provider.uuid}
    return view


def index(call: Call) -> Reply:
    """Handle GET of the allocation candidates for the amounts in the query."""
    admin_only(call, "allocation_candidates:list")
    known_arguments(call, _ARGUMENTS)
    text, limit = call.argument("resources"), call.argument("limit") or "1000"
    if text is None:
        raise bad("Invalid query string parameters: 'resources' is a required property")
    if not limit.isdecimal() or int(limit) == 0:
        raise bad(f"Invalid query string parameters: limit: expected 1 or more, got {limit}")
    demand = amounts(text)
    matching = [
        provider
        for provider in inventory.providers(call.cloud.store)
        if provider.fits(demand)
        and carries(provider, call.query.get("required", []))
        and call.argument("in_tree") in (None, provider.uuid)
        and "member_of" not in call.query  # there are no aggregates
    ][: int(limit)]
    return Reply(
        200,
        {
            "allocation_requests": [_request(call, provider, demand) for provider in matching],
            "provider_summaries": {p.uuid: _summary(call, p, demand) for p in matching},
        },
    )


ROUTES: list[Route] = [("GET", "/allocation_candidates", Since((1, 10), index))]
