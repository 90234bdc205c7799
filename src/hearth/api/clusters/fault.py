"""Error responses of the cluster API. Source: docs/spec/clusters.md, 2.3."""

import logging
import re
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request

from hearth.api import fault as base
from hearth.api.answer import JSONResponse
from hearth.api.front.scope import logged_path
from hearth.cloud.fault import CloudFault
from hearth.clusters.problems import ClusterProblem, UnknownTemplate
from hearth.model.problem import Problem, Rejected

log = logging.getLogger(__name__)

DETAIL_MAX = 2_000  # characters: an error may quote what the client sent
UNKNOWN_TEMPLATE_SINCE = (1, 10)
"""The first microversion in which an unknown template for a new cluster has the status 404."""
_FIRST_SENTENCE = re.compile(r"\.(\s|$)")  # the full stop of 1.10 ends none


def answer(status: int, detail: str, *, code: str | None = None) -> JSONResponse:
    """Return an error response. The first sentence of `detail` is its title.

    If `code` is None, it is `client` or `server`, depending on the status. Errors of routing and of
    headers pass an empty `code`, as Magnum does.
    """
    if code is None:
        code = "client" if status < 500 else "server"
    if len(detail) > DETAIL_MAX:
        detail = f"{detail[:DETAIL_MAX]}..."
    body: dict[str, object] = {
        "request_id": "",
        "code": code,
        "status": status,
        "title": _FIRST_SENTENCE.split(detail, maxsplit=1)[0],
        "detail": detail,
        "links": [],
    }
    return JSONResponse({"errors": [body]}, status_code=status)


async def rejected(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for `Rejected`: respond with its problems; the first one decides the
    status.
    """
    assert isinstance(problem, Rejected)
    status = status_of(problem.problems[0], request.state.version)
    return answer(status, base.words(problem.problems))


def status_of(problem: Problem, version: tuple[int, int]) -> int:
    """Return the status of a response about a problem in a microversion."""
    if isinstance(problem, UnknownTemplate) and version < UNKNOWN_TEMPLATE_SINCE:
        return 400
    return problem.status if isinstance(problem, ClusterProblem) else base.status_of(problem)


async def cloud_fault(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for errors of the cloud that no use case handles."""
    assert isinstance(problem, CloudFault)
    if problem.status in (401, 403):
        return answer(403, problem.message)
    if problem.status == 409:
        return answer(409, problem.message)
    return answer(503, f"A service of the cloud failed. {problem}")


async def unexpected(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for internal errors, and for outages of the database. The response has no
    details, because these may be secret.
    """
    if (detail := base.outage_of(problem)) is not None:
        return base.outage(problem, answer(503, detail))
    request_id = getattr(request.state, "request_id", "-")
    log.error("%s %s %s", request.method, logged_path(request.scope), request_id, exc_info=problem)
    return answer(500, "Internal error. The log of the service contains the details.")


async def http(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for errors of routing, such as an unknown path."""
    assert isinstance(problem, HTTPException)
    detail = problem.detail
    if detail == HTTPStatus(problem.status_code).phrase:
        detail = f"{detail}. The API has no {request.method} {request.url.path}."
    response = answer(problem.status_code, detail, code="")
    response.headers.update(problem.headers or {})
    return response
