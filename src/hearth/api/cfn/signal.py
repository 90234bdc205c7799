"""Pre-signed signals: PUT /cfn/v1/waitcondition/ARN and POST /cfn/v1/signal/ARN.

The signature is Keystone's to check. The signer is a user of the stack's own project, the ARN names
the project of the stack's owner.
"""

import hashlib
import json
import re
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hearth.api.auth import caller_from
from hearth.api.v1.context import house_of
from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.find_stack import find_stack
from hearth.service.resources import find_resource, guest_may
from hearth.service.signal import signal

ARN = re.compile(
    r"^arn:openstack:heat::(?P<project>[^:]*):stacks/(?P<name>[^/]+)/(?P<id>[^/]+)"
    r"/resources/(?P<resource>.+)$"
)
MESSAGES = {
    "AccessDenied": "User is not authorized to perform action",
    "IncompleteSignature": "The request signature does not conform to AWS standards",
    "InvalidClientTokenId": "The certificate or AWS Key ID provided does not exist",
    "InvalidParameterValue": "The value for an input parameter is invalid or out of range",
    "MissingAuthenticationToken": "Does not contain a valid AWS Access Key or certificate",
    "SignatureDoesNotMatch": "The Signature does not match",
    "InternalFailure": "The server encountered an unexpected condition",
}
STATUS = {
    "AccessDenied": 403,
    "InvalidClientTokenId": 403,
    "MissingAuthenticationToken": 403,
    "SignatureDoesNotMatch": 403,
    "InternalFailure": 500,
}


class Refused(Exception):
    """A request that gets an error of this API; `code` is its name."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


async def waitcondition(request: Request) -> Response:
    """PUT: what is signalled is checked and stored before the answer."""
    return await _answer(request, needs_body=True)


async def plain(request: Request) -> Response:
    """POST: any other signal; the body is optional."""
    return await _answer(request, needs_body=False)


async def _answer(request: Request, *, needs_body: bool) -> Response:
    try:
        raw = await request.body()
        caller = await _signer(request, raw)
        details = _details(request, raw, needed=needs_body)
        name, metadata = await _signal(request, caller, details)
    except Refused as refused:
        return _fault(request, refused)
    except Rejected as rejected:
        problem = rejected.problems[0]
        code = "AccessDenied" if problem.kind in ("Forbidden", "HTTPForbidden") else ""
        return _fault(request, Refused(code or "InvalidParameterValue", problem.message))
    if not needs_body:
        return Response(status_code=200)
    if request.query_params.get("ContentType") == "JSON":
        return JSONResponse({"resource": name, "metadata": metadata})
    return Response(f"<resource>{escape(name)}</resource>", media_type="application/xml")


async def _signal(request: Request, caller: Caller, details: Any) -> tuple[str, Any]:
    found = ARN.match(unquote(request.path_params["arn"]))
    if found is None:
        raise Refused("InvalidParameterValue", "the path names no resource")
    house = house_of(request)
    row = await find_stack(house, caller, found["project"], found["id"])
    if row.name != found["name"]:
        raise Refused("InvalidParameterValue", f"The Stack ({found['name']}) could not be found.")
    if caller.project_id not in (row.project_id, row.user_project_id):
        raise Refused("AccessDenied")
    record = await find_resource(house, row, found["resource"])
    await guest_may(house, caller, row, record)
    return record.name, await signal(house, caller, row, record, details)


async def _signer(request: Request, raw: bytes) -> Caller:
    """Whose signature it is, as Keystone says. Raises Refused."""
    params = dict(request.query_params)
    given = params.pop("Signature", None)
    if given is None:
        raise Refused("IncompleteSignature")
    access = params.get("AWSAccessKeyId")
    if access is None:
        raise Refused("MissingAuthenticationToken")
    credentials = {
        "access": access,
        "signature": given,
        "host": request.headers.get("host", ""),
        "verb": request.method,
        "path": unquote(request.scope.get("raw_path", b"").decode().partition("?")[0]),
        "params": params,
        "headers": dict(request.headers),
        "body_hash": hashlib.sha256(raw).hexdigest(),
    }
    service: Cloud = request.app.state.service_cloud
    try:
        answer = await service.request(
            "identity", "POST", "/v3/ec2tokens", json={"ec2Credentials": credentials}
        )
    except CloudFault as fault:
        if "access key not found" in fault.message.lower():
            raise Refused("InvalidClientTokenId") from None
        if fault.status in (401, 403):
            raise Refused("AccessDenied") from None
        raise Refused("InternalFailure", str(fault)) from None
    token = answer.headers.get("x-subject-token", "")
    caller = caller_from(answer.part("token"), token, request.app.state.auth_url)
    if caller is None:
        raise Refused("AccessDenied")
    return caller


def _details(request: Request, raw: bytes, *, needed: bool) -> Any:
    if len(raw) > house_of(request).limits.body_bytes:
        raise Refused("InvalidParameterValue", "the body is too large")
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    readable = kind in ("", "application/json", "text/plain") and raw.lstrip().startswith(b"{")
    if not readable:
        if needed:
            raise Refused("InvalidParameterValue", "a JSON object is needed as the body")
        return None
    try:
        return json.loads(raw)
    except ValueError as problem:
        raise Refused("InvalidParameterValue", f"the body is not JSON: {problem}") from None


def _fault(request: Request, refused: Refused) -> Response:
    message = MESSAGES[refused.code] + (f":{refused.detail}" if refused.detail else "")
    status = STATUS.get(refused.code, 400)
    kind = "Server" if status >= 500 else "Sender"
    error = {"Code": refused.code, "Message": message, "Type": kind}
    if request.query_params.get("ContentType") == "JSON":
        return JSONResponse({"ErrorResponse": {"Error": error}}, status_code=status)
    inner = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in error.items())
    body = f"<ErrorResponse><Error>{inner}</Error></ErrorResponse>"
    return Response(body, status_code=status, media_type="application/xml")
