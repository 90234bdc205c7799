"""Fetching text from URLs in users' requests, with protection of internal networks.

A user could name an address that only this machine can reach. Therefore Hearth fetches only if the
operator allows it, and only from public addresses. The resolved IP address is checked for each
connection, also after a redirect.
"""

from hearth.cloud.config import FetchConfig
from hearth.cloud.fault import CloudFault, NotFetched


async def fetch(url: str, config: FetchConfig, bytes_max: int) -> str:
    """Fetch a URL and return its text, which has at most `bytes_max` bytes.

    Raises NotFetched if fetching is disabled or fails, if the address is not allowed, or if the
    content is too large or not UTF-8.
    """
    if not config.enabled:
        raise NotFetched(
            "fetching from URLs is disabled; the option [hearth] template_fetch_enabled enables it"
        )
    from hearth.cloud.download import download  # its imports take long, and few processes fetch

    return await download(url, config, bytes_max)


async def fetch_template(url: str, config: FetchConfig, bytes_max: int) -> str:
    """Like `fetch`, but raise CloudFault instead of NotFetched."""
    try:
        return await fetch(url, config, bytes_max)
    except NotFetched as error:
        message = f"the template at {url} could not be fetched: {error}"
        raise CloudFault("web", 400, "TemplateNotFetched", message) from None


async def fetch_nothing(url: str) -> str:
    """Raise CloudFault for every URL; used in place of `fetch_template` if fetching is disabled."""
    return await fetch_template(url, FetchConfig(), 0)
