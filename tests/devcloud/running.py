"""Start and stop a cloud in a thread; call it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import requests

from hearth_devcloud.cloud import DevCloud
from hearth_devcloud.server import Running, serve
from hearth_devcloud.settings import Settings


class Served:
    """A cloud that answers; a context manager."""

    def __init__(self, settings: Settings | None = None, *, data: Path | None = None) -> None:
        self.settings = settings or Settings()
        self.data = data
        self.session = requests.Session()
        self.tokens: dict[tuple[str, str], str] = {}

    def __enter__(self) -> Served:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        start = serve(settings=self.settings, data=self.data)
        self.running: Running = asyncio.run_coroutine_threadsafe(start, self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()
        asyncio.run_coroutine_threadsafe(self.running.close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def url(self) -> str:
        return self.running.url

    @property
    def cloud(self) -> DevCloud:
        return self.running.cloud

    def token(self, user: str = "demo", project: str | None = None) -> str:
        """A token of a user in its project."""
        key = (user, project or user)
        if key not in self.tokens:
            who = {"name": user, "domain": {"id": "default"}, "password": "secret"}
            where = {"name": key[1], "domain": {"id": "default"}}
            auth = {
                "identity": {"methods": ["password"], "password": {"user": who}},
                "scope": {"project": where},
            }
            reply = self.session.post(f"{self.url}/identity/v3/auth/tokens", json={"auth": auth})
            assert reply.status_code == 201, reply.text
            self.tokens[key] = reply.headers["X-Subject-Token"]
        return self.tokens[key]

    def call(
        self, method: str, path: str, body: Any = None, *, user: str = "demo", **more: Any
    ) -> requests.Response:
        """A call with a user's token; `more` goes to requests."""
        headers = {"X-Auth-Token": self.token(user), **more.pop("headers", {})}
        if body is not None:
            more["json"] = body
        more.setdefault("timeout", 10)
        return self.session.request(method, f"{self.url}{path}", headers=headers, **more)

    def client_config(self, user: str = "demo") -> dict[str, Any]:
        """What `openstack.connect` takes."""
        return {
            "auth_url": self.running.auth_url,
            "username": user,
            "password": "secret",
            "project_name": user,
            "user_domain_id": "default",
            "project_domain_id": "default",
            "region_name": "RegionOne",
        }
