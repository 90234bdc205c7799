"""Who may do what, and tokens that end."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.fixed_ids import fixed_hex
from hearth_devcloud.settings import Settings
from tests.devcloud.running import Served

HEAT = fixed_hex("domain", "heat")


def log_in(served: Served, scope: Any = None, **user: Any) -> Any:
    identity = {"methods": ["password"], "password": {"user": {"password": "secret", **user}}}
    auth: dict[str, Any] = {"identity": identity}
    if scope is not None:
        auth["scope"] = scope
    return served.session.post(f"{served.url}/identity/v3/auth/tokens", json={"auth": auth})


def test_the_admin_of_the_stack_domain_makes_users_in_it(served: Served) -> None:
    reply = log_in(
        served, {"domain": {"id": HEAT}}, name="heat_domain_admin", domain={"name": "heat"}
    )
    assert reply.status_code == 201
    headers = {"X-Auth-Token": reply.headers["X-Subject-Token"]}
    base = f"{served.url}/identity/v3"
    project = {"project": {"name": "demo-stack", "domain_id": HEAT}}
    project = served.session.post(f"{base}/projects", json=project, headers=headers).json()
    user = {"user": {"name": "stack-user", "password": "pw", "domain_id": HEAT}}
    user = served.session.post(f"{base}/users", json=user, headers=headers).json()
    project_id, user_id = project["project"]["id"], user["user"]["id"]
    role = fixed_hex("role", "heat_stack_user")
    path = f"{base}/projects/{project_id}/users/{user_id}/roles/{role}"
    assert served.session.put(path, headers=headers).status_code == 204

    reply = log_in(served, {"project": {"id": project_id}}, id=user_id, password="pw")
    assert [r["name"] for r in reply.json()["token"]["roles"]] == ["heat_stack_user"]


def test_a_disabled_user_has_no_valid_token_any_more(served: Served) -> None:
    user = {"user": {"name": "brief", "password": "secret"}}
    user = served.call("POST", "/identity/v3/users", user, user="admin").json()["user"]
    token = log_in(served, id=user["id"]).headers["X-Subject-Token"]
    headers = {"X-Auth-Token": token}
    path = f"{served.url}/identity/v3/users/{user['id']}"
    assert served.session.get(path, headers=headers).status_code == 200
    change = {"user": {"enabled": False}}
    served.call("PATCH", f"/identity/v3/users/{user['id']}", change, user="admin")
    assert served.session.get(path, headers=headers).status_code == 401


def test_a_token_ends_when_its_time_is_over() -> None:
    with Served(Settings(token_life_s=0.0)) as served:
        reply = served.call("GET", "/network/v2.0/networks")
        assert reply.status_code == 401


def test_a_member_sees_no_users(served: Served) -> None:
    assert served.call("GET", "/identity/v3/users").status_code == 403


def test_names_are_the_same_in_upper_and_lower_case(served: Served) -> None:
    """As in the databases that Keystone is installed on: to log in, in lists, and when made."""
    scope = {"project": {"name": "DEMO", "domain": {"name": "default"}}}
    token = log_in(served, scope, name="Demo", domain={"name": "dEFAULT"})
    assert token.status_code == 201
    assert token.json()["token"]["user"]["name"] == "demo"
    for kind, key in (("domains", "domain"), ("projects", "project"), ("users", "user")):
        path = f"/identity/v3/{kind}"
        one = served.call("GET", path, user="admin").json()[kind][0]
        other = one["name"].swapcase()
        found = served.call("GET", f"{path}?name={other}", user="admin").json()[kind]
        assert one["id"] in [view["id"] for view in found]
        again = {key: {"name": other, "domain_id": one.get("domain_id") or "default"}}
        if kind == "domains":
            again = {key: {"name": other}}
        assert served.call("POST", path, again, user="admin").status_code == 409
    assert log_in(served, name="demo", domain={"name": "Defaults"}).status_code == 401


class Person:
    """A new user, who may have roles on the project demo."""

    def __init__(self, served: Served, name: str) -> None:
        self._served = served
        self.base = f"{served.url}/identity/v3"
        self.project = fixed_hex("project", "demo")
        user = {"user": {"name": name, "password": "secret"}}
        made = served.call("POST", "/identity/v3/users", user, user="admin")
        self.id = made.json()["user"]["id"]

    def role(self, method: str, role: str, actor: str | None = None) -> None:
        """Grant (PUT) or revoke (DELETE) a role of the user or of a group."""
        whose = f"groups/{actor}" if actor else f"users/{self.id}"
        path = f"/identity/v3/projects/{self.project}/{whose}/roles/{role}"
        assert self._served.call(method, path, user="admin").status_code == 204

    def token(self) -> str:
        reply = log_in(self._served, {"project": {"id": self.project}}, id=self.id)
        assert reply.status_code == 201, reply.text
        return str(reply.headers["X-Subject-Token"])

    def valid(self, token: str) -> bool:
        headers = {"X-Auth-Token": token}
        reply = self._served.session.get(
            f"{self._served.url}/network/v2.0/networks", headers=headers
        )
        assert reply.status_code in (200, 401)
        return reply.status_code == 200

    def credential(self, token: str) -> Any:
        """A log-in by a new application credential, as a function."""
        body = {"application_credential": {"name": f"c{token[-8:]}"}}
        path = f"{self.base}/users/{self.id}/application_credentials"
        headers = {"X-Auth-Token": token}
        made = self._served.session.post(path, json=body, headers=headers).json()
        made = made["application_credential"]
        proof = {"id": made["id"], "secret": made["secret"]}
        identity = {"methods": ["application_credential"], "application_credential": proof}
        body = {"auth": {"identity": identity}}
        return lambda: self._served.session.post(f"{self.base}/auth/tokens", json=body)


MEMBER, READER = fixed_hex("role", "member"), fixed_hex("role", "reader")


def test_tokens_end_with_the_role_that_they_have(served: Served) -> None:
    ann = Person(served, "ann")
    ann.role("PUT", MEMBER)
    ann.role("PUT", READER)
    token = ann.token()
    again = ann.credential(token)
    by_credential = again().headers["X-Subject-Token"]
    assert ann.valid(token)
    assert ann.valid(by_credential)
    others = served.call("GET", "/network/v2.0/networks")
    ann.role("DELETE", MEMBER)
    assert not ann.valid(token)
    assert not ann.valid(by_credential)
    assert again().status_code == 401
    assert ann.valid(ann.token())  # as a reader
    assert others.status_code == served.call("GET", "/network/v2.0/networks").status_code == 200


def test_tokens_stay_while_another_role_implies_the_lost_one(served: Served) -> None:
    bob = Person(served, "bob")
    bob.role("PUT", MEMBER)
    bob.role("PUT", READER)
    token = bob.token()
    bob.role("DELETE", READER)
    assert bob.valid(token)


def test_tokens_end_with_the_group_that_gave_their_role(served: Served) -> None:
    eve = Person(served, "eve")
    groups = "/identity/v3/groups"
    ends = ("leave", "group", "grant", "role")
    for end in ends:
        made = served.call("POST", groups, {"group": {"name": end}}, user="admin")
        group = made.json()["group"]["id"]
        role_name = {"role": {"name": f"helper-{end}"}}
        made = served.call("POST", "/identity/v3/roles", role_name, user="admin")
        role = made.json()["role"]["id"]
        member = f"{groups}/{group}/users/{eve.id}"
        assert served.call("PUT", member, user="admin").status_code == 204
        eve.role("PUT", role, group)
        token = eve.token()
        assert eve.valid(token)
        if end == "grant":
            eve.role("DELETE", role, group)
        else:
            path = {"leave": member, "group": f"{groups}/{group}"}.get(end)
            path = path or f"/identity/v3/roles/{role}"
            assert served.call("DELETE", path, user="admin").status_code == 204
        assert not eve.valid(token), end
