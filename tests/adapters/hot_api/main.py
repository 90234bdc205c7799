"""The conversation: vectors in, answers out, several at a time."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp

from tests.adapters.hot_api.client import Api, Body
from tests.adapters.hot_api.refusals import Refused
from tests.adapters.hot_api.registry import answer_registry
from tests.adapters.hot_api.site import Site
from tests.adapters.hot_api.stacks import answer_stack
from tests.adapters.hot_api.values import answer_environment, answer_parameters
from tests.adapters.hot_api.views import answer_preview, answer_validate

MODES: Mapping[str, Callable[[Api, Body], Awaitable[dict[str, Any]]]] = {
    "stack": answer_stack,
    "parameters": answer_parameters,
    "environment": answer_environment,
    "registry": answer_registry,
    "preview": answer_preview,
    "validate": answer_validate,
}


def main() -> None:
    """Until the input ends."""
    asyncio.run(_converse())


async def _converse() -> None:
    async with aiohttp.ClientSession() as session:
        site = Site(session)
        try:
            async with asyncio.TaskGroup() as tasks:
                while line := await asyncio.to_thread(sys.stdin.readline):
                    tasks.create_task(_reply(site, json.loads(line)))
        finally:
            site.close()


async def _reply(site: Site, request: Mapping[str, Any]) -> None:
    vector = request["vector"]
    try:
        reply: dict[str, Any] = {"answer": await _answer(site, vector)}
    except Exception as problem:
        traceback.print_exc()
        reply = {"failure": f"{type(problem).__name__}: {problem}"}
    print(json.dumps({"id": request["id"], **reply}), flush=True)


async def _answer(site: Site, vector: Body) -> dict[str, Any]:
    api = await site.api(vector.get("limits"))
    try:
        return await MODES[vector.get("mode") or "stack"](api, vector)
    except Refused as refused:
        return {"error": refused.error}
