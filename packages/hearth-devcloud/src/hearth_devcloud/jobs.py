"""Background jobs: HTTP calls that the embedded cloud sends, and scheduled workflows.

A service requests a call with `order` and names the transition that handles the response. Both are
kept in the store, so a call without a response is sent again after a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec

from hearth_devcloud.http import Cloud
from hearth_devcloud.store import Body, Resource
from hearth_devcloud.streams import read_up_to

CALLS = "errands.calls"  # the name in saved states
TIMEOUT_S = 60.0
ANSWER_MAX = 16 * 1024 * 1024  # bytes
PROMPT = ("guest.", "workflow.")  # transitions that must not wait for the next API call


def order(
    cloud: Cloud,
    then: str,
    about: str,
    *,
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    data: str = "",
    timeout_s: float = TIMEOUT_S,
    after_s: float = 0.0,
    **extra: Any,
) -> None:
    """Store a job that sends an HTTP call after `after_s` seconds.

    After the response, the cloud carries out the transition `then` on the job. `job.hidden` then
    contains the response as `answer`, the id `about` of the object that the call is for, and the
    values in `extra`.
    """
    body: Body = {
        "method": method,
        "url": url,
        "headers": dict(headers or {}),
        "data": data,
        "timeout_s": timeout_s,
    }
    hidden: Body = {"then": then, "about": about, **extra}
    job = Resource(cloud.store.new_id(), CALLS, None, body, hidden, seed=True)
    job.visible_from = cloud.store.time + after_s if after_s else job.visible_from
    cloud.store.insert(job)
    cloud.wake(after_s)


def again(cloud: Cloud, job: Resource, after_s: float = 0.0) -> None:
    """Schedule the call of a finished job again, after `after_s` seconds."""
    job.hidden.pop("answer", None)
    job.visible_from = cloud.store.time + after_s
    cloud.store.insert(job)
    cloud.wake(after_s)


class Runner:
    """Runs the jobs of a cloud on the current event loop; `await close()` stops it."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._session: aiohttp.ClientSession | None = None
        cloud.wake = self.wake
        self.wake(0)

    def wake(self, after_s: float) -> None:
        """Make the runner look for pending jobs after `after_s` seconds at the latest."""
        due = self._loop.time() + max(0.0, after_s)
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        cloud = self._cloud
        cloud.settle()
        for job in cloud.store.all(CALLS):
            if job.id not in self._under_way:
                self._under_way[job.id] = asyncio.create_task(self._run(job))
        prompt = (*PROMPT, "compute.") if cloud.machines is not None else PROMPT
        due = [row[0] for row in cloud.store.agenda if row[4].startswith(prompt)]
        due += [job.visible_from for job in cloud.store.table(CALLS).values()]
        if later := [at for at in due if at > cloud.store.time]:
            self.wake(min(later) - cloud.store.time)

    async def _run(self, job: Resource) -> None:
        answer = await self._answer(job.body)
        del self._under_way[job.id]
        job.hidden["answer"] = answer
        self._cloud.store.remove(job)
        self._cloud.settle()
        self._cloud.carry_out(job.hidden["then"], job)

    async def _answer(self, request: Body) -> Body:
        """Send a call; return a map with the status, headers and body of the response.

        If there is no response, the status is 0 and `error` is the reason.
        """
        self._session = self._session or aiohttp.ClientSession()
        try:
            async with self._session.request(
                request["method"],
                request["url"],
                headers=request["headers"],
                data=request["data"].encode() or None,
                timeout=aiohttp.ClientTimeout(total=request["timeout_s"]),
                allow_redirects=False,
            ) as answer:
                raw = await read_up_to(answer.content, ANSWER_MAX)
                body: Any = raw.decode(errors="replace")
                with contextlib.suppress(msgspec.DecodeError):
                    body = msgspec.json.decode(raw)
                return {"status": answer.status, "headers": dict(answer.headers), "body": body}
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as problem:
            reason = str(problem) or type(problem).__name__
            return {"status": 0, "headers": {}, "body": None, "error": reason}

    async def close(self) -> None:
        """Stop the runner. Unfinished jobs stay in the store."""
        self._cloud.wake = lambda after_s: None
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._under_way.values()):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # connections close in the next tick
