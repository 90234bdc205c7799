"""Fetch the parts of a request that it only refers to: a template URL, and files in Swift."""

import base64
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import DownloadLimitExceeded, NotFound, rejection
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
        limit = services.limits.max_json_body_size - sum(map(len, request.files.values()))
        fetched = await _files(
            services.cloud(caller), request.files_container, request.files, limit
        )
        request = replace(request, files={**fetched, **request.files})
    return request


async def _files(
    cloud: Cloud, container: str, own_files: Mapping[str, str], limit: int
) -> dict[str, str]:
    """Return the texts of the objects in a Swift container, by name, except those in `own_files`.

    `limit` is the maximum of their total size in bytes. Raises Rejected if the container cannot be
    read or has too many files.
    """
    container_path = f"/{quote(container, safe='')}"
    try:
        names = await _object_names(cloud, container_path, own_files, limit)
        return {name: await _text(cloud, container_path, name) for name in names}
    except CloudFault as fault:
        if fault.status in (401, 403, 404):
            message = f"Swift container {container} could not be read: {fault.message}"
            raise rejection(NotFound, message) from None
        message = f"Swift container {container} could not be read: {fault}"
        raise rejection(HTTPServiceUnavailable, message) from None


async def _object_names(
    cloud: Cloud, container_path: str, own_files: Mapping[str, str], limit: int
) -> list[str]:
    names: list[str] = []
    total, marker = 0, ""
    while True:
        query = {"format": "json", **({"marker": marker} if marker else {})}
        page = await cloud.listing("object-store", f"{container_path}?{urlencode(query)}")
        if not page:
            return names
        marker = str(page[-1].get("name") or page[-1].get("subdir"))
        new_objects = [
            entry for entry in page if "name" in entry and entry["name"] not in own_files
        ]
        names += [entry["name"] for entry in new_objects]
        total += sum(int(entry["bytes"]) for entry in new_objects)
        if total > limit or len(names) > FILES_MAX:
            message = (
                f"Swift container {container_path} has too many files: at least {len(names)} with "
                f"{total} bytes; expected at most {FILES_MAX} with {limit} bytes."
            )
            raise rejection(DownloadLimitExceeded, message)


async def _text(cloud: Cloud, container_path: str, name: str) -> str:
    """Return a Swift object as text; binary data is encoded as base64, as clients do in `files`."""
    answer = await cloud.request("object-store", "GET", f"{container_path}/{quote(name, safe='')}")
    try:
        return answer.raw.decode()
    except UnicodeDecodeError:
        return base64.b64encode(answer.raw).decode()
