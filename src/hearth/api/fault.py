"""Problems as answers. The only place that knows which problem has which status."""

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from hearth.cloud.fault import CloudFault
from hearth.model.problem import Problem, Rejected

log = logging.getLogger(__name__)

STATUS: Mapping[str, int] = {
    "HTTPForbidden": 403,
    "Forbidden": 403,
    "InvalidTenant": 403,
    "EntityNotFound": 404,
    "ResourceNotFound": 404,
    "SnapshotNotFound": 404,
    "NotFound": 404,
    "ResourceNotAvailable": 404,
    "HTTPNotFound": 404,
    "HTTPMethodNotAllowed": 405,
    "StackExists": 409,
    "ActionInProgress": 409,
    "HTTPServiceUnavailable": 503,
}
EXPLANATIONS: Mapping[int, str] = {
    400: "The server could not comply with the request since it is either malformed or otherwise "
    "incorrect.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: "The method is not allowed for this resource.",
    409: "There was a conflict when trying to complete your request.",
    500: "The server has either erred or is incapable of performing the requested operation.",
    503: "The server is currently unavailable. Please try again at a later time.",
}


def status_of(problem: Problem) -> int:
    """The HTTP status of a problem; 400 for everything a user can mend."""
    return STATUS.get(problem.kind, 400)


def answer(kind: str, message: str, status: int) -> JSONResponse:
    """The error body of the REST API. Source: spec/errors.md, section 1."""
    body = {
        "code": status,
        "title": HTTPStatus(status).phrase,
        "explanation": EXPLANATIONS.get(status, HTTPStatus(status).phrase),
        "error": {"type": kind, "message": message, "traceback": None},
    }
    return JSONResponse(body, status_code=status)


def of_problems(problems: Iterable[Problem]) -> JSONResponse:
    """One answer for all that is wrong: the first gives type and status, each its own line."""
    found = list(problems)
    message = "\n".join(problem.message for problem in found)
    return answer(found[0].kind, message, status_of(found[0]))


async def rejected(request: Request, problem: Exception) -> JSONResponse:
    """Handler for `Rejected`."""
    assert isinstance(problem, Rejected)
    if request.url.path.endswith("/validate"):  # there every failure has one type
        message = "\n".join(p.message for p in problem.problems)
        if all(status_of(p) == 400 for p in problem.problems):
            return answer("HTTPBadRequest", message, 400)
    return of_problems(problem.problems)


async def cloud_fault(request: Request, problem: Exception) -> JSONResponse:
    """Handler for faults of the cloud that reach the edge."""
    assert isinstance(problem, CloudFault)
    if problem.status in (401, 403, 404, 409):
        status = 403 if problem.status == 401 else problem.status
        return answer(problem.type, problem.message, status)
    return answer("HTTPServiceUnavailable", str(problem), 503)


async def unexpected(request: Request, problem: Exception) -> JSONResponse:
    """Handler for what only we can fix; tells nothing that may be secret."""
    log.error("%s %s", request.method, request.url.path, exc_info=problem)
    return answer(type(problem).__name__, "Internal error; the log of the service has more.", 500)


async def http(request: Request, problem: Any) -> JSONResponse:
    """Handler for the framework's own refusals."""
    words = {404: "HTTPNotFound", 405: "HTTPMethodNotAllowed"}
    status = problem.status_code
    response = answer(words.get(status, "HTTPBadRequest"), str(problem.detail), status)
    for name, value in (problem.headers or {}).items():
        response.headers[name] = value
    return response
