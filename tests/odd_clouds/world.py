"""An engine on a cloud behind the proxy, and the account of what became of a stack."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from hearth.model.state import Action
from hearth.store import accept, reads
from hearth.store.credentials import Requester
from hearth.store.rows import Options, Revision, StackRow
from hearth_devcloud.server import Running, serve
from tests.crash import account
from tests.engine.worker.test_faults import Town
from tests.odd_clouds.proxy import Proxy
from tests.resources.test_in_engine import new_id

TIMEOUT_MINS = 1
SETTLED_S = 300.0
SWEPT_S = 40.0  # after which an orphan is found and deleted


class OddTown(Town):
    """A town whose engine reaches the cloud through `proxy`."""

    async def cloud(self) -> Running:
        running: Running = await serve()
        self.proxy = Proxy(running.url)
        await self.proxy.open()
        running.cloud.move_to(self.proxy.url)
        return running

    async def close(self) -> None:
        await super().close()
        await self.proxy.close()

    async def create(self, template: dict[str, Any]) -> StackRow:  # type: ignore[override]
        """Create a stack, and wait for its end."""
        new = accept.NewStack(
            id=new_id(),
            project_id=self.who.project_id,
            name="web",
            revision=Revision(json.dumps(template)),
            credential=(new_id(), Requester(self.running.auth_url, self.token)),
            timeout_mins=TIMEOUT_MINS,
        )
        await self.store.run(lambda tx: accept.create(tx, new, time.time(), new_id))
        return await self._ended(new.id)

    async def begin(
        self, ident: str, action: Action, template: dict[str, Any] | None = None
    ) -> StackRow:
        """Begin an operation and wait for its end."""
        operation = accept.OperationRequest(
            action,
            None if template is None else Revision(json.dumps(template)),
            timeout_mins=TIMEOUT_MINS,
            requester=Requester(self.running.auth_url, self.token),
            options=Options(),
        )
        await self.store.run(lambda tx: accept.operate(tx, ident, operation, time.time(), new_id))
        return await self._ended(ident)

    async def settle(self, ident: str) -> None:
        """Wait until the searches for lost objects have ended, which go on after a timeout."""
        until = time.monotonic() + SETTLED_S
        while True:
            try:
                return await super().settle(ident)
            except TimeoutError:
                if time.monotonic() > until:
                    raise

    async def _ended(self, ident: str) -> StackRow:
        row: StackRow = await self.rest(ident)
        await self.settle(ident)
        return row

    async def forget(self) -> None:
        """Forget all tokens and catalogues, as an engine that has just started."""
        for cloud, _ in self.pool._clouds._kept.values():
            session = cloud._session
            async with session._lock:  # else a token that arrives now stays without its session
                session._session = session._access = None
                session._endpoints.clear()

    def reasons(self, row: StackRow) -> str:
        """Return what the stack and its resources say, in one text."""
        records = self.store.transact(lambda tx: reads.records(tx, row.id), write=False)
        own = [one.reason for one in records if one.status.value == "FAILED"]
        return " | ".join([row.reason, *own])

    async def swept(self, kind: str) -> int:
        """Return how many objects of a kind there are, once it is one or sweeps have ended."""
        until = time.monotonic() + SWEPT_S
        while (there := self._there(kind)) != 1 and time.monotonic() < until:
            await asyncio.sleep(0.5)
        return there

    def _there(self, kind: str) -> int:
        alive = [one for one in self.objects() if one["deleted"] is None]
        return sum(account.rtype_of(one) == kind for one in alive)
