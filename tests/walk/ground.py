"""What walks go over: a server, people of every kind, stacks to be asked about."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from hearth.api.endpoint import Endpoint
from hearth.api.v1.routes import ROUTES
from tests.clients.dev import Dev, wait_for

FACTS = Path(__file__).parents[1] / "facts"
PASSWORD = "secret"
WORDS = "A secret of the first project"
TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2021-04-16",
    "description": "To be walked over",
    "parameters": {
        "hidden": {"type": "string", "hidden": True, "default": WORDS},
        "size": {"type": "number", "default": 1},
    },
    "parameter_groups": [{"label": "all", "description": "All", "parameters": ["size"]}],
    "resources": {
        "value": {
            "type": "OS::Heat::Value",
            "properties": {"value": {"get_param": "hidden"}},
            "metadata": {"said": WORDS},
        },
        "child": {"type": "child.yaml"},
        "handle": {
            "type": "OS::Heat::WaitConditionHandle",
            "properties": {"signal_transport": "HEAT_SIGNAL"},
        },
    },
    "outputs": {
        "hidden": {"description": "It tells", "value": {"get_attr": ["value", "value"]}},
        "signal": {"value": {"get_attr": ["handle", "signal"]}},
    },
}
CHILD = "heat_template_version: 2021-04-16\nresources: {inner: {type: OS::Heat::None}}\n"
SMALL = {
    "heat_template_version": "2021-04-16",
    "resources": {"one": {"type": "OS::Heat::RandomString", "properties": {"length": 8}}},
}


@dataclass(frozen=True)
class Person:
    """Somebody with a token."""

    name: str
    token: str
    project_id: str
    roles: frozenset[str]
    user_id: str


@dataclass(frozen=True)
class Exchange:
    """A request and its answer."""

    endpoint: Endpoint
    method: str
    path: str  # below the version, with its query
    body: Any
    status: int
    headers: Mapping[str, str]
    answer: Any


@dataclass
class Ground:
    """A running server with people; `ask` is a request by one of them."""

    dev: Dev
    people: dict[str, Person] = field(default_factory=dict)
    stack: dict[str, str] = field(default_factory=dict)  # the path parameters of the first stack
    signers: dict[str, Any] = field(default_factory=dict)  # of the CloudFormation-style API

    def ask(
        self,
        name: str,
        method: str | None = None,
        *,
        by: str = "member",
        body: Any = None,
        query: str = "",
        headers: dict[str, str] | None = None,
        token: str | None = None,
        **path: str,
    ) -> Exchange:
        """Call the operation of that name (and method); `path` fills its path."""
        found = [o for o in ROUTES if o.name == name and method in (None, o.method)]
        if name == "stack_lookup_subpath":
            word = path.pop("word")
            found = [o for o in found if o.path.endswith(f"/{word}")]
        (endpoint,) = found
        return self.send(
            endpoint, by=by, body=body, query=query, headers=headers, token=token, **path
        )

    def send(
        self,
        endpoint: Endpoint,
        *,
        by: str = "member",
        body: Any = None,
        query: str = "",
        headers: dict[str, str] | None = None,
        token: str | None = None,
        **path: str,
    ) -> Exchange:
        person = self.people[by]
        filled = {"tenant_id": person.project_id, **path}
        way = re.sub(r"{(\w+)}", lambda m: quote(filled[m[1]], safe=""), endpoint.path)
        way += f"?{query}" if query else ""
        sent = {"X-Auth-Token": person.token if token is None else token, **(headers or {})}
        reply = requests.request(
            endpoint.method, f"{self.dev.url}/v1{way}", json=body, headers=sent,
            allow_redirects=False, timeout=30,
        )  # fmt: skip
        answer: Any = reply.text or None
        if "json" in reply.headers.get("Content-Type", ""):
            answer = reply.json()
        return Exchange(
            endpoint, endpoint.method, way, body, reply.status_code, reply.headers, answer
        )

    def create(self, name: str, by: str = "member", **body: Any) -> dict[str, str]:
        """A stack that is complete; its path parameters."""
        made = self.ask("stack_create", by=by, body={"stack_name": name, **body})
        assert made.status == 201, made
        path = {"stack_name": name, "stack_id": made.answer["stack"]["id"]}
        self.until(path, "CREATE_COMPLETE", by=by)
        return path

    def until(self, path: dict[str, str], state: str, by: str = "member") -> None:
        def look() -> bool | None:
            shown = self.ask("stack_show", by=by, query="resolve_outputs=false", **path).answer
            return shown["stack"]["stack_status"] == state or None

        wait_for(look, f"{path['stack_name']} {state}")


def prepare(dev: Dev) -> Ground:
    """People of every kind, and the first project's stack."""
    ground = Ground(dev)
    admin = log_in(dev, {"name": "admin", "domain": {"name": "Default"}}, "admin")
    make = Identity(dev, admin.token)
    demo = make.find("projects", "demo")
    other = make.create("projects", "project", {"name": "other"})
    for name, project, roles in (
        ("member", demo, ("member",)),
        ("reader", demo, ("reader",)),
        ("admin", demo, ("admin",)),
        ("nobody", demo, ("heat_stack_owner",)),
        ("stranger", other, ("member",)),
    ):
        user = {"name": f"walk-{name}", "password": PASSWORD, "domain_id": "default"}
        user_id = make.create("users", "user", user)
        for role in roles:
            make.grant(project, user_id, role)
        ground.people[name] = log_in(dev, {"id": user_id}, project, name)
    ground.stack = ground.create("walked", template=TEMPLATE, files={"child.yaml": CHILD})
    ground.people["guest"] = guest_of(ground, "member", ground.stack, "guest")
    theirs = ground.create("theirs", "stranger", template=TEMPLATE, files={"child.yaml": CHILD})
    ground.people["other guest"] = guest_of(ground, "stranger", theirs, "other guest")
    return ground


def guest_of(ground: Ground, owner: str, path: dict[str, str], name: str) -> Person:
    shown = ground.ask("stack_output_show", by=owner, output_key="signal", **path).answer
    value = shown["output"]["output_value"]
    means = json.loads(value) if isinstance(value, str) else value
    user = {"id": means["user_id"], "password": means["password"]}
    return log_in(ground.dev, user, means["project_id"], name)


def log_in(dev: Dev, user: dict[str, Any], project: str, name: str = "") -> Person:
    password = {"user": {"password": PASSWORD, **user}}
    named = {"name": project, "domain": {"name": "Default"}}
    scope = named if project in ("admin", "demo") else {"id": project}
    body = {
        "identity": {"methods": ["password"], "password": password},
        "scope": {"project": scope},
    }
    reply = requests.post(f"{dev.auth_url}/auth/tokens", json={"auth": body}, timeout=10)
    reply.raise_for_status()
    token = reply.json()["token"]
    roles = frozenset(role["name"] for role in token["roles"])
    secret, user_id = reply.headers["X-Subject-Token"], token["user"]["id"]
    return Person(name, secret, token["project"]["id"], roles, user_id)


@dataclass
class Identity:
    dev: Dev
    token: str

    def create(self, table: str, root: str, body: dict[str, Any]) -> str:
        reply = self._call("POST", f"/{table}", {root: body})
        return str(reply.json()[root]["id"])

    def find(self, table: str, name: str) -> str:
        return str(self._call("GET", f"/{table}?name={name}").json()[table][0]["id"])

    def grant(self, project: str, user: str, role: str) -> None:
        self._call("PUT", f"/projects/{project}/users/{user}/roles/{self.find('roles', role)}")

    def _call(self, method: str, path: str, body: Any = None) -> requests.Response:
        headers = {"X-Auth-Token": self.token}
        url = f"{self.dev.auth_url}{path}"
        reply = requests.request(method, url, json=body, headers=headers, timeout=10)
        reply.raise_for_status()
        return reply


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as aligned text."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
