"""Authentication of requests: by a signature, which Keystone usually checks, or by a token.

Each signature is checked again, even if an equal request was checked before, because a signature
can expire or be replayed. The signatures of servers that poll are checked by Hearth itself, see
accepted_keys.py. Source: docs/spec/cfn-api.md, section 2.
"""

import hashlib
import logging
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import unquote

from msgspec import Struct
from starlette.requests import Request

from hearth.api.access_rules import ApiCall, permits
from hearth.api.auth import TokenChecker, caller_from
from hearth.api.cfn.accepted_keys import AHEAD_MAX_S, AcceptedKeys, moment_of
from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import RequestParts
from hearth.api.front.scope import below, header
from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.service.caller import Caller

log = logging.getLogger(__name__)

SERVICE = "cloudformation"  # in the catalogue, and so in access rules
OUTSIDE = frozenset({"Signature", "X-Amz-Signature"})
"""The parameters that contain the signature itself. The signature does not cover them."""
PROVEN_S = 60.0  # if the token was accepted within this time, a 401 is about the signature
_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)")
_SIGNATURE = re.compile(r"\bSignature=([^,\s]+)")


class SignatureChecker(Protocol):
    """Finds the caller who signed a request."""

    async def caller(self, credentials: Mapping[str, Any]) -> Caller:
        """Return the caller whose signature is in `credentials`; see `credentials_of`.

        Raises CfnError if the signature is not valid or cannot be checked.
        """
        ...


class KeystoneChecker(Struct, frozen=True):
    """A Keystone that checks signatures; `cloud` uses the credential of a service user.

    `guest_role` is the role of stack domain users.
    """

    cloud: Cloud
    auth_url: str
    guest_role: str = STACK_USER_ROLE

    async def caller(self, credentials: Mapping[str, Any]) -> Caller:
        """Ask Keystone for the caller; see `SignatureChecker`."""
        try:
            answer = await self.cloud.request(
                "identity",
                "POST",
                "/v3/ec2tokens",
                json={"ec2Credentials": credentials},
                idempotent=True,
                renew_after_s=PROVEN_S,
            )
        except CloudFault as fault:
            raise _refusal(fault) from None
        token = answer.headers.get("x-subject-token", "")
        caller = None
        if token:
            caller = caller_from(answer.part("token"), token, self.auth_url, self.guest_role)
        if caller is None or not caller.project_id:
            raise CfnError("AccessDenied", "the access key does not belong to a project")
        return caller


class RequestSignature(Struct, frozen=True):
    """The signature of a request and the access key in it, which is None if it is missing.

    `four` is true for signature version 4.
    """

    signature: str
    access: str | None
    four: bool = False


class NotAuthenticated(Exception):
    """The request has no signature, and its token is missing, not valid, or not for a project."""


class Gate:
    """Finds the caller of a request by its signature or its token.

    `signers` are tried in order until one of them accepts the signature. `tokens` finds the callers
    of requests with a token, and `auth_url` is the address of Keystone in responses with status
    401. `accepted` checks the signatures of servers that poll; if it is None, `signers` check all
    signatures.
    """

    def __init__(
        self,
        signers: Sequence[SignatureChecker],
        tokens: TokenChecker,
        auth_url: str,
        accepted: AcceptedKeys | None = None,
    ) -> None:
        self._accepted = accepted
        self._signers = tuple(signers)
        self._tokens = tokens
        self.auth_url = auth_url

    async def caller(self, request: Request, parts: RequestParts) -> Caller:
        """Return the caller of a request, whose read parameters are `parts`. Raises CfnError and
        NoToken.

        A token is used only if the request has no signature but a header X-Auth-User.
        """
        signature = signed(parts.params, header(request.scope, b"authorization"))
        if signature is None:
            if "x-auth-user" in request.headers:
                return await self._by_token(request)
            raise CfnError("IncompleteSignature", "the request has no signature")
        if not signature.access:
            raise CfnError("MissingAuthenticationToken")
        if signature.four and request.method == "POST" and (loose := _unsigned(parts)):
            message = (
                f"signature version 4 of a POST does not cover {', '.join(loose)} in the query"
            )
            raise CfnError("IncompleteSignature", message)
        if (moment := _signed_at(parts.params, request)) and moment > time.time() + AHEAD_MAX_S:
            raise CfnError("RequestExpired", "the date in the request is in the future")
        caller = await self._by_signature(request, parts, signature)
        if not permits(caller, _call(request)):
            raise CfnError("AccessDenied", "the access rules of the key do not allow this call")
        return caller

    async def _by_signature(
        self, request: Request, parts: RequestParts, signature: RequestSignature
    ) -> Caller:
        """Return the caller of a signed request; see `SignatureChecker`."""
        covered = _covered(request, parts, signature)
        if self._accepted is not None:
            caller = self._accepted.caller(covered, parts.canonical)
            if caller is not None:
                return caller
        credentials = credentials_of(request, parts, signature)
        caller = await self._by_keystone(credentials)
        if self._accepted is not None:
            await self._accepted.add(caller, credentials)
        return caller

    async def _by_keystone(self, credentials: Mapping[str, Any]) -> Caller:
        last = CfnError("AccessDenied")
        for signer in self._signers:
            try:
                return await signer.caller(credentials)
            except CfnError as refused:
                last = refused
        raise last

    async def _by_token(self, request: Request) -> Caller:
        token = request.headers.get("x-auth-token")
        try:
            caller = await self._tokens.caller(token, _call(request)) if token else None
        except CloudFault as fault:
            log.error("Keystone cannot check a token: %s", fault)
            raise CfnError("ServiceUnavailable", "Keystone cannot check the token") from None
        if caller is None or not caller.project_id:
            raise NotAuthenticated
        return caller


def _call(request: Request) -> ApiCall:
    return ApiCall(SERVICE, request.method, below(request.scope))


def signed(params: Mapping[str, str], authorization: str) -> RequestSignature | None:
    """Return the signature of a request, or None if it has none.

    `params` are the parameters of the request, and `authorization` is the value of its header
    Authorization.
    """
    if old := params.get("Signature"):
        return RequestSignature(old, params.get("AWSAccessKeyId") or _access(params, authorization))
    if new := params.get("X-Amz-Signature"):
        return RequestSignature(new, _access(params, authorization), four=True)
    if in_header := _SIGNATURE.search(authorization):
        access = _access(params, authorization) or params.get("AWSAccessKeyId")
        return RequestSignature(in_header[1], access, four=True)
    return None


def _signed_at(params: Mapping[str, str], request: Request) -> float | None:
    """Return the time at which a request was signed, in seconds since 1970.

    Return None if the request contains no time, or an invalid one.
    """
    date = params.get("Timestamp") or params.get("X-Amz-Date")
    return moment_of(date or header(request.scope, b"x-amz-date"))


def _access(params: Mapping[str, str], authorization: str) -> str | None:
    """Return the access key in a signature of version 4, or None."""
    if credential := params.get("X-Amz-Credential"):
        return credential.partition("/")[0]
    match = _CREDENTIAL.search(authorization)
    return match[1] if match else None


def _unsigned(parts: RequestParts) -> list[str]:
    """Return the parameters in the query that are not part of the signature itself, sorted."""
    return sorted(key for key in parts.query if not key.startswith("X-Amz-"))


def credentials_of(
    request: Request, parts: RequestParts, signature: RequestSignature
) -> dict[str, Any]:
    """Return a signed request in the form that Keystone's `ec2tokens` expects.

    `parts` are its read parameters. The result contains `signature` and everything from which
    Keystone computes the signature again.
    """
    return {**_covered(request, parts, signature), **_also(request, parts)}


def _covered(request: Request, parts: RequestParts, signature: RequestSignature) -> dict[str, Any]:
    """Return a signature, and what each signature covers."""
    path = bytes(request.scope.get("raw_path") or request.scope["path"].encode())
    return {
        "access": signature.access,
        "signature": signature.signature,
        "host": header(request.scope, b"host"),
        "verb": request.method,
        "path": unquote(path.partition(b"?")[0].decode("latin-1")),
        "params": {key: value for key, value in parts.params.items() if key not in OUTSIDE},
    }


def _also(request: Request, parts: RequestParts) -> dict[str, Any]:
    """Return what only signatures of version 4 cover, besides."""
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        name = name.title()  # the names under which Keystone reads them
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return {"headers": headers, "body_hash": hashlib.sha256(parts.raw).hexdigest()}


def _refusal(fault: CloudFault) -> CfnError:
    """Return the error for a signature that Keystone refused or could not check."""
    message = fault.message.lower()
    if "access key not found" in message or fault.status == 404:
        return CfnError("InvalidClientTokenId")
    if "signature not supplied" in message:
        return CfnError("SignatureDoesNotMatch")
    if fault.status in (0, 429) or fault.status > 500:
        log.error("Keystone cannot check a signature: %s", fault)
        return CfnError("ServiceUnavailable", "Keystone cannot check the signature")
    if fault.status == 500:  # Keystone's answer to a signature of an unknown form
        log.warning("Keystone had an internal error while it checked a signature: %s", fault)
    return CfnError("AccessDenied")
