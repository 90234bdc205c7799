"""Fetch the parts of a request that it only refers to: a template URL, and files in Swift."""

import base64
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import DownloadLimitExceeded, NotFound, Rejected
from hearth.service.caller import Caller
from hearth.service.problems import HTTPServiceUnavailable
from hearth.service.services import Services
from hearth.service.stacks.remote_templates import template_at
from hearth.service.stacks.request import StackRequest

FILES_MAX = 1000


async def gathered(services: Services, caller: Caller, request: StackRequest) -> StackRequest:
    """Return the request with its template and its files, after fetching what it refers to.

    Files in the request itself take precedence over those of the container. Raises Rejected if
    something cannot be fetched or is too large.
    """
    if request.template is None and request.template_url is not None:
        request = replace(request, template=await template_at(services, request.template_url))
    if request.files_container is not None:
        limit = services.limits.body_bytes - sum(map(len, request.files.values()))
        more = await _files(services.cloud(caller), request.files_container, request.files, limit)
        request = replace(request, files={**more, **request.files})
    return request


async def _files(
    cloud: Cloud, container: str, known: Mapping[str, str], limit: int
) -> dict[str, str]:
    """Return the texts of the objects in a Swift container, by name, except those in `known`.

    `limit` is the maximum of their total size in bytes. Raises Rejected if the container cannot be
    read or has too many files.
    """
    place = f"/{quote(container, safe='')}"
    try:
        listed = await _listed(cloud, place, known, limit)
        return {name: await _text(cloud, place, name) for name in listed}
    except CloudFault as fault:
        if fault.status in (401, 403, 404):
            words = f"Swift container {container} could not be read: {fault.message}"
            raise Rejected([NotFound(None, words)]) from None
        words = f"Swift container {container} could not be read: {fault}"
        raise Rejected([HTTPServiceUnavailable(None, words)]) from None


async def _listed(cloud: Cloud, place: str, known: Mapping[str, str], limit: int) -> list[str]:
    names: list[str] = []
    total, marker = 0, ""
    while True:
        query = {"format": "json", **({"marker": marker} if marker else {})}
        page = await cloud.listing("object-store", f"{place}?{urlencode(query)}")
        if not page:
            return names
        marker = str(page[-1].get("name") or page[-1].get("subdir"))
        missing = [one for one in page if "name" in one and one["name"] not in known]
        names += [one["name"] for one in missing]
        total += sum(int(one["bytes"]) for one in missing)
        if total > limit or len(names) > FILES_MAX:
            words = (
                f"Swift container {place} has too many files: at least {len(names)} with {total} "
                f"bytes; expected at most {FILES_MAX} with {limit} bytes."
            )
            raise Rejected([DownloadLimitExceeded(None, words)])


async def _text(cloud: Cloud, place: str, name: str) -> str:
    """Return a Swift object as text; binary data is encoded as base64, as clients do in `files`."""
    answer = await cloud.request("object-store", "GET", f"{place}/{quote(name, safe='')}")
    try:
        return answer.raw.decode()
    except UnicodeDecodeError:
        return base64.b64encode(answer.raw).decode()
