"""Every query parameter that a list declares is read by its handler."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from benchmarks.inside import CALLER, inside

from hearth.api.app import application
from hearth.api.auth import Tokens
from hearth.api.cfn.auth import Gate
from hearth.api.endpoint import Query
from hearth.api.v1 import parse
from hearth.api.v1.routes import ROUTES
from tests.api.test_growth import CHILD, TEMPLATE, Everybody, get

WITHOUT_EFFECT = {"event_index_resource": {"nested_depth"}}
"""Declared query parameters that the handler ignores: {operation: names}."""
ASKED = [one for one in ROUTES if one.method == "GET" and one.query]


async def read_queries(database: Path) -> dict[str, set[str]]:
    """{operation: the names of the query parameters that it reads}."""
    async with inside(database) as running:
        row, _ = await running.create("mine", TEMPLATE, {"child.yaml": CHILD})
        places = {
            "tenant_id": CALLER.project_id, "stack_name": "mine", "stack_id": row.id,
            "resource_name": "value", "type_name": "OS::Heat::Value",
            "template_version": "heat_template_version.2021-04-16",
        }  # fmt: skip
        tokens, gate = cast(Tokens, Everybody()), cast(Gate, object())
        app = application(running.services, tokens, gate, "http://nowhere")
        read: dict[str, set[str]] = {}
        given = parse.values_of

        def recorded(request: Any, query: Query) -> list[str]:
            read.setdefault(request.scope["hearth.endpoint"].name, set()).add(query.name)
            return given(request, query)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parse, "values_of", recorded)
            for one in ASKED:
                path = "/v1" + one.path.format_map(places)
                assert await get(app, path, b"") == 200, path
    return read


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    return asyncio.run(read_queries(tmp_path_factory.mktemp("queries") / "hearth.db"))


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda one: one.name)
def test_a_declared_query_parameter_is_read(read: dict[str, set[str]], endpoint: Any):
    declared = {one.name for one in endpoint.query}
    unread = declared - read.get(endpoint.name, set()) - WITHOUT_EFFECT.get(endpoint.name, set())
    handler = endpoint.handler
    where = f"{handler.__name__} in src/{handler.__module__.replace('.', '/')}.py"
    assert not unread, (
        f"{where} does not read {sorted(unread)}: read them, or delete them in routes.py"
    )
