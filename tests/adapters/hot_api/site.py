"""Servers to ask: one with the limits as they are, others for vectors that change a limit."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from tests.adapters.hot_api.client import Api
from tests.clients.dev import hearth_dev
from tests.forked import Forked

T = TypeVar("T")

OPTIONS = (
    "max_nested_stack_depth",
    "max_resources_per_stack",
    "max_template_size",
    "max_json_body_size",
)
"""The limits of vectors that a server can be told."""

CONFIG = """
[DEFAULT]
auth_encryption_key = {key}
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = secret
stack_user_domain_name = heat
{limits}

[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = 0
[heat_api]
bind_host = 127.0.0.1

[database]
connection = sqlite:///{folder}/hearth.db

[keystone_authtoken]
auth_url = {auth_url}
username = hearth
password = secret
"""


Limits = tuple[tuple[str, Any], ...]


class Site:
    """The servers of a run, each started when it is first needed."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._running = contextlib.ExitStack()
        self._apis: dict[Limits, asyncio.Task[Api]] = {}
        self._one_starts = asyncio.Lock()

    async def api(self, limits: Mapping[str, Any] | None = None) -> Api:
        """The API of a server with these limits. Raises ValueError for one that none can have."""
        wanted = tuple(sorted((limits or {}).items()))
        if wanted not in self._apis:
            starting = self._limited(wanted) if wanted else self._plain()
            self._apis[wanted] = asyncio.create_task(starting)
        return await self._apis[wanted]

    async def _plain(self) -> Api:
        folder = self._running.enter_context(folder_for_now())
        dev = await self._started(hearth_dev(folder))
        return await Api.entered(self._session, f"{dev.url}/v1", dev.auth_url)

    async def _limited(self, limits: Limits) -> Api:
        if unknown := sorted({name for name, _ in limits} - set(OPTIONS)):
            raise ValueError(f"a server cannot be told {', '.join(unknown)}")
        auth_url = (await self.api()).auth_url
        url = await self._started(serving(auth_url, limits))
        return await Api.entered(self._session, url, auth_url)

    async def _started(self, server: contextlib.AbstractContextManager[T]) -> T:
        async with self._one_starts:
            return await asyncio.to_thread(self._running.enter_context, server)

    def close(self) -> None:
        """Stop them all."""
        self._running.close()


@contextlib.contextmanager
def serving(auth_url: str, limits: Limits) -> Iterator[str]:
    """`hearth serve` with other limits, for the cloud of another server; its URL."""
    with folder_for_now() as folder:
        lines = "\n".join(f"{name} = {value}" for name, value in limits)
        text = CONFIG.format(
            key=secrets.token_hex(16), limits=lines, folder=folder, auth_url=auth_url
        )
        (folder / "hearth.conf").write_text(text)
        with Forked(["serve", "--port", "0", "--config", str(folder / "hearth.conf")]) as process:
            try:
                line = process.stdout.readline()
                assert line.startswith("hearth is ready: all "), f"no ready line: {line!r}"
                yield line.split()[4]
            finally:
                process.terminate()


@contextlib.contextmanager
def folder_for_now() -> Iterator[Path]:
    """A folder that goes with this process, even if that is killed: whoever asks the vectors ends
    a run so. The servers are killed with it, for they are of its process group; who clears up is
    not, and waits for the end of its standard input."""
    folder = tempfile.mkdtemp(prefix="hearth-vectors-")
    waits = ["sh", "-c", 'cat; rm -rf "$0"', folder]
    with subprocess.Popen(
        waits, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    ):
        yield Path(folder)
