"""Conversion of problems to error responses. Only this module knows the HTTP status of each
problem.
"""

import errno
import logging
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.cloud.fault import CloudFault
from hearth.engine.programs.compute.pool import ProcessLost
from hearth.model.problem import Problem, Rejected
from hearth.store.database import is_outage

log = logging.getLogger(__name__)

OUTAGE = "The database does not respond. Try again later."
EXHAUSTED = "The service has no memory or open files left for this request. Try again later."
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
RETRY_AFTER_S = "1"
TOLD_MAX = 100  # problems in one response

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
    "ConfigInUse": 409,
    "PlanChanged": 409,
    "HTTPTooManyRequests": 429,
    "HTTPServiceUnavailable": 503,
}
EXPLANATIONS: Mapping[int, str] = {
    400: "The server could not comply with the request since it is either malformed or otherwise "
    "incorrect.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: "The method is not allowed for this resource.",
    409: "There was a conflict when trying to complete your request.",
    429: "There were too many requests. Please try again at a later time.",
    500: "The server has either erred or is incapable of performing the requested operation.",
    503: "The server is currently unavailable. Please try again at a later time.",
}


def status_of(problem: Problem) -> int:
    """Return the HTTP status for a problem; it is 400 unless the problem has its own."""
    return STATUS.get(type(problem).__name__, STATUS.get(problem.kind, 400))


def answer(kind: str, message: str, status: int) -> JSONResponse:
    """Return an error response of the REST API; `kind` is the type of the error, `status` the HTTP
    status.

    Source: docs/spec/errors.md, section 1.
    """
    body = {
        "code": status,
        "title": HTTPStatus(status).phrase,
        "explanation": EXPLANATIONS.get(status, HTTPStatus(status).phrase),
        "error": {"type": kind, "message": message, "traceback": None},
    }
    return JSONResponse(body, status_code=status)


def of_problems(problems: Iterable[Problem]) -> JSONResponse:
    """Return one error response for all problems.

    The first problem determines the type and the status; each problem has a line of text.
    """
    all_problems = list(problems)
    response = answer(all_problems[0].kind, words(all_problems), status_of(all_problems[0]))
    return repeatable(response) if response.status_code == 429 else response


def words(problems: Sequence[Problem]) -> str:
    """Return the texts of the problems, one per line; after 100 of them, a last line says "and
    others".
    """
    lines = [problem.message for problem in problems[:TOLD_MAX]]
    if len(problems) > TOLD_MAX:
        lines.append("... and others")
    return "\n".join(lines)


async def rejected(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for `Rejected`: respond with its problems.

    For a validation, a response has the type HTTPBadRequest instead of StackValidationFailed.
    """
    assert isinstance(problem, Rejected)
    first = problem.problems[0]
    if request.url.path.endswith("/validate") and first.kind == "StackValidationFailed":
        return answer("HTTPBadRequest", words(problem.problems), 400)  # only stacks have that type
    return of_problems(problem.problems)


async def cloud_fault(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for errors of the cloud that no use case handles."""
    assert isinstance(problem, CloudFault)
    if problem.status in (401, 403, 404, 409):
        status = 403 if problem.status == 401 else problem.status
        return answer(problem.type, problem.message, status)
    return answer("HTTPServiceUnavailable", str(problem), 503)


async def unexpected(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for internal errors, and for outages of the database. The response has no
    details, because these may be secret.
    """
    if (message := outage_of(problem)) is not None:
        return outage(problem, answer("HTTPServiceUnavailable", message, 503))
    request_id = getattr(request.state, "request_id", "-")
    log.error("%s %s %s", request.method, request.url.path, request_id, exc_info=problem)
    return answer(type(problem).__name__, "Internal error; the log of the service has more.", 500)


R = TypeVar("R", bound=Response)


def outage_of(problem: Exception) -> str | None:
    """Return the error message for the client if a request failed only because the database is
    unavailable or the process has no memory or files left; None if it failed for another reason.
    """
    if is_outage(problem):
        return OUTAGE
    is_exhausted = isinstance(problem, OSError) and problem.errno in _EXHAUSTED
    return EXHAUSTED if is_exhausted or isinstance(problem, MemoryError | ProcessLost) else None


def outage(problem: Exception, response: R) -> R:
    """Log why the service cannot work, and return `response` with a header Retry-After."""
    reason = "the database is unavailable" if is_outage(problem) else "a request cannot be served"
    log.warning("%s: %s", reason, str(problem).partition("\n")[0])
    return repeatable(response)


def repeatable(response: R) -> R:
    """Add the header Retry-After to a response, and return it: the client can try again soon."""
    response.headers["Retry-After"] = RETRY_AFTER_S
    return response


async def http(request: Request, problem: Exception) -> JSONResponse:
    """Exception handler for errors of the web framework, such as an unknown path."""
    assert isinstance(problem, HTTPException)
    kinds = {404: "HTTPNotFound", 405: "HTTPMethodNotAllowed"}
    status = problem.status_code
    response = answer(kinds.get(status, "HTTPBadRequest"), str(problem.detail), status)
    for name, value in (problem.headers or {}).items():
        response.headers[name] = value
    return response
