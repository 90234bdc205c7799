"""Errors of the CloudFormation-style API: their codes, HTTP statuses and texts, as XML or JSON.

Unlike in the REST API, a missing stack has the status 400. Source: docs/spec/cfn-api.md, section 5.
"""

import logging
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import InPieces, JSONResponse
from hearth.api.cfn import xml
from hearth.api.fault import outage, outage_of
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Problem, Rejected

log = logging.getLogger(__name__)

XML = "application/xml"
CODES: Mapping[str, tuple[int, str]] = {
    "AccessDenied": (403, "The policy does not allow this request"),
    "AlreadyExists": (400, "A stack with that name exists already"),
    "APINotImplemented": (500, "The action is not available"),
    "IncompleteSignature": (400, "The signature of the request is incomplete"),
    "InternalFailure": (500, "The request failed because of an internal error"),
    "InvalidAction": (400, "The action does not exist, or is not possible now"),
    "InvalidClientTokenId": (403, "The access key does not exist"),
    "InvalidParameterCombination": (400, "These parameters exclude each other"),
    "InvalidParameterValue": (400, "The value of a parameter is invalid"),
    "InvalidQueryParameter": (400, "The query cannot be read"),
    "MalformedQueryString": (404, "The query is malformed"),
    "MissingAction": (400, "The parameter Action is missing"),
    "MissingAuthenticationToken": (403, "The request contains no access key"),
    "MissingParameter": (400, "A parameter is missing"),
    "OptInRequired": (403, "The access key is not allowed to use this service"),
    "RequestExpired": (400, "The request has expired"),
    "RequestLimitExceeded": (400, "A limit of this service is exceeded"),
    "ServiceUnavailable": (503, "The service cannot answer at the moment"),
    "SignatureDoesNotMatch": (403, "The signature is missing or wrong"),
    "Throttling": (400, "There are too many requests"),
}

OF_PROBLEM: Mapping[str, str] = {
    "ActionInProgress": "InvalidAction",
    "Forbidden": "AccessDenied",
    "HTTPForbidden": "AccessDenied",
    "HTTPServiceUnavailable": "ServiceUnavailable",
    "HTTPTooManyRequests": "Throttling",
    "NotAuthorized": "AccessDenied",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "StackExists": "AlreadyExists",
}
"""The error code for each problem, by its `kind`. All other problems have InvalidParameterValue."""


class CfnError(Exception):
    """An error of the CloudFormation-style API.

    `code` is a key of CODES, whose text the response contains. `detail` is added to that text.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def answer(request: Request, tree: Any, root: str, status: int = 200) -> InPieces:
    """Return a response with the content `tree` in an element named `root`.

    It is XML, or JSON if the parameter ContentType of the request is JSON.
    """
    if _as_json(request):
        return JSONResponse({root: tree}, status)
    return InPieces(xml.pieces(root, tree), status, media_type=XML)


def _as_json(request: Request) -> bool:
    return bool(getattr(request.state, "as_json", False))


def of_problems(problems: tuple[Problem, ...]) -> CfnError:
    """Return one error for all problems: the code is that of the first, and each has a line of
    text.
    """
    code = OF_PROBLEM.get(problems[0].kind, "InvalidParameterValue")
    return CfnError(code, "\n".join(problem.message for problem in problems))


def error_response(request: Request, refused: CfnError) -> Response:
    """Return the error response for a CfnError."""
    status, text = CODES[refused.code]
    error = {
        "Type": "Server" if status >= 500 else "Sender",
        "Code": refused.code,
        "Message": f"{text}: {refused.detail}" if refused.detail else text,
    }
    return answer(request, {"Error": error}, "ErrorResponse", status)


async def refused(request: Request, problem: Exception) -> Response:
    """Exception handler for `CfnError`: respond with its code and text."""
    assert isinstance(problem, CfnError)
    return error_response(request, problem)


async def rejected(request: Request, problem: Exception) -> Response:
    """Exception handler for `Rejected`: respond with all its problems as one error."""
    assert isinstance(problem, Rejected)
    return error_response(request, of_problems(problem.problems))


async def cloud_fault(request: Request, problem: Exception) -> Response:
    """Exception handler for errors of the cloud that no use case handles."""
    assert isinstance(problem, CloudFault)
    if problem.status in (401, 403):
        return error_response(request, CfnError("AccessDenied", problem.message))
    if problem.status in (404, 409):
        return error_response(request, CfnError("InvalidParameterValue", problem.message))
    return error_response(request, CfnError("ServiceUnavailable", str(problem)))


async def unexpected(request: Request, problem: Exception) -> Response:
    """Exception handler for internal errors, and for outages of the database. The response has no
    details, because these may be secret.
    """
    if (message := outage_of(problem)) is not None:
        return outage(problem, error_response(request, CfnError("ServiceUnavailable", message)))
    request_id = getattr(request.state, "request_id", "-")
    log.error("%s %s %s", request.method, request.url.path, request_id, exc_info=problem)
    return error_response(request, CfnError("InternalFailure"))
