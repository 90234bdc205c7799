"""Tokens: checked with Keystone, kept for a short while."""

import hashlib
import re
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.service.caller import Caller

KEPT_S = 60.0
KEPT_MAX = 5000
SIGNED = "/cfn/"
OTHER_VERSION = re.compile(r"/v(?!1(/|$))[0-9]+(/|$)")
OPEN_PATHS = frozenset({"", "/", "/versions", "/v1", "/v1/", "/healthcheck"})


@dataclass(frozen=True, slots=True)
class _Kept:
    caller: Caller
    until: float


class Tokens:
    """Who a token stands for, as Keystone says. `service` is the cloud of the service user."""

    def __init__(self, service: Cloud, auth_url: str) -> None:
        self._service = service
        self._auth_url = auth_url
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    async def caller(self, token: str) -> Caller | None:
        """The caller, None for a token that is not valid."""
        key = hashlib.sha256(token.encode()).digest()
        kept = self._kept.get(key)
        if kept is not None and kept.until > time.time():
            return kept.caller
        try:
            answer = await self._service.request(
                "identity",
                "GET",
                "/v3/auth/tokens",
                headers={"X-Subject-Token": token},
                params={"nocatalog": "1"},
            )
        except CloudFault as fault:
            if fault.status in (401, 404):
                return None
            raise
        facts = answer.part("token")
        caller = caller_from(facts, token, self._auth_url)
        if caller is not None:
            until = min(time.time() + KEPT_S, _moment(facts["expires_at"]))
            self._kept[key] = _Kept(caller, until)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return caller


def caller_from(facts: dict[str, Any], token: str, auth_url: str) -> Caller | None:
    """The caller that a token's body tells of; None without a project."""
    project = facts.get("project")
    if project is None:
        return None
    return Caller(
        user_id=facts["user"]["id"],
        user_name=facts["user"]["name"],
        project_id=project["id"],
        project_name=project["name"],
        roles=frozenset(role["name"] for role in facts.get("roles", ())),
        token=token,
        auth_url=auth_url,
    )


def _moment(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _is_open(path: str) -> bool:
    """Paths without a token: discovery, and what is signed instead."""
    return path in OPEN_PATHS or path.startswith(SIGNED) or OTHER_VERSION.match(path) is not None


class Authenticated:
    """Lets nobody past without a valid token, but for the open paths."""

    def __init__(self, app: ASGIApp, tokens: Tokens, auth_url: str) -> None:
        self._app = app
        self._tokens = tokens
        self._auth_url = auth_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        token = request.headers.get("x-auth-token")
        try:
            caller = await self._tokens.caller(token) if token else None
        except CloudFault as fault:
            words = f"Keystone cannot check the token: {fault}"
            await self._refuse(503, "Service Unavailable", words)(scope, receive, send)
            return
        if caller is None:
            words = "The request you have made requires authentication."
            await self._refuse(401, "Unauthorized", words)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    def _refuse(self, code: int, title: str, message: str) -> JSONResponse:
        body = {"error": {"code": code, "title": title, "message": message}}
        headers = {"WWW-Authenticate": f'Keystone uri="{self._auth_url}"'} if code == 401 else {}
        return JSONResponse(body, status_code=code, headers=headers)
