"""Who may do what, and tokens that end."""

from __future__ import annotations

from typing import Any

from hearth.devcloud import Settings
from hearth.devcloud.fixed_ids import fixed_hex
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
        assert one["id"] in [thing["id"] for thing in found]
        again = {key: {"name": other, "domain_id": one.get("domain_id") or "default"}}
        if kind == "domains":
            again = {key: {"name": other}}
        assert served.call("POST", path, again, user="admin").status_code == 409
    assert log_in(served, name="demo", domain={"name": "Defaults"}).status_code == 401
