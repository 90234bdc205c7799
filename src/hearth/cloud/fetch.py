"""Fetching text from URLs in users' requests, with protection of internal networks.

A user could name an address that only this machine can reach. Therefore Hearth fetches only if the
operator allows it, and only from public addresses. The resolved IP address is checked for each
connection, also after a redirect.
"""

import ipaddress
import socket
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from hearth.cloud.answers import read_bounded
from hearth.cloud.fault import CloudFault
from hearth.cloud.guard import Guard, Network

REDIRECTS_MAX = 5


class NotFetched(Exception):
    """A URL could not be fetched or must not be fetched; the message gives the reason."""


@dataclass(frozen=True)
class FetchConfig:
    """The settings for fetching: whether it is enabled, and its limits.

    Addresses in `networks` are allowed even if they are not public.
    """

    enabled: bool = False
    timeout_s: float = 60.0
    bytes_max: int = 524288
    networks: tuple[Network, ...] = ()

    def allows(self, address: str) -> bool:
        """Return whether a connection to an IP address is allowed."""
        return Guard(self.networks).allows(address)


async def fetch(url: str, config: FetchConfig) -> str:
    """Fetch a URL and return its text.

    Raises NotFetched if fetching is disabled or fails, if the address is not allowed, or if the
    content is too large or not UTF-8.
    """
    if not config.enabled:
        raise NotFetched(
            "fetching from URLs is disabled; the option [hearth] template_fetch_enabled enables it"
        )
    connector = aiohttp.TCPConnector(resolver=_Guarded(config), ttl_dns_cache=0, limit=1)
    timeout = aiohttp.ClientTimeout(total=config.timeout_s)
    jar = aiohttp.DummyCookieJar()
    try:
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, cookie_jar=jar, auto_decompress=False
        ) as http:
            return await _followed(http, _checked(url, config), config)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise NotFetched(str(error) or type(error).__name__) from None


async def fetch_template(url: str, config: FetchConfig) -> str:
    """Fetch the template at a URL and return its text. Raises CloudFault instead of NotFetched."""
    try:
        return await fetch(url, config)
    except NotFetched as why:
        words = f"the template at {url} could not be fetched: {why}"
        raise CloudFault("web", 400, "TemplateNotFetched", words) from None


async def fetch_nothing(url: str) -> str:
    """Raise CloudFault for every URL; used in place of `fetch_template` if fetching is disabled."""
    return await fetch_template(url, FetchConfig())


async def _followed(http: aiohttp.ClientSession, url: URL, config: FetchConfig) -> str:
    for _ in range(REDIRECTS_MAX + 1):
        headers = {"Accept-Encoding": "gzip, deflate"}
        async with http.get(url, allow_redirects=False, headers=headers) as answer:
            if answer.status in (301, 302, 303, 307, 308):
                url = _checked(str(url.join(URL(answer.headers.get("Location", "")))), config)
                continue
            if answer.status != 200:
                raise NotFetched(f"the server returned {answer.status} {answer.reason}")
            return await _text(answer, config.bytes_max)
    raise NotFetched(f"the URL leads to more than {REDIRECTS_MAX} redirects")


async def _text(answer: aiohttp.ClientResponse, most: int) -> str:
    raw = await read_bounded(answer, most)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise NotFetched("the content is not UTF-8 text") from None


def _checked(url: str, config: FetchConfig) -> URL:
    found = URL(url)
    if found.scheme not in ("http", "https") or not found.host:
        raise NotFetched("only http and https URLs can be fetched")
    try:
        ipaddress.ip_address(found.host)
    except ValueError:
        return found  # a name: checked when it is resolved
    if not config.allows(found.host):
        raise NotFetched(f"{found.host} is not a public address")
    return found


class _Guarded(AbstractResolver):
    """A resolver for aiohttp that returns only allowed addresses. Raises NotFetched if none is."""

    def __init__(self, config: FetchConfig) -> None:
        self._config = config
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        allowed = [one for one in found if self._config.allows(one["host"])]
        if not allowed:
            raise NotFetched(f"{host} has no public address")
        return allowed

    async def close(self) -> None:
        await self._inner.close()
