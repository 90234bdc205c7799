"""Errors in the format {KIND: {"code": STATUS, "message": TEXT}} of services that began in Nova."""

from __future__ import annotations

from collections.abc import Mapping

from hearth_devcloud.http import Body, Refusal, Reply

KINDS: Mapping[int, str] = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    501: "notImplemented",
    503: "serviceUnavailable",
}


def by_kind(
    fault: Refusal, kinds: Mapping[int, str] = KINDS, *, unknown: str = "computeFault"
) -> Reply:
    """Return an error; `kinds` maps statuses to kinds, and `unknown` is the kind of all others."""
    kind = kinds.get(fault.status, unknown)
    error: Body = {"code": fault.status, "message": fault.message or kind}
    if fault.status == 413:
        error["retryAfter"] = "0"
    return Reply(fault.status, {kind: error}, dict(fault.headers))
