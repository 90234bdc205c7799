"""Downloading text from a URL that a user names, from allowed addresses only."""

import ipaddress
import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from hearth.cloud.answers import read_bounded
from hearth.cloud.config import FetchConfig
from hearth.cloud.fault import NotFetched

REDIRECTS_MAX = 5


async def download(url: str, config: FetchConfig, bytes_max: int) -> str:
    """Return the text at a URL, at most `bytes_max` bytes; `config` need not enable it.

    Raises NotFetched.
    """
    connector = aiohttp.TCPConnector(resolver=_GuardedResolver(config), ttl_dns_cache=0, limit=1)
    timeout = aiohttp.ClientTimeout(total=config.timeout_s)
    jar = aiohttp.DummyCookieJar()
    try:
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, cookie_jar=jar, auto_decompress=False
        ) as http:
            return await _followed(http, _checked(url, config), config, bytes_max)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise NotFetched(str(error) or type(error).__name__) from None


async def _followed(
    http: aiohttp.ClientSession, url: URL, config: FetchConfig, bytes_max: int
) -> str:
    for _ in range(REDIRECTS_MAX + 1):
        headers = {"Accept-Encoding": "gzip, deflate"}
        async with http.get(url, allow_redirects=False, headers=headers) as answer:
            if answer.status in (301, 302, 303, 307, 308):
                url = _checked(str(url.join(URL(answer.headers.get("Location", "")))), config)
                continue
            if answer.status != 200:
                raise NotFetched(f"the server returned {answer.status} {answer.reason}")
            return await _text(answer, bytes_max)
    raise NotFetched(f"the URL leads to more than {REDIRECTS_MAX} redirects")


async def _text(answer: aiohttp.ClientResponse, max_bytes: int) -> str:
    raw = await read_bounded(answer, max_bytes)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise NotFetched("the content is not UTF-8 text") from None


def _checked(url: str, config: FetchConfig) -> URL:
    parsed = URL(url)
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise NotFetched("only http and https URLs can be fetched")
    try:
        ipaddress.ip_address(parsed.host)
    except ValueError:
        return parsed  # a name: checked when it is resolved
    if not config.allows(parsed.host):
        raise NotFetched(f"{parsed.host} is not a public address")
    return parsed


class _GuardedResolver(AbstractResolver):
    """A resolver for aiohttp that returns only allowed addresses. Raises NotFetched if none is."""

    def __init__(self, config: FetchConfig) -> None:
        self._config = config
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self._inner.resolve(host, port, family)
        permitted = [address for address in addresses if self._config.allows(address["host"])]
        if not permitted:
            raise NotFetched(f"{host} has no public address")
        return permitted

    async def close(self) -> None:
        await self._inner.close()
