"""Any Keystone, as its API shows it: the embedded one and a real one are asked alike."""

from dataclasses import dataclass, field
from typing import Any

import requests

from tests.keystone.prepare import PASSWORD

TIMEOUT_S = 30


@dataclass
class Identity:
    """A Keystone at an address, and its administrator's token."""

    url: str  # with the version
    session: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.admin = self.log_in("admin", project="admin")

    def authenticate(
        self, method: str, proof: dict[str, Any], scope: Any = None
    ) -> requests.Response:
        """POST /v3/auth/tokens."""
        auth: dict[str, Any] = {"identity": {"methods": [method], method: proof}}
        if scope is not None:
            auth["scope"] = scope
        return self.session.post(f"{self.url}/auth/tokens", json={"auth": auth}, timeout=TIMEOUT_S)

    def log_in(
        self,
        name: str,
        *,
        project: str | None = None,
        scope: Any = None,
        domain: str = "Default",
    ) -> str:
        """A token of a user, by its password, in a project of the default domain."""
        user = {"name": name, "domain": {"name": domain}, "password": PASSWORD}
        if project is not None:
            scope = {"project": {"name": project, "domain": {"id": "default"}}}
        return token_of(self.authenticate("password", {"user": user}, scope or "unscoped"))

    def call(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **more: Any
    ) -> requests.Response:
        """A call of the administrator, or of whoever has the token."""
        headers = {"X-Auth-Token": token or self.admin, **more.pop("headers", {})}
        return self.session.request(
            method, f"{self.url}{path}", json=body, headers=headers, timeout=TIMEOUT_S, **more
        )

    def make(self, path: str, root: str, body: Any, **more: Any) -> dict[str, Any]:
        """What a POST made."""
        answer = self.call("POST", path, {root: body}, **more)
        assert answer.status_code == 201, answer.text
        return dict(answer.json()[root])

    def find(self, table: str, name: str, **wanted: str) -> dict[str, Any]:
        """The member of that name."""
        answer = self.call("GET", f"/{table}", params={"name": name, **wanted})
        assert answer.status_code == 200, answer.text
        (found,) = answer.json()[table]
        return dict(found)

    def there(self, path: str, root: str, **wanted: str) -> list[dict[str, Any]]:
        """The members of a collection."""
        answer = self.call("GET", path, params=wanted)
        assert answer.status_code == 200, answer.text
        return list(answer.json()[root])

    def facts(self, token: str) -> dict[str, Any]:
        """What a token says."""
        answer = self.call("GET", "/auth/tokens", headers={"X-Subject-Token": token})
        assert answer.status_code == 200, answer.text
        return dict(answer.json()["token"])

    def revoke(self, token: str) -> None:
        answer = self.call("DELETE", "/auth/tokens", headers={"X-Subject-Token": token})
        assert answer.status_code == 204, answer.text

    def grant(self, role: str, user_id: str, *, project: str = "", domain: str = "") -> None:
        """A role for a user in a project or a domain, by ids."""
        place = f"projects/{project}" if project else f"domains/{domain}"
        role_id = self.find("roles", role)["id"]
        answer = self.call("PUT", f"/{place}/users/{user_id}/roles/{role_id}")
        assert answer.status_code == 204, answer.text

    def ensure(self, table: str, root: str, wanted: dict[str, Any]) -> str:
        """The id of the member with this name (and domain), made if it is missing."""
        narrow = {key: str(wanted[key]) for key in ("name", "domain_id") if key in wanted}
        found = self.there(f"/{table}", table, **narrow)
        return str(found[0]["id"] if found else self.make(f"/{table}", root, wanted)["id"])

    def person(self, name: str, project: str, *roles: str) -> "Person":
        """A user with roles in a project of the default domain; what is missing is made."""
        place = {"name": project, "domain_id": "default"}
        project_id = self.ensure("projects", "project", place)
        user = {"name": name, "domain_id": "default", "password": PASSWORD}
        user_id = self.ensure("users", "user", user)
        for role in roles:
            self.grant(role, user_id, project=project_id)
        return Person(name, project, user_id, project_id)


@dataclass(frozen=True)
class Person:
    """A user in a project."""

    name: str
    project: str
    user_id: str
    project_id: str


def token_of(answer: requests.Response) -> str:
    assert answer.status_code == 201, answer.text
    return str(answer.headers["X-Subject-Token"])
