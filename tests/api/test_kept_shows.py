"""A kept show is the same as a fresh one, whatever has happened to the stack and to its caller."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from benchmarks.inside import CALLER, Inside, inside
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy.exc import OperationalError
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.access_rules import ApiCall
from hearth.api.app import application
from hearth.api.front.chain import fronted
from hearth.api.front.front import Front
from hearth.api.front.in_turn import Steps
from hearth.api.response_cache import ResponseCache
from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.fault import CloudFault
from hearth.service.caller import AccessRule, Caller
from hearth.service.reading import outputs as service
from hearth.service.services import Services
from hearth.store import tables
from hearth.telemetry.observer import Observer

MEMBER = replace(CALLER, roles=frozenset({"member", "reader"}), token="t")
TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  word: {type: string, default: one}
  secret: {type: string, default: hush, hidden: true}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: word}}}
  text: {type: OS::Heat::RandomString}
outputs:
  said: {value: {get_attr: [value, value]}}
  text: {value: {get_attr: [text, value]}}
  hidden: {value: {get_param: secret}}
"""
PLAIN = "heat_template_version: 2018-08-31\nresources: {a: {type: OS::Heat::None}}\n"
FAILING = """
heat_template_version: 2018-08-31
resources: {a: {type: OS::Heat::Value, properties: {value: [1]}}}
outputs: {bad: {value: {str_split: [",", {get_attr: [a, value]}]}}}
"""
PARENT = """
heat_template_version: 2018-08-31
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: OS::Heat::Value, properties: {value: 1}}}
outputs: {values: {value: {get_attr: [group, value]}}}
"""


class Tokens:
    """All tokens belong to one caller, as long as Keystone answers."""

    def __init__(self) -> None:
        self.owner: Caller | None = MEMBER
        self.answers = True

    async def caller(
        self, token: str, call: ApiCall, service_token: str | None = None
    ) -> Caller | None:
        if not self.answers:
            raise CloudFault("identity", 503, "x", "y")
        return None if self.owner is None else replace(self.owner, token=token)


class Rates:
    """A limit that a test lets a caller reach."""

    def __init__(self) -> None:
        self.left_s = 0.0

    def wait_s(self, caller: Caller) -> float:
        return self.left_s


class Reports(Observer):
    """What the metrics get to know of requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str, int]] = []

    def request_ended(self, api: str, route: str, method: str, status: int, seconds: float) -> None:
        self.requests.append((api, route, method, status))


class Counted(ResponseCache):
    """A cache that counts the requests that it answered; without `keeps` there are none."""

    def __init__(self, services: Services, *, keeps: bool = True) -> None:
        super().__init__(services)
        self.keeps, self.hits = keeps, 0

    async def answer(
        self, request: Request, caller: Caller, respond: Any, selectors: Any = None
    ) -> Response:
        handled = False

        async def handler() -> Response:
            nonlocal handled
            handled = True
            return await respond()  # type: ignore[no-any-return]

        if not self.keeps:
            return await handler()
        response = await super().answer(request, caller, handler, selectors)
        self.hits += not handled
        return response


class Api:
    """The Orchestration API of one process; `known` counts what does not reach the handlers."""

    def __init__(self, running: Inside) -> None:
        self.running, self.services = running, running.services
        self.tokens, self.rates = Tokens(), Rates()
        self.front = Front(observer=Reports())
        self.known = Counted(self.services)
        self.headers: dict[str, str] = {}
        self._app = self._with(self.known)
        self._fresh = self._with(Counted(self.services, keeps=False))

    def _with(self, responses: ResponseCache) -> Any:
        gate: Any = None
        rates: Any = self.rates
        app = application(self.services, self.tokens, gate, "http://main", rates, responses)
        return fronted(app, self.front, Steps(self.services.compute.usage), self._database)

    async def _database(self) -> None:
        """Be available."""

    @property
    def hits(self) -> int:
        return self.known.hits

    async def ask(
        self, path: str, *, method: str = "GET", body: Any = None, query: str = "",
        token: str = "t", fresh: bool = False, more: Any = (), scheme: str = "http",
    ) -> tuple[int, Any]:  # fmt: skip
        sent = json.dumps(body).encode() if body is not None else b""
        headers = {b"host": b"here", b"x-auth-token": token.encode(), **dict(more)}
        path = f"/v1/project{path}"
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "headers": [*headers.items()],
            "state": {}, "scheme": scheme, "server": ("here", 80), "client": ("127.0.0.1", 1),
            "http_version": "1.1",
        }  # fmt: skip
        said: list[Any] = []

        parts = iter([{"type": "http.request", "body": sent, "more_body": False}])

        async def receive() -> Any:
            return next(parts, None) or await asyncio.Future()

        async def send(message: Any) -> None:
            said.append(message)

        await (self._fresh if fresh else self._app)(scope, receive, send)
        raw = b"".join(one.get("body", b"") for one in said[1:])
        self.headers = {name.decode(): value.decode() for name, value in said[0]["headers"]}
        return said[0]["status"], json.loads(raw) if raw else None

    async def made(self, template: str, name: str = "web") -> str:
        """A complete stack, already shown once; its path."""
        row, _ = await self.running.create(name, template)
        path = f"/stacks/{name}/{row.id}"
        assert (await self.ask(path))[0] == 200
        return path

    async def is_kept(self, path: str, **how: Any) -> bool:
        """Whether the second of two equal requests does not reach the handler."""
        await self.ask(path, **how)
        before = self.hits
        await self.ask(path, **how)
        return self.hits == before + 1


def told(folder: Path, story: Callable[[Api], Awaitable[None]]) -> None:
    async def run() -> None:
        async with inside(folder / "hearth.db") as running:
            await story(Api(running))

    asyncio.run(run())


STEPS: dict[str, tuple[str, str, Any]] = {
    "another value": ("PATCH", "", {"existing": True, "parameters": {"word": "two"}}),
    "a first value": ("PATCH", "", {"existing": True, "parameters": {"word": "one"}}),
    "tags": ("PATCH", "", {"existing": True, "tags": "a,b"}),
    "another template": ("PUT", "", {"template": PLAIN}),
    "the template": ("PUT", "", {"template": TEMPLATE}),
    "a nested one": ("PUT", "", {"template": PARENT}),
    "a failing one": ("PUT", "", {"template": FAILING}),
    "suspend": ("POST", "/actions", {"suspend": None}),
    "resume": ("POST", "/actions", {"resume": None}),
    "check": ("POST", "/actions", {"check": None}),
    "unhealthy": ("PATCH", "/resources/value", {"mark_unhealthy": True}),
    "snapshot": ("POST", "/snapshots", {}),
    "delete": ("DELETE", "", None),
}  # fmt: skip


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5))
def test_a_kept_show_is_a_fresh_show(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE)
        ways = [
            {"path": f"{path}/resources"},
            {"path": f"{path}/resources", "query": "with_detail=True&status=COMPLETE"},
            {"path": path},
            {"path": path, "query": "resolve_outputs=False"},
        ]
        for name in steps:
            method, below, body = STEPS[name]
            for how in ways:
                await api.ask(**how)
            await api.ask(path + below, method=method, body=body)
            for _ in range(1000):
                for how in ways:  # from the first moment
                    kept, fresh = await api.ask(**how), await api.ask(**how, fresh=True)
                    if kept != fresh:  # something happened in between
                        assert kept != await api.ask(**how)
                if "IN_PROGRESS" not in str(fresh):
                    break
                await asyncio.sleep(0.005)
            for how in ways:
                fresh = await api.ask(**how, fresh=True)
                assert await api.ask(**how) == await api.ask(**how) == fresh

    told(tmp_path_factory.mktemp("known"), story)


@pytest.mark.parametrize(
    ("template", "kept", "listed"),
    [
        (TEMPLATE, True, True),
        (PLAIN, True, True),
        (FAILING, False, True),
        (PARENT, False, False),
    ],
)
def test_what_is_kept(tmp_path: Path, template: str, kept: bool, listed: bool) -> None:
    """Not what depends on more than the rows of the stack, or may have taken too long."""

    async def story(api: Api) -> None:
        path = await api.made(template)
        assert await api.is_kept(path) is kept
        assert await api.is_kept(path, query="resolve_outputs=False") is True
        assert not await api.is_kept(path, method="HEAD")
        assert not await api.is_kept(f"{path}/outputs")
        assert await api.is_kept(f"{path}/resources") is listed
        assert await api.is_kept(f"{path}/resources", query="nested_depth=2") is listed
        assert not await api.is_kept(f"{path}/resources/")

    told(tmp_path, story)


CHANGES: dict[str, Callable[[Api], None]] = {
    "another role": lambda api: owned(api, roles=frozenset({"reader"})),
    "another name": lambda api: owned(api, user_name="other"),
    "an access rule": lambda api: owned(api, access_rules=(AccessRule("a", "GET", "/"),)),
    "a user of a stack": lambda api: owned(api, roles=frozenset({STACK_USER_ROLE})),
    "an administrator": lambda api: forbidden(api, "context_is_admin"),
    "hidden values": lambda api: forbidden(api, "stacks:show_hidden_values"),
    "too often": lambda api: setattr(api.rates, "left_s", 1.0),
    "no Keystone": lambda api: setattr(api.tokens, "answers", False),
    "no database": lambda api: broken(api),
}


def owned(api: Api, **values: Any) -> None:
    assert api.tokens.owner is not None
    api.tokens.owner = replace(api.tokens.owner, **values)


def forbidden(api: Api, rule: str) -> None:
    """The rule now has the opposite result."""
    policy, before = api.services.policy, api.services.policy.allows
    policy.allows = lambda name, *rest: (name == rule) is not before(name, *rest)  # type: ignore


def broken(api: Api) -> None:
    async def read(fn: Any) -> Any:
        raise OperationalError("select", {}, Exception("no database"))

    api.known._of_stacks._store = type("Broken", (), {"read": staticmethod(read)})()


RULES = {"": "stacks:show", "/resources": "resource:index"}


@pytest.mark.parametrize("below", RULES)
@pytest.mark.parametrize("change", [*sorted(CHANGES), "not allowed"])
def test_handlers_answer_after_every_change(tmp_path: Path, change: str, below: str) -> None:
    changes = {**CHANGES, "not allowed": lambda api: forbidden(api, RULES[below])}

    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE) + below
        assert await api.is_kept(path)
        changes[change](api)
        before = api.hits
        assert await api.ask(path) == await api.ask(path, fresh=True)
        assert api.hits == before

    told(tmp_path, story)


@pytest.mark.parametrize(
    "how",
    [{"scheme": "https"}, {"more": {b"host": b"there"}}, {"query": "x=1"}],
    ids=["scheme", "host", "query"],
)
def test_another_request_has_another_response(tmp_path: Path, how: Any) -> None:
    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE)
        assert await api.is_kept(path)
        before = api.hits
        assert await api.ask(path, **how) == await api.ask(path, fresh=True, **how)
        assert api.hits == before

    told(tmp_path, story)


def test_another_token_of_the_same_caller_has_the_same_response(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE)
        assert await api.is_kept(path)
        before = api.hits
        await api.ask(path, token="u")
        assert api.hits == before + 1

    told(tmp_path, story)


def test_a_client_that_has_the_response_gets_a_304(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE)
        _, shown = await api.ask(path)
        tag = api.headers["etag"]
        assert api.headers["cache-control"] == "private, no-cache"
        for sent in (tag, f"W/{tag}", f'"x", {tag}'):
            assert await api.ask(path, more={b"if-none-match": sent.encode()}) == (304, None)
            assert api.headers["etag"] == tag
            assert "content-length" not in api.headers
            assert "x-openstack-request-id" in api.headers
        for sent in (tag[1:], tag[:-2], '"x"', ""):
            assert await api.ask(path, more={b"if-none-match": sent.encode()}) == (200, shown)

    told(tmp_path, story)


def test_a_304_is_for_the_view_of_the_caller(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE)
        await api.ask(path)
        more = {b"if-none-match": api.headers["etag"].encode()}
        forbidden(api, "stacks:show_hidden_values")
        status, shown = await api.ask(path, more=more)
        assert status == 200
        assert "hush" not in str(shown)
        api.tokens.owner = None
        assert (await api.ask(path, more=more))[0] == 401

    told(tmp_path, story)


COLUMNS = [
    (table, column.name)
    for table in (tables.stack, tables.resource)
    for column in table.columns
    if not column.primary_key and column.name not in ("stack_id", "root_id")
]


@pytest.mark.parametrize("below", ["", "/resources"])
def test_every_column_counts(tmp_path: Path, below: str) -> None:
    """A change of any column makes the kept response invalid."""

    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE) + below
        engine = api.services.store.sync_engine
        unread = []
        for table, name in COLUMNS:
            assert await api.is_kept(path)
            column = table.c[next(c.key for c in table.columns if c.name == name)]
            with engine.begin() as tx:
                row = tx.execute(sa.select(table.c.id, column)).first()
                assert row is not None
                before = row[1]
                fresh: Any = {bool: not before, int: 7, float: 7.5, bytes: b"other"}.get(
                    column.type.python_type, "OTHER"
                )
                fresh = "converge" if name == "options" else fresh  # it is a set of words
                where = table.c.id == row[0]
                tx.execute(table.update().where(where).values({column.key: fresh}))
            before_hits = api.hits
            with contextlib.suppress(Exception):  # the routes cannot read the row any more
                await api.ask(path)
            if api.hits != before_hits:
                unread.append(f"{table.name}.{name}")
            with engine.begin() as tx:
                tx.execute(table.update().where(where).values({column.key: before}))
        assert not unread

    told(tmp_path, story)


def test_requests_at_once_share_a_read(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        paths = [await api.made(PLAIN, "a"), await api.made(TEMPLATE, "b")]
        for path in paths:
            assert await api.is_kept(path)
        fresh = [await api.ask(path, fresh=True) for path in paths]
        before, hits = api.services.store.statements, api.hits
        found = await asyncio.gather(*[api.ask(paths[n % 2]) for n in range(40)])
        assert found == [fresh[n % 2] for n in range(40)]
        assert api.hits == hits + 40
        assert api.services.store.statements - before <= 12

    told(tmp_path, story)


@pytest.mark.parametrize("what", ["_live", "asked_for"])
def test_what_the_cloud_says_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async def nothing(*_: Any) -> Any:
        return {}

    async def story(api: Api) -> None:
        path = await api.made(TEMPLATE)
        assert await api.is_kept(path)
        monkeypatch.setattr(service, what, lambda *_: {("value", "value"): None})
        monkeypatch.setattr(service, "_fresh", nothing)
        monkeypatch.setattr(service, "_zones", nothing)
        assert not await api.is_kept(path, query="resolve_outputs=True")

    told(tmp_path, story)


def test_metrics_have_the_same_route(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        path = await api.made(PLAIN)
        assert await api.is_kept(path)
        assert await api.is_kept(f"{path}/resources")
        assert isinstance(api.front.observer, Reports)
        route = "/v1/{tenant_id}/stacks/{stack_name}/{stack_id}"
        assert Counter(api.front.observer.requests) == {
            ("orchestration", route, "GET", 200): 3,
            ("orchestration", f"{route}/resources", "GET", 200): 2,
        }

    told(tmp_path, story)


def test_the_log_names_the_project(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: Api) -> None:
        path = await api.made(PLAIN)
        assert await api.is_kept(path)
        caplog.clear()
        with caplog.at_level("INFO", "hearth.access"):
            await api.ask(path)
        [line] = [one.getMessage() for one in caplog.records]
        assert line.endswith(" project project")

    told(tmp_path, story)
