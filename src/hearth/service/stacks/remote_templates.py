"""Templates that a request names by URL, fetched if the operator allows it."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from hearth.cloud.fault import NotFetched
from hearth.engine.programs.programs import drafted
from hearth.model.problem import (
    DownloadLimitExceeded,
    HTTPBadRequest,
    Rejected,
    TemplateMissing,
    rejection,
)
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store.rows import Revision
from hearth.template.check import examine
from hearth.template.compile import is_url

INSTEAD = "Send it as `template` instead."


async def template_at(services: Services, url: str, instead: str = INSTEAD) -> str:
    """Return the text at a URL. Raises Rejected if the operator does not allow it, or if the text
    cannot be fetched; the message ends with `instead`.
    """
    try:
        return await services.fetch(url)
    except NotFetched as error:
        message = f"Failed to fetch the template at {url}: {error}. {instead}"
        raise rejection(HTTPBadRequest, message) from None


async def with_nested(services: Services, caller: Caller, revision: Revision) -> Revision:
    """Return a revision with the nested templates that its types name by URL among its files.

    Nothing is fetched if the operator does not allow it; then the compiler reports that these
    templates are missing. Raises Rejected if one cannot be fetched, or if they are too large.
    """
    if not services.fetching.enabled:
        return revision
    while urls := await services.compute.run(
        _missing_urls,
        *services.programs.sources(revision),
        project=caller.project_id,
        characters=revision.characters,
    ):
        files = dict(revision.files)
        for url in urls:
            files[url] = await template_at(services, url, "Send it in `files` instead.")
            if sum(map(len, files.values())) > services.limits.max_json_body_size:
                message = f"the files are larger than {services.limits.max_json_body_size} bytes"
                raise rejection(DownloadLimitExceeded, message)
        revision = replace(revision, files=files)
    return revision


def _missing_urls(*sources: Any) -> Sequence[str]:
    """Return the URLs of the nested templates that are not among the files; none if the template
    cannot be read.
    """
    try:
        module = drafted(*sources)
    except Rejected:
        return ()
    templates = (
        problem.template for problem in examine(module) if isinstance(problem, TemplateMissing)
    )
    return sorted({name for name in templates if is_url(name)})
