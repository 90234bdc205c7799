"""Responses about stacks, kept for those who make the same request again and again.

Clients that wait for a stack show it every few seconds, and dashboards show it and list its
resources all the time. A kept response is valid as long as the rows from which it was made are the
same, so such a request needs only a check of the caller and one database read.
"""

import re
import time
from collections.abc import Awaitable, Callable, Collection

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Scope

from hearth.api.access_rules import ApiCall
from hearth.api.auth import TokenChecker
from hearth.api.fingerprint_reader import FingerprintReader
from hearth.api.front.rate import Rates
from hearth.api.front.scope import below, state
from hearth.api.front.shortcut import KnownAnswer
from hearth.api.lasting import Lasting
from hearth.cloud.fault import CloudFault
from hearth.model.cache import Cache
from hearth.service.caller import Caller
from hearth.service.reading.redact import Sight, sight_of
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx

PATH = re.compile(r"/v1/([^/\0]+)/stacks/[^/\0]+/([^/\0]+)(/resources)?")
STACK = "/v1/{tenant_id}/stacks/{stack_name}/{stack_id}"
RULES = {None: "stacks:show", "/resources": "resource:index"}
"""The policy rules of the requests, by the end of their paths."""
KEPT_S = 60.0  # since its last use
KEPT_MAX = 2_000
BYTES_MAX = 8 * 1024 * 1024

Ident = tuple[object, ...]
"""All parts of a request that the response depends on."""


class _CachedAnswer(Struct):
    lasting: Lasting
    caller: Caller
    sight: Sight
    used_at: float


class KnownAnswers:
    """Keeps responses about stacks, and finds them again.

    `tokens` finds the callers, and `rates` limits how many requests they send. `clock` returns a
    time in seconds.
    """

    def __init__(
        self,
        services: Services,
        tokens: TokenChecker,
        rates: Rates,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._services = services
        self._tokens = tokens
        self._rates = rates
        self._clock = clock
        self._fingerprints = FingerprintReader(services.store, _fingerprints)
        self._answers = Cache[Ident, _CachedAnswer](KEPT_MAX, BYTES_MAX)

    def find(self, scope: Scope) -> Awaitable[KnownAnswer | None] | None:
        """Look for the kept response to a request.

        Return None if there is certainly none. Otherwise return an awaitable, whose result is None
        if the response is out of date or the caller may no longer have it.
        """
        if not self._answers or scope["type"] != "http" or scope["method"] != "GET":
            return None
        request_parts = _request_parts(scope)
        if request_parts is None or (cached := self._answers.get(request_parts[0])) is None:
            return None
        return self._checked(scope, *request_parts, cached)

    def keep(self, scope: Scope, lasting: Lasting) -> None:
        """Keep the response to a request, which `find` then finds."""
        caller: Caller = state(scope)["caller"]
        request_parts = _request_parts(scope)
        if request_parts is None or caller.guest:
            return
        if caller.project_id != request_parts[2][1]:
            return  # an administrator, whose rights in other projects are checked elsewhere
        ident = request_parts[0]
        whose = replace(caller, request_id="", traceparent="")
        sight = sight_of(self._services, caller)
        now = self._clock()
        while (oldest := self._answers.oldest()) is not None and oldest.used_at < now - KEPT_S:
            self._answers.drop_oldest()
        self._answers.keep(ident, _CachedAnswer(lasting, whose, sight, now), len(lasting.body))

    async def _checked(
        self, scope: Scope, ident: Ident, token: str, path: re.Match[str], cached: _CachedAnswer
    ) -> KnownAnswer | None:
        try:
            call = ApiCall("orchestration", "GET", path[0])
            caller = await self._tokens.caller(token, call)
            if caller != cached.caller:
                return None
            now = await self._fingerprints.fingerprint((path[2], cached.lasting.with_resources))
        except CloudFault:
            return None
        is_allowed = self._services.policy.allows(RULES[path[3]], caller)
        if now != cached.lasting.fingerprint or not is_allowed:
            return None
        if sight_of(self._services, caller) != cached.sight:
            return None
        if self._rates.wait_s(caller):
            return None
        cached.used_at = self._clock()
        state(scope)["caller"] = caller  # for the log
        route = "orchestration", STACK + (path[3] or "")
        return KnownAnswer(cached.lasting.body, b"application/json", route)


def _fingerprints(tx: Tx, keys: Collection[tuple[str, bool]]) -> dict[tuple[str, bool], int]:
    """Return the fingerprints of stacks, with or without those of their resources."""
    fingerprints = {}
    for with_resources in (True, False):
        if ids := [stack_id for stack_id, wide in keys if wide is with_resources]:
            by_stack = reads.fingerprints_of_stacks(tx, ids, with_resources)
            for stack_id, fingerprint in by_stack.items():
                fingerprints[stack_id, with_resources] = fingerprint
    return fingerprints


def _request_parts(scope: Scope) -> tuple[Ident, str, re.Match[str]] | None:
    """Return what identifies a request about a stack, its token and its path; None for others."""
    path = PATH.fullmatch(below(scope))
    if path is None:
        return None
    token = host = b""
    for name, value in scope["headers"]:
        if name == b"x-auth-token":
            token = token or value  # of several headers, the first counts
        elif name == b"host":
            host = host or value
        elif name == b"x-service-token":
            return None
    if not token:
        return None
    root, query = scope.get("root_path", ""), scope["query_string"]
    ident = (scope["path"], query, token, host, scope["scheme"], root)
    return ident, token.decode("latin-1"), path
