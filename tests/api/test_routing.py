"""A table of paths finds what Starlette's routes would find."""

import asyncio
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, NoMatchFound, Route

from hearth.api.clusters.routes import ROUTES as CLUSTERS
from hearth.api.routing import by_path
from hearth.api.v1.routes import ROUTES as STACKS

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
TABLES: dict[str, Any] = {"stacks": STACKS, "clusters": CLUSTERS}
PATHS = {name: list(dict.fromkeys(row.path for row in table)) for name, table in TABLES.items()}


async def answered(request: Request, rows: Any) -> Response:
    return Response(rows[0].path)


FOUND = {name: by_path(table, "/v1", answered) for name, table in TABLES.items()}


def by_starlette(table: str) -> list[Route]:
    """One route per path, with the methods that the table has for it."""
    methods = {path: ["OPTIONS"] for path in PATHS[table]}
    for row in TABLES[table]:
        methods[row.path].append(row.method)
    return [Route("/v1" + path, answered, methods=methods[path]) for path in methods]


ROUTES = {name: by_starlette(name) for name in TABLES}
words = sorted({word for paths in PATHS.values() for path in paths for word in path.split("/")})
segments = st.sampled_from([*words, "", "x", "a b", "é", "stacks:x", "arn:x", "x\n"]).map(
    lambda word: "x" if word.startswith("{") else word
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, str]:
    """A table, a method, and a path of the table with segments exchanged, added or removed."""
    table = draw(st.sampled_from(sorted(TABLES)))
    path = draw(st.sampled_from(PATHS[table])).split("/")
    path = [draw(segments) if word.startswith("{") else word for word in path]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(1, len(path)))
        path[at : at + draw(st.integers(0, 2))] = draw(st.lists(segments, max_size=2))
    return table, draw(st.sampled_from(METHODS)), "/v1" + "/".join(path)


def wanted(table: str, scope: dict[str, Any]) -> tuple[Match, Any]:
    kind, found = Match.NONE, None
    for route in ROUTES[table]:
        match, child = route.matches(scope)
        if match is Match.FULL:
            return match, child["path_params"]
        if match is Match.PARTIAL and found is None:
            kind, found = match, child["path_params"]
    return kind, found


@given(requests())
@example(("stacks", "HEAD", "/v1/t/stacks/preview"))
def test_the_same_path_is_found(request: tuple[str, str, str]) -> None:
    table, method, path = request
    scope = {"type": "http", "method": method, "path": path}
    kind, params = wanted(table, scope)
    found, child = FOUND[table].matches(scope)
    assert found is (Match.NONE if kind is Match.NONE else Match.FULL)  # the handler gives the 405
    assert child.get("path_params") == params


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("OPTIONS", 204)])
def test_the_answer_is_that_of_the_path(method: str, status: int) -> None:
    scope = {
        "type": "http", "method": method, "path": "/root/v1/t/stacks", "root_path": "/root",
        "headers": [], "query_string": b"", "state": {},
    }  # fmt: skip
    match, child = FOUND["stacks"].matches(scope)
    assert match is Match.FULL
    said: list[Any] = []

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        said.append(message)

    asyncio.run(FOUND["stacks"].handle({**scope, **child}, receive, send))
    assert said[0]["status"] == status
    assert said[1]["body"] == (b"/{tenant_id}/stacks" if status == 200 else b"")


def test_other_connections_are_refused() -> None:
    assert FOUND["stacks"].matches({"type": "websocket", "path": "/v1/t/stacks"})[0] is Match.NONE
    with pytest.raises(NoMatchFound):
        FOUND["stacks"].url_path_for("stacks")
