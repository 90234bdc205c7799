"""Pre-signed signals: PUT /v1/waitcondition/ARN and POST /v1/signal/ARN.

The signature is that of a user in the stack's domain project, while the ARN contains the project
that owns the stack.
"""

import json
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.cfn import xml
from hearth.api.cfn.arn import parsed_arn
from hearth.api.cfn.auth import Gate
from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import RequestParts, read
from hearth.api.front.rate import Rates
from hearth.api.v1.context import services_of
from hearth.model.collector import collector_paused
from hearth.model.problem import EntityNotFound, rejection
from hearth.service.caller import Caller
from hearth.service.reading.resources import find_resource_for
from hearth.service.stacks.find import find_stack
from hearth.service.stacks.signal import signal

READ_KINDS = ("", "application/json", "text/plain")


async def waitcondition(request: Request) -> Response:
    """PUT: pass a signal to a wait condition, and respond when it is stored. The body is a JSON
    object.
    """
    parts, caller = await _begin(request)
    details = _details(request, parts.raw)
    if details is None:
        raise CfnError("InvalidParameterValue", "expected a JSON object as the body")
    name, metadata = await _signal(request, caller, details)
    if parts.as_json:
        body = json.dumps({"resource": name, "metadata": metadata}, default=str)
        return Response(body, media_type="application/json")
    return Response(xml.document("resource", name), media_type="application/xml")


async def plain(request: Request) -> Response:
    """POST: pass a signal to a resource. A body that is not a JSON object is ignored."""
    parts, caller = await _begin(request)
    await _signal(request, caller, _details(request, parts.raw))
    return Response(status_code=200)


async def _begin(request: Request) -> tuple[RequestParts, Caller]:
    """Return the read request and its caller. Raises CfnError if it sends too many requests."""
    parts = await read(request, form=False)
    request.state.as_json = parts.as_json
    gate: Gate = request.app.state.gate
    caller = await gate.caller(request, parts)
    rates: Rates = request.app.state.rates
    if (wait_s := rates.wait_s(caller)) > 0:
        raise CfnError("Throttling", f"send the next request in {wait_s:.1f} s")
    return parts, caller


async def _signal(request: Request, caller: Caller, details: Any) -> tuple[str, Any]:
    """Pass `details` to the resource in the path; return its name and its metadata after the
    signal.

    Raises CfnError and Rejected.
    """
    arn = parsed_arn(request.path_params["arn"])
    if arn is None or arn.resource is None:
        raise CfnError("InvalidParameterValue", "expected the ARN of a resource in the path")
    services = services_of(request)
    row = await find_stack(services, caller, caller.project_id, arn.stack_id)
    if not arn.fits(row):
        raise rejection(EntityNotFound, "Stack", arn.stack)
    record = await find_resource_for(services, caller, row, arn.resource)
    return record.name, await signal(services, caller, row, record, details)


def _details(request: Request, raw: bytes) -> Any:
    """Return the JSON object in the body; None if the body does not begin like one.

    Raises CfnError if the object is malformed.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind not in READ_KINDS or not raw.lstrip().startswith(b"{"):
        return None
    try:
        with collector_paused():
            return msgspec.json.decode(raw)  # strict: no NaN, no half of a surrogate pair
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        message = f"the body is not JSON: {problem}"
        raise CfnError("InvalidParameterValue", message) from None
