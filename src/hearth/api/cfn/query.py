"""The parameters of a request: those in the query, and those of a form in the body.

If a parameter occurs several times, its last value is used, for the signature and for the action.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

from msgspec import Struct, field
from starlette.requests import Request

from hearth.api.cfn.faults import CfnError
from hearth.api.v1.context import services_of

FORM = "application/x-www-form-urlencoded"
FORM_GROWTH = 3  # bytes that a form may need for one byte
FIELDS_MAX = 10_000
POLL = b"Action=DescribeStackResource&"
OF_A_BODY = frozenset((b"content-length", b"transfer-encoding"))
KNOWN_MAX = 20_000  # values whose decoded form is kept
PLAIN = re.compile(
    rb"[A-Za-z0-9]{1,40}=(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2}){0,400}"
    rb"(?:&[A-Za-z0-9]{1,40}=(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2}){0,400}){0,20}"
)
"""Matches the query strings of agents: few and short parameters in the form that they sign."""
_MEMBER = re.compile(r"(?P<index>[0-9]{1,6})\.(?P<field>.+)", re.ASCII | re.DOTALL)


class RequestParts(Struct, frozen=True):
    """The parts of a request: all parameters, the parameters in the query, and the bytes of the
    body.

    `canonical` is the query as signatures of version 2 cover it; None if that is not known, or if
    parameters are elsewhere, too.
    """

    params: Mapping[str, str]
    query: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""
    canonical: str | None = None

    @property
    def as_json(self) -> bool:
        """Return whether the client requested a response in JSON."""
        return self.params.get("ContentType") == "JSON"


async def read(request: Request, *, form: bool) -> RequestParts:
    """Read the parameters and the body of a request. Raises CfnError.

    If `form` is true, the parameters in a form that a POST contains are also read.
    """
    text: bytes = request.scope.get("query_string", b"")
    if (poll := _poll(request, text)) is not None:
        return poll
    query = _pairs(text)
    limit = services_of(request).limits.max_json_body_size
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    filled = form and request.method == "POST" and kind == FORM
    raw = await _body(request, limit * FORM_GROWTH if filled else limit)
    params = {**query, **_pairs(raw)} if filled else query
    return RequestParts(params, query, raw)


def members(params: Mapping[str, str], name: str) -> list[dict[str, str]]:
    """Return the items of the list parameter `name`, ordered by number; each item is a map of its
    fields.

    `params` are all parameters of the request; those of the list are named NAME.member.N.FIELD.
    Raises CfnError if one has another form.
    """
    prefix = f"{name}.member."
    fields_by_index: dict[int, dict[str, str]] = {}
    for key, value in params.items():
        if key.startswith(prefix):
            member = _MEMBER.fullmatch(key.removeprefix(prefix))
            if member is None:
                message = f"{key} is malformed: expected {prefix}N.FIELD with a number N"
                raise CfnError("InvalidParameterValue", message)
            fields_by_index.setdefault(int(member["index"]), {})[member["field"]] = value
    return [fields_by_index[index] for index in sorted(fields_by_index)]


def _poll(request: Request, text: bytes) -> RequestParts | None:
    """Return the parts of a server's poll: a GET without a body, with the query string `text` as
    agents write it. Return None for any other request.
    """
    scope = request.scope
    if scope["method"] != "GET" or POLL not in text or not PLAIN.fullmatch(text):
        return None
    if b"%00" in text or not OF_A_BODY.isdisjoint(name for name, _ in scope["headers"]):
        return None
    pairs = [pair.partition("=")[::2] for pair in text.decode().split("&")]
    params = dict(pairs)
    if len(params) < len(pairs):
        return None
    covered = [f"{name}={params[name]}" for name in sorted(params) if name != "Signature"]
    try:
        for name, value in pairs:
            if "%" in value:
                params[name] = _unquoted(value)
    except UnicodeDecodeError:
        return None
    return RequestParts(params, params, canonical="&".join(covered))


@lru_cache(KNOWN_MAX)
def _unquoted(value: str) -> str:
    return unquote(value, errors="strict")


async def _body(request: Request, limit: int) -> bytes:
    """Return the body of a request. Raises CfnError if it has more than `limit` bytes."""
    declared = request.headers.get("content-length", "0")
    raw = bytearray()
    message = f"the body has more than {limit} bytes"
    if declared.isdecimal() and int(declared) > limit:
        raise CfnError("RequestLimitExceeded", message)
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            raise CfnError("RequestLimitExceeded", message)
    return bytes(raw)


def _pairs(text: bytes) -> dict[str, str]:
    """Return the parameters in a query string or form; the last value of each. Raises CfnError."""
    try:
        pairs = parse_qsl(
            text.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=FIELDS_MAX,
        )
    except UnicodeDecodeError:
        message = "a parameter in the URL or in the form is not percent-encoded UTF-8"
        raise CfnError("InvalidQueryParameter", message) from None
    except ValueError:  # by its documentation: too many fields
        message = f"the request has more than {FIELDS_MAX} parameters"
        raise CfnError("RequestLimitExceeded", message) from None
    if any("\0" in key or "\0" in value for key, value in pairs):
        raise CfnError("InvalidQueryParameter", "a parameter contains a NUL character")
    return dict(pairs)
