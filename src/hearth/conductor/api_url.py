"""Finds the URL at which this process can reach the Kubernetes API of a cluster.

In production this URL is the address of the API. A floating IP of the embedded cloud cannot be
reached from the host, so the embedded cloud forwards a local port to the API.
"""

from urllib.parse import urlsplit

import aiohttp

from hearth.cloud.answers import read_bounded
from hearth.model.json_text import parse_json
from hearth.service.services import Services

LIMIT_S = 5.0
BYTES_MAX = 64 * 1024


async def reachable_url(services: Services, api_address: str) -> str:
    """Return the URL at which this process can reach the API whose address is `api_address`.

    Raises OSError or ValueError if the embedded cloud does not name such a URL.
    """
    forwards = services.clusters.forwards_url
    if not forwards:
        return api_address
    target = urlsplit(api_address)
    try:
        entries = parse_json(await _fetched(forwards, target.hostname or ""))["forwards"]
        for entry in entries:
            if entry["floating_ip_address"] == target.hostname and entry["host"] == "127.0.0.1":
                port = int(entry["ports"][str(target.port)])
                return f"{target.scheme}://127.0.0.1:{port}"
    except (aiohttp.ClientError, KeyError, TypeError) as problem:
        raise ConnectionError(
            f"the list of ports at {forwards} cannot be read: {problem}"
        ) from None
    raise ConnectionError(f"the embedded cloud forwards no local port to {api_address}")


async def _fetched(url: str, address: str) -> bytes:
    limit = aiohttp.ClientTimeout(total=LIMIT_S)
    async with (
        aiohttp.ClientSession(timeout=limit, auto_decompress=False) as session,
        session.get(url, params={"address": address}, allow_redirects=False) as answer,
    ):
        return await read_bounded(answer, BYTES_MAX)
