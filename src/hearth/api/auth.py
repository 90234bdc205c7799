"""Token checks: each token is validated by Keystone, and the result is cached for a short time."""

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api.access_rules import SUPPORTED, ApiCall, permits, rules_from
from hearth.api.answer import JSONResponse
from hearth.api.front.scope import below, header
from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault, NoToken
from hearth.config.settings import TokenChecks
from hearth.model.cache import Cache
from hearth.service.caller import RESTRICTED, TRUST, UNRESTRICTED, Caller
from hearth.telemetry.about import about, working_on

log = logging.getLogger(__name__)

CHECKED_S = 10.0  # an older one is refreshed in the background
GUEST_FACTOR = 5  # results about stack domain users are cached this many times longer
KEPT_MAX = 20_000
TOKEN_MAX = 8_000  # characters; no Keystone issues longer tokens, and no server accepts the header
SIGNED = "/cfn/"
OTHER_VERSION = re.compile(r"/v(?!1(/|$))[0-9]+(\.[0-9]+)?(/|$)")
OPEN_PATHS = frozenset({"", "/", "/versions", "/v1", "/v1/", "/healthcheck", "/openapi.json"})


_Key = tuple[bytes, bool]
"""The hash of a token, and whether the token may have expired."""


class _Validation(Struct):
    """A cached result of validating a token; `caller` is None if the token is not valid.

    The result expires at `until` and is refreshed after `check_at`, both in seconds since 1970.
    """

    caller: Caller | None
    until: float
    check_at: float


class TokenChecker(Protocol):
    """Finds the caller to whom a token belongs."""

    async def caller(
        self, token: str, call: ApiCall, service_token: str | None = None
    ) -> Caller | None:
        """Return the caller to whom the token belongs.

        Return None if one of the tokens is not valid, or if the access rules of `token` do not
        allow `call`. Every way into the service names its call here, so that none of them can
        ignore the rules. Raises CloudFault if a token cannot be checked.
        """
        ...


class Tokens:
    """Asks Keystone to whom a token belongs. `service` is the cloud of the service user.

    A result is cached as long as `checks` says, but not longer than the token is valid. The first
    request that uses a result older than ten seconds still gets the cached result, but starts a
    refresh in the background. So a revoked token can be accepted for ten seconds, and until the
    next refresh has ended. While Keystone does not respond, cached results stay in use until they
    expire. Concurrent requests with the same token share one call to Keystone.

    `checks` also says which service tokens are trusted. `guest_role` is the role of stack domain
    users. They are many and poll all the time, so a result about a stack domain user is cached five
    times as long, without a refresh.
    """

    def __init__(
        self,
        service: Cloud,
        auth_url: str,
        checks: TokenChecks | None = None,
        *,
        guest_role: str = STACK_USER_ROLE,
    ) -> None:
        self._service = service
        self._auth_url = auth_url
        self._checks = checks or TokenChecks()
        self._guest_role = guest_role
        self._validations = Cache[_Key, _Validation](KEPT_MAX)
        self._asking: dict[_Key, asyncio.Task[_Validation]] = {}

    async def caller(
        self, token: str, call: ApiCall, service_token: str | None = None
    ) -> Caller | None:
        """Return the caller to whom the token belongs; see `TokenChecker`.

        If `service_token` is trusted, an expired `token` is accepted. Raises CloudFault if Keystone
        cannot check a token.
        """
        caller = await self._of_both(token, service_token)
        return caller if caller is not None and permits(caller, call) else None

    async def _of_both(self, token: str, service_token: str | None) -> Caller | None:
        if service_token is None:
            return await self._caller_of(token, expired=False)
        service = await self._caller_of(service_token, expired=False)
        if service is None:
            return None
        trusted = not self._checks.service_token_roles_required or not service.roles.isdisjoint(
            self._checks.service_token_roles
        )
        caller = await self._caller_of(token, expired=trusted)
        return None if caller is None else replace(caller, service_roles=service.roles)

    async def _caller_of(self, token: str, *, expired: bool) -> Caller | None:
        if len(token) > TOKEN_MAX:
            return None
        key = hashlib.sha256(token.encode()).digest(), expired
        validation, now = self._validations.get(key), time.time()
        if validation is not None and validation.until > now:
            if validation.check_at <= now:
                validation.check_at = now + CHECKED_S
                self._ask(key, token, expired=expired)
            return validation.caller
        return (await asyncio.shield(self._ask(key, token, expired=expired))).caller

    def _ask(self, key: _Key, token: str, *, expired: bool) -> "asyncio.Task[_Validation]":
        task = self._asking.get(key)
        if task is None:
            task = asyncio.create_task(self._validate(key, token, expired=expired))
            self._asking[key] = task
            task.add_done_callback(lambda done: self._answered(key, done))
        return task

    def _answered(self, key: _Key, done: "asyncio.Task[_Validation]") -> None:
        del self._asking[key]
        if not done.cancelled() and done.exception() is not None:
            log.info("Keystone could not validate a token: %s", done.exception())

    async def _validate(self, key: _Key, token: str, *, expired: bool) -> _Validation:
        facts = await self._validated(token, expired=expired)
        now = time.time()
        until, caller, check_at = now + self._checks.token_cache_time_s, None, now + CHECKED_S
        if facts is not None:
            caller = caller_from(facts, token, self._auth_url, self._guest_role)
            if caller.guest:
                until = check_at = now + GUEST_FACTOR * self._checks.token_cache_time_s
            if not expired:
                until = min(until, _moment(facts["expires_at"]))
        validation = _Validation(caller, until, check_at)
        self._validations.keep(key, validation)
        return validation

    async def _validated(self, token: str, *, expired: bool) -> dict[str, Any] | None:
        try:
            answer = await self._service.request(
                "identity",
                "GET",
                "/v3/auth/tokens",
                headers={"X-Subject-Token": token, **SUPPORTED},
                params={"nocatalog": "1", **({"allow_expired": "1"} if expired else {})},
            )
        except CloudFault as fault:
            if fault.status not in (400, 401, 404) or isinstance(fault, NoToken):
                raise
            return None
        return answer.part("token")


def caller_from(
    facts: dict[str, Any], token: str, auth_url: str, guest_role: str = STACK_USER_ROLE
) -> Caller:
    """Return the caller that Keystone's response describes; `facts` is the object `token` in it.

    `token` is the id of the token, and `auth_url` the address of the Keystone that issued it.
    `guest_role` is the role of stack domain users.
    """
    project, user = facts.get("project") or {}, facts["user"]
    return Caller(
        user_id=user["id"],
        user_name=user["name"],
        project_id=project.get("id", ""),
        project_name=project.get("name", ""),
        roles=frozenset(role["name"] for role in facts.get("roles", ())),
        token=token,
        auth_url=auth_url,
        user_domain_id=(user.get("domain") or {}).get("id"),
        project_domain_id=(project.get("domain") or {}).get("id"),
        domain_id=(facts.get("domain") or {}).get("id"),
        system_scope="all" if facts.get("system") else None,
        is_admin_project=bool(facts.get("is_admin_project", True)),
        guest_role=guest_role,
        delegated=_delegated(facts),
        delegation_id=_delegation_id(facts),
        access_rules=rules_from(facts.get("application_credential") or {}),
    )


def _delegated(facts: dict[str, Any]) -> str | None:
    """Return the type of the delegation with which the token was issued; None if there is none."""
    if facts.get("OS-TRUST:trust"):
        return TRUST
    application = facts.get("application_credential")
    if application is None:
        return None
    return RESTRICTED if application.get("restricted", True) else UNRESTRICTED


def _delegation_id(facts: dict[str, Any]) -> str | None:
    """Return the id of the trust or application credential of the token; None if it has neither."""
    by = facts.get("OS-TRUST:trust") or facts.get("application_credential") or {}
    delegation_id: str | None = by.get("id")
    return delegation_id


def _moment(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _is_open(path: str) -> bool:
    """Return whether a path needs no token, as in version discovery and signed requests."""
    return path in OPEN_PATHS or path.startswith(SIGNED) or OTHER_VERSION.match(path) is not None


class Authenticated:
    """Middleware that responds with 401 to requests without a valid token for their call.

    If Keystone cannot check the token, the response is 503. `tokens` finds the caller of a token,
    and `auth_url` is the address of Keystone in responses with status 401. `is_open` returns
    whether a path needs no token. `service` is the type of this service in the catalogue.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: TokenChecker,
        auth_url: str,
        is_open: Callable[[str], bool] = _is_open,
        *,
        service: str = "orchestration",
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._auth_url = auth_url
        self._is_open = is_open
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(below(scope)):
            await self._app(scope, receive, send)
            return
        token, by_service = header(scope, b"x-auth-token"), header(scope, b"x-service-token")
        try:
            call = ApiCall(self._service, scope["method"], below(scope))
            caller = await self._tokens.caller(token, call, by_service or None) if token else None
        except CloudFault as fault:
            message = f"Keystone cannot check the token: {fault}"
            await _refusal(503, "Service Unavailable", message)(scope, receive, send)
            return
        if caller is None:
            await unauthorized(self._auth_url)(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["caller"] = replace(
            caller,
            request_id=state.get("request_id", ""),
            traceparent=state.get("traceparent", ""),
        )
        working_on(replace(about(), project_id=caller.project_id))
        await self._app(scope, receive, send)


def unauthorized(auth_url: str) -> JSONResponse:
    """Return a response 401 with the address of Keystone, `auth_url`."""
    answer = _refusal(401, "Unauthorized", "The request you have made requires authentication.")
    answer.headers["WWW-Authenticate"] = f'Keystone uri="{auth_url}"'
    return answer


def _refusal(code: int, title: str, message: str) -> JSONResponse:
    body = {"error": {"code": code, "title": title, "message": message}}
    return JSONResponse(body, status_code=code)
