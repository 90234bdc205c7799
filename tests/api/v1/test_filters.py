"""Filters of lists are read from the table of query parameters, and from nowhere else."""

from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from hearth.api.endpoint import Endpoint, Query
from hearth.api.v1 import parse, queries
from hearth.api.v1.resources import FILTERS
from hearth.api.v1.routes import ROUTES
from hearth.store.tables import event, stack

LISTS = {
    "stack_index": lambda request: parse.stack_filter(request, "p"),
    "stack_detail": lambda request: parse.stack_filter(request, "p"),
    "event_index_stack": lambda request: parse.event_filter(request, ("s",)),
    "event_index_resource": lambda request: parse.event_filter(request, ("s",)),
    "resource_index": parse.filters,
}
ENDPOINTS = {one.name: one for one in ROUTES}
COLUMNS = {
    "stack_index": set(stack.c.keys()),
    "stack_detail": set(stack.c.keys()),
    "event_index_stack": set(event.c.keys()),
    "event_index_resource": set(event.c.keys()),
    "resource_index": set(FILTERS),
}


def request(endpoint: Endpoint, query: dict[str, Any] | list[tuple[str, str]]) -> Request:
    scope = {"type": "http", "query_string": urlencode(query).encode(), "hearth.endpoint": endpoint}
    return Request(scope)


def value(query: Query) -> str:
    match query.shape.get("type"):
        case "integer":
            return "3"
        case "string" if "enum" in query.shape:
            return str(query.shape["enum"][0])
    return "true"


@pytest.mark.parametrize("name", LISTS)
def test_a_list_reads_only_what_its_operation_declares(name: str):
    endpoint = ENDPOINTS[name]
    LISTS[name](request(endpoint, {one.name: value(one) for one in endpoint.query}))


@pytest.mark.parametrize("name", [name for name, one in ENDPOINTS.items() if any(one.filters)])
def test_every_filter_that_is_declared_is_read(name: str):
    endpoint = ENDPOINTS[name]
    for query in endpoint.filters:
        assert query.column in parse.filters(request(endpoint, {query.name: value(query)}))
        assert query.column in COLUMNS[name]


@pytest.mark.parametrize("name", LISTS)
def test_the_last_value_of_a_repeated_parameter_counts_unless_it_takes_several(name: str):
    endpoint = ENDPOINTS[name]
    for query in endpoint.query:
        asked = request(endpoint, [(query.name, "first"), (query.name, "last")])
        assert parse.values_of(asked, query) == (["first", "last"] if query.repeated else ["last"])


def test_the_tags_are_those_of_the_last_parameter():
    asked = [("tags", "red"), ("tags", "blue,green"), ("not_tags", "a"), ("not_tags", "")]
    found = parse.stack_filter(request(ENDPOINTS["stack_index"], asked), "p")
    assert (found.tags, found.not_tags) == (("blue", "green"), ())


def test_a_query_parameter_that_is_not_declared_is_a_mistake_of_ours():
    with pytest.raises(LookupError, match="stack_index declares no query parameter with_attr"):
        parse.last(request(ENDPOINTS["stack_index"], {}), queries.WITH_ATTR)


def test_every_declared_parameter_belongs_to_an_operation():
    used = [query for one in ROUTES for query in one.query]
    unused = [
        name for name, one in vars(queries).items() if isinstance(one, Query) and one not in used
    ]
    assert not unused, (
        f"no operation has {unused}: add them to the query of an Endpoint in "
        "src/hearth/api/v1/routes.py, or delete them in src/hearth/api/v1/queries.py"
    )
