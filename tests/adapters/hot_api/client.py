"""The Orchestration API as a client has it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

SETTLES_S = 15.0
LOOKS_S = (0.005, 0.1)  # the first pause between two looks at a stack, and the longest
BODY = ("template", "parameters", "environment", "files", "environment_files")

Body = Mapping[str, Any]


class Fault(Exception):
    """The API said no: HTTP status, `error.type` and `error.message`."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(f"{status} {kind}: {message}")
        self.status, self.kind, self.message = status, kind, message


@dataclass(frozen=True)
class Stack:
    """A stack of ours: its name, its id and its path below the project."""

    name: str
    id: str
    path: str


class Api:
    """One server, as one user of one project."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, auth_url: str, token: str, project_id: str
    ) -> None:
        self._session, self._url, self._token = session, f"{url}/{project_id}", token
        self.auth_url, self.project_id = auth_url, project_id
        self._numbers = itertools.count(1)
        self._types: asyncio.Task[dict[str, Body]] | None = None

    @classmethod
    async def entered(cls, session: aiohttp.ClientSession, url: str, auth_url: str) -> Api:
        """With a token of the demo user."""
        default = {"name": "Default"}
        password = {"user": {"name": "demo", "domain": default, "password": "secret"}}
        scope = {"project": {"name": "demo", "domain": default}}
        identity = {"methods": ["password"], "password": password}
        body = {"auth": {"identity": identity, "scope": scope}}
        async with session.post(f"{auth_url}/auth/tokens", json=body) as reply:
            token = reply.headers["X-Subject-Token"]
            project_id = (await reply.json())["token"]["project"]["id"]
        return cls(session, url, auth_url, token, project_id)

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """The answer's body. Raises Fault."""
        headers = {"X-Auth-Token": self._token}
        url = self._url + path
        request = self._session.request(method, url, json=body, headers=headers, params=query)
        async with request as reply:
            answer = await reply.json() if reply.content_type == "application/json" else None
            if reply.status >= 400:
                error = (answer or {}).get("error") or {}
                raise Fault(reply.status, error.get("type", ""), error.get("message", ""))
            return answer

    @asynccontextmanager
    async def stack(self, body: Body) -> AsyncIterator[Stack]:
        """A stack made from the body of a request; deleted in the end. Raises Fault."""
        name = f"vector-{next(self._numbers)}"
        made = await self.call("POST", "/stacks", {"stack_name": name, **body})
        ident = made["stack"]["id"]
        stack = Stack(name, ident, f"/stacks/{name}/{ident}")
        try:
            yield stack
        finally:
            await self.delete(stack)

    async def delete(self, stack: Stack) -> None:
        """Have the stack go, if it has not gone yet."""
        try:
            await self.call("DELETE", stack.path)
        except Fault as fault:
            if fault.status != 404:
                raise

    async def settled(self, stack: Stack) -> Body:
        """The stack once its action has ended, without outputs."""
        pause_s, longest_s = LOOKS_S
        async with asyncio.timeout(SETTLES_S):
            while True:
                shown = await self.shown(stack, outputs=False)
                if not shown["stack_status"].endswith("_IN_PROGRESS"):
                    return shown
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, longest_s)

    async def shown(self, stack: Stack, *, outputs: bool = True) -> Body:
        """The stack as it is."""
        query = {"resolve_outputs": str(outputs).lower()}
        found: Body = (await self.call("GET", stack.path, **query))["stack"]
        return found

    async def preview(self, body: Body) -> list[Any]:
        """The resources of a stack that would be created. Raises Fault."""
        named = {"stack_name": "preview", **body}
        found: list[Any] = (await self.call("POST", "/stacks/preview", named))["stack"]["resources"]
        return found

    async def resources(self, stack: Stack) -> list[Body]:
        """The resources of a stack, those of nested ones left out."""
        found: list[Body] = (await self.call("GET", f"{stack.path}/resources"))["resources"]
        return found

    async def types(self) -> Mapping[str, Body]:
        """The schemas of all resource types, by name; asked for once."""
        if self._types is None:
            self._types = asyncio.create_task(self._all_types())
        return await self._types

    async def _all_types(self) -> dict[str, Body]:
        names = (await self.call("GET", "/resource_types"))["resource_types"]
        shown = await asyncio.gather(*(self.call("GET", f"/resource_types/{n}") for n in names))
        return dict(zip(names, shown, strict=True))


def request_of(vector: Body) -> dict[str, Any]:
    """The body of a request: what the vector says, as it says it."""
    return {key: vector[key] for key in BODY if vector.get(key) is not None}
