"""The API over HTTP, as any program would call it."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, hearth_dev, wait_for


class Caller:
    """Calls by users with tokens of their own; redirects are not followed."""

    def __init__(self, dev: Dev) -> None:
        self.dev = dev
        self._tokens: dict[str, tuple[str, str]] = {}
        self._projects = {"hearth": "service"}  # of users whose project has another name

    def login(self, user: str = "demo") -> tuple[str, str]:
        """A token of a user in its project, and the project's id."""
        if user not in self._tokens:
            default = {"name": "Default"}
            password = {"user": {"name": user, "domain": default, "password": "secret"}}
            project = self._projects.get(user, user)
            body = {
                "identity": {"methods": ["password"], "password": password},
                "scope": {"project": {"name": project, "domain": default}},
            }
            url = f"{self.dev.auth_url}/auth/tokens"
            reply = requests.post(url, json={"auth": body}, timeout=10)
            self._tokens[user] = (
                reply.headers["X-Subject-Token"],
                reply.json()["token"]["project"]["id"],
            )
        return self._tokens[user]

    def log_in_as(self, user: str, project: str) -> str:
        """Have a user called by its name, in that project; gives the name."""
        self._projects[user] = project
        return user

    def url(self, path: str, user: str = "demo") -> str:
        return f"{self.dev.url}/v1/{self.login(user)[1]}{path}"

    def call(
        self, method: str, path: str, body: Any = None, *, user: str = "demo", **more: Any
    ) -> requests.Response:
        """A call below the user's own project; `more` goes to requests."""
        headers = {"X-Auth-Token": self.login(user)[0], **more.pop("headers", {})}
        url = path if path.startswith("http") else self.url(path, user)
        return requests.request(
            method, url, json=body, headers=headers, allow_redirects=False, timeout=30, **more
        )

    def create(self, name: str, template: str, **more: Any) -> str:
        """A stack that is complete; its canonical path below the project."""
        reply = self.call("POST", "/stacks", {"stack_name": name, "template": template, **more})
        assert reply.status_code == 201, reply.text
        path = f"/stacks/{name}/{reply.json()['stack']['id']}"
        self.until(path, "CREATE_COMPLETE")
        return path

    def until(self, path: str, state: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            stack = self.call("GET", path).json()["stack"]
            return stack if stack["stack_status"] == state else None

        return wait_for(look, f"{path} {state}")

    def ended(self, path: str, user: str = "demo") -> dict[str, Any]:
        """The stack when nothing goes on in it any more; empty when it is gone."""

        def look() -> dict[str, Any] | None:
            shown = self.call("GET", path, user=user)
            if shown.status_code == 404:
                return {"stack_status": "DELETE_COMPLETE"}
            stack: dict[str, Any] = shown.json()["stack"]
            return None if stack["stack_status"].endswith("IN_PROGRESS") else stack

        return wait_for(look, f"{path} at rest")


@pytest.fixture(scope="package")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as dev:
        yield Caller(dev)


@pytest.fixture(scope="package")
def stranger(api: Caller) -> str:
    """A member of a project without stacks, and no administrator."""
    with api.dev.sdk("hearth-admin") as admin:
        user = admin.identity.create_user(name="stranger", password="secret")
        role = admin.identity.find_role("member")
        admin.identity.assign_project_role_to_user(api.login("hearth")[1], user, role)
    return api.log_in_as("stranger", "service")
