"""A kept response passes the same gate as a fresh one: every rule of the gate applies to both."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from benchmarks.inside import CALLER, inside
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from hearth.agent.agent import signature
from hearth.api.access_rules import ApiCall
from hearth.api.app import application
from hearth.api.cfn.accepted_keys import AcceptedKeys
from hearth.api.cfn.auth import Gate
from hearth.api.cfn.faults import CfnError
from hearth.api.front.chain import fronted
from hearth.api.front.front import Front
from hearth.api.front.in_turn import Steps
from hearth.cloud.config import STACK_USER_ROLE
from hearth.service.caller import AccessRule, Caller
from hearth.service.reading import describe_resource, resources
from hearth.store import tables
from tests.api.test_kept_shows import MEMBER, TEMPLATE, Counted, Rates

GUEST = replace(CALLER, user_id="guest", project_id="guests", roles=frozenset({STACK_USER_ROLE}))
PAUSE_S = 0.001


class Keystone:
    """Knows the tokens of both callers, and the signatures of the guest."""

    def __init__(self) -> None:
        self.owners: dict[str, Caller] = {"member": MEMBER, "guest": GUEST}
        self.asked = 0

    async def caller(
        self, token: Any, call: ApiCall | None = None, service_token: str | None = None
    ) -> Caller | None:
        if call is None:  # a signature
            self.asked += 1
            if "guest" not in self.owners:
                raise CfnError("AccessDenied")
            return replace(self.owners["guest"], token=f"t{self.asked}")
        owner = self.owners.get(token)
        if owner is not None and owner.access_rules is not None:
            return None  # as Tokens does, whose rules allow something else
        return owner and replace(owner, token=token)


class World:
    """The main API in this process, a stack, and the requests whose responses are kept."""

    def __init__(self, running: Any, path: str) -> None:
        self.services, self.path = running.services, path
        self.keystone, self.rates, self.front = Keystone(), Rates(), Front()
        self.responses = Counted(self.services)
        self.accepted = AcceptedKeys(self._secret, 300)
        self.status, self.body = 0, b""
        self.connect()

    async def _secret(self, *_: Any) -> str:
        return "secret"

    def connect(self) -> None:
        """Build the application, as it is now."""
        keystone: Any = self.keystone
        rates: Any = self.rates
        gate = Gate((keystone,), keystone, "http://main", self.accepted)
        app = application(self.services, keystone, gate, "http://main", rates, self.responses)
        steps = Steps(self.services.compute.usage)
        self.app = fronted(app, self.front, steps, self._database)

    async def _database(self) -> None:
        """Be available."""

    async def ask(self, path: str, query: str = "", token: str = "") -> bool:
        """Send a GET; return whether the response was a kept one."""
        headers = [(b"host", b"here"), *([(b"x-auth-token", token.encode())] if token else [])]
        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "headers": headers, "state": {},
            "scheme": "http", "server": ("here", 80), "client": ("127.0.0.1", 1),
            "http_version": "1.1",
        }  # fmt: skip
        said: list[Any] = []
        parts = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:
            return next(parts, None) or await asyncio.Future()

        async def send(message: Any) -> None:
            said.append(message)

        before = self.responses.hits
        await self.app(scope, receive, send)
        self.status = said[0]["status"]
        self.body = b"".join(message.get("body", b"") for message in said)
        self.headers = dict(said[0]["headers"])
        return self.responses.hits > before

    async def show(self) -> bool:
        return await self.ask(f"/v1/project{self.path}", token="member")

    async def index(self) -> bool:
        return await self.ask(f"/v1/project{self.path}/resources", token="member")

    async def metadata(self) -> bool:
        path = f"/v1/guests{self.path}/resources/value/metadata"
        return await self.ask(path, token="guest")

    async def signed(self) -> bool:
        params = {
            "Action": "DescribeStackResource", "StackName": self.path.rpartition("/")[2],
            "LogicalResourceId": "value", "AWSAccessKeyId": "key", "SignatureVersion": "2",
            "SignatureMethod": "HmacSHA256",
            "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }  # fmt: skip
        params["Signature"] = signature("GET", "http://here/cfn/v1/", params, "secret")
        return await self.ask("/cfn/v1/", urlencode(params))


WAYS: dict[str, Callable[[World], Awaitable[bool]]] = {
    "show": World.show, "index": World.index, "metadata": World.metadata, "signed": World.signed,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _guests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest may read the resource, as if it had been created for it."""

    async def may(*_: Any) -> None:
        """Refuse nothing."""

    monkeypatch.setattr(resources, "guest_may", may)
    monkeypatch.setattr(describe_resource, "guest_may", may)
    monkeypatch.setattr("hearth.api.response_cache.GATHER_S", PAUSE_S)


def told(
    folder: Path, way: str, story: Callable[[World, Callable[[], Any]], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with inside(folder / "hearth.db") as running:
            row, _ = await running.create("web", TEMPLATE)
            with running.services.store.sync_engine.begin() as tx:
                tx.execute(tables.stack.update().values(user_project_id="guests"))
            world = World(running, f"/stacks/web/{row.id}")

            async def ask() -> bool:
                return await WAYS[way](world)

            while not await ask():
                assert world.status == 200, world.body
            await story(world, ask)

    asyncio.run(run())


def policy(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule allows anything any more."""
    monkeypatch.setattr(type(world.services.policy), "allows", lambda *_: False)


def rate(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.rates.left_s = 1.0


def revoked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keystone no longer knows the callers, and nothing is remembered of their keys."""
    world.keystone.owners.clear()
    world.accepted._keys.drop("key")


def access_rules(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (AccessRule("compute", "GET", "/"),)
    for name, owner in world.keystone.owners.items():
        world.keystone.owners[name] = replace(owner, access_rules=rules)
    world.accepted._keys.drop("key")


async def refuse(self: Any, scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def new_middleware(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is added to the front."""
    monkeypatch.setattr("hearth.api.front.cors.CrossOrigin.__call__", refuse)


GATE = [policy, rate, revoked, access_rules, new_middleware]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", GATE, ids=lambda rule: rule.__name__)
def test_each_rule_of_the_gate_applies_to_kept_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, rule: Any
) -> None:
    async def story(world: World, ask: Callable[[], Any]) -> None:
        kept = world.body
        rule(world, monkeypatch)
        assert not await ask()
        assert world.status >= 400
        assert kept not in world.body

    told(tmp_path, way, story)


@pytest.mark.parametrize("way", WAYS)
def test_a_kept_response_has_an_id_of_its_own_and_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    async def story(world: World, ask: Callable[[], Any]) -> None:
        ids = set()
        with caplog.at_level("INFO", "hearth.access"):
            caplog.clear()
            for _ in range(3):
                assert await ask()
                ids.add(world.headers[b"x-openstack-request-id"])
        assert len(ids) == 3
        lines = [record.getMessage() for record in caplog.records]
        project = "guests" if way in ("metadata", "signed") else "project"
        assert len(lines) == 3
        assert all(line.endswith(f"project {project}") for line in lines)

    told(tmp_path, way, story)


def test_keystone_is_not_asked_about_each_poll(tmp_path: Path) -> None:
    async def story(world: World, ask: Callable[[], Any]) -> None:
        for _ in range(5):
            assert await ask()
        assert world.keystone.asked == 1

    told(tmp_path, "signed", story)
