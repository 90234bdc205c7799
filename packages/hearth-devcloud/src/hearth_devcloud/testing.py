"""A cloud for tests: it runs in a thread of the test's process.

Programs in other languages start the command `hearth-devcloud`, and use the same control API.
"""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from hearth_devcloud.fixed_ids import fixed_hex
from hearth_devcloud.server import Running, serve
from hearth_devcloud.settings import Settings

START_S = 30.0
REGION = "RegionOne"
Body = dict[str, Any]


class Refused(Exception):
    """A service of the cloud has refused a call. The message has its answer."""


@dataclass(frozen=True)
class Login:
    """A user of a project of the cloud, and where to log in."""

    auth_url: str
    username: str
    password: str
    project_name: str
    project_id: str

    @property
    def config(self) -> Body:
        """The arguments of `openstack.connect`, and of the password plug-in of keystoneauth."""
        return {
            "auth_url": self.auth_url,
            "username": self.username,
            "password": self.password,
            "project_name": self.project_name,
            "user_domain_id": "default",
            "project_domain_id": "default",
            "region_name": REGION,
        }

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of command line clients: OS_AUTH_URL and others."""
        return {
            "OS_IDENTITY_API_VERSION": "3",
            **{f"OS_{name.upper()}": value for name, value in self.config.items()},
        }


def admin(auth_url: str, password: str) -> Login:
    """Return the administrator of a cloud."""
    return Login(auth_url, "admin", password, "admin", fixed_hex("project", "admin"))


class TestCloud:
    """An embedded cloud that answers until `close`; also a context manager.

    `settings` are as for the command: the time that servers need to become ACTIVE, the quotas and
    others.
    """

    __test__ = False  # no test class

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cloud", daemon=True)
        self._thread.start()
        start = asyncio.run_coroutine_threadsafe(serve(settings=self._settings), self._loop)
        self._running: Running = start.result(START_S)
        self._token = ""

    def __enter__(self) -> TestCloud:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the cloud."""
        asyncio.run_coroutine_threadsafe(self._running.close(), self._loop).result(START_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_S)
        self._loop.close()

    @property
    def url(self) -> str:
        """The address of the cloud: `http://127.0.0.1:PORT`."""
        return self._running.url

    @property
    def auth_url(self) -> str:
        """The address of Keystone."""
        return self._running.auth_url

    @property
    def admin(self) -> Login:
        """The administrator."""
        return admin(self.auth_url, self._settings.password)

    def project(self, name: str, *roles: str) -> Login:
        """Create a project and a user of the same name that has these roles there.

        Without roles it gets `member`. Raises Refused if there is such a project already.
        """
        answer = self._admin_call("POST", "/identity/v3/projects", {"project": {"name": name}})
        project = answer["project"]["id"]
        user = {"name": name, "password": self._settings.password, "domain_id": "default"}
        owner = self._admin_call("POST", "/identity/v3/users", {"user": user})["user"]["id"]
        for role in self._admin_call("GET", "/identity/v3/roles")["roles"]:
            if role["name"] in (roles or ("member",)):
                grant = f"projects/{project}/users/{owner}/roles/{role['id']}"
                self._admin_call("PUT", f"/identity/v3/{grant}")
        return Login(self.auth_url, name, self._settings.password, name, project)

    def fail(self, match: Body, effect: Body) -> None:
        """Add a fault rule: calls that match get the effect. `docs/devcloud.md` lists the keys."""
        self._control("POST", "knobs", {"rules": [{"match": match, "effect": effect}]})

    def heal(self) -> None:
        """Remove all fault rules."""
        self._control("DELETE", "knobs")

    def snapshot(self) -> str:
        """Remember the state of the cloud; return the id for `restore`."""
        return str(self._control("POST", "snapshots")["id"])

    def restore(self, snapshot: str) -> None:
        """Go back to a state. The snapshot remains."""
        self._control("POST", f"snapshots/{snapshot}/restore")
        self._token = ""

    def objects(self, collection: str = "") -> list[Body]:
        """Return the existing objects that clients or services have created, such as those of the
        collection `networks`; without a name those of all collections.
        """
        entries: list[Body] = self._control("GET", "objects")["objects"]
        return [entry for entry in entries if collection in ("", entry["collection"])]

    def calls(self) -> list[Body]:
        """Return all calls of clients so far: method, path, status and duration."""
        entries: list[Body] = self._control("GET", "ledger?calls=1")["calls"]
        return entries

    def _control(self, method: str, path: str, body: Body | None = None) -> Body:
        return self._call(method, f"/devcloud/{path}", body)

    def _admin_call(self, method: str, path: str, body: Body | None = None) -> Body:
        if not self._token:
            domain = {"id": "default"}
            user = {"name": "admin", "domain": domain, "password": self._settings.password}
            auth = {
                "identity": {"methods": ["password"], "password": {"user": user}},
                "scope": {"project": {"name": "admin", "domain": domain}},
            }
            with self._open("POST", "/identity/v3/auth/tokens", {"auth": auth}) as answer:
                self._token = answer.headers["X-Subject-Token"]
        return self._call(method, path, body, {"X-Auth-Token": self._token})

    def _call(
        self, method: str, path: str, body: Body | None, headers: dict[str, str] | None = None
    ) -> Body:
        with self._open(method, path, body, headers) as answer:
            text = answer.read()
        document: Body = json.loads(text) if text else {}
        return document

    def _open(
        self, method: str, path: str, body: Body | None, headers: dict[str, str] | None = None
    ) -> Any:
        data = None if body is None else json.dumps(body).encode()
        all_headers = {"Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, data, all_headers, method=method)  # noqa: S310
        try:
            return urllib.request.urlopen(request, timeout=START_S)  # noqa: S310 - our own cloud
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(f"{method} {path}: {error.code} {error.read().decode()}") from None
