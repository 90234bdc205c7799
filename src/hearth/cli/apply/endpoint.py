"""The endpoint of `--serve`: the APIs on an address of this machine, for the users of one stack.

Every user of the machine can connect to it. A request is accepted only with a signature or a token
of a stack user (`hearth.service.local_users`); tokens of Keystone are not accepted.
"""

import hmac
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from hearth.api.access_rules import ApiCall
from hearth.api.app import application
from hearth.api.cfn.accepted_keys import proves
from hearth.api.cfn.auth import Gate
from hearth.api.cfn.faults import CfnError
from hearth.api.front.chain import fronted
from hearth.api.front.front import Front
from hearth.api.front.in_turn import Steps
from hearth.api.front.rate import Rates
from hearth.config.front import FrontSettings
from hearth.model import collector
from hearth.process.http.served import server, started
from hearth.service.caller import Caller
from hearth.service.limits import RequestLimits
from hearth.service.local_users import LocalUser, local_user, owner_of_token
from hearth.service.services import Services
from hearth.store.database import Store
from hearth.store.engines import engines

NO_KEYSTONE = ""  # its address in responses with status 401


class LocalTokens(Struct, frozen=True):
    """Finds the user of a token; see `TokenChecker`."""

    store: Store

    async def caller(
        self, token: str, call: ApiCall, service_token: str | None = None
    ) -> Caller | None:
        """Return the caller to whom the token belongs, or None if it is not valid.

        These tokens have no access rules.
        """
        user = await _user(self.store, owner_of_token(token))
        stored_token = None if user is None else user.data.get("token")
        if (
            user is None
            or stored_token is None
            or not hmac.compare_digest(stored_token.encode(), token.encode())
        ):
            return None
        return user.caller


class LocalSignatures(Struct, frozen=True):
    """Finds the user who signed a request; see `SignatureChecker`."""

    store: Store

    async def caller(self, credentials: Mapping[str, Any]) -> Caller:
        """Return the caller whose signature is in `credentials`. Raises CfnError."""
        user = await _user(self.store, credentials["access"])
        secret = None if user is None else user.data.get("secret_key")
        if user is None or secret is None:
            raise CfnError("InvalidClientTokenId")
        if not proves(secret, credentials, time.time()):
            raise CfnError("SignatureDoesNotMatch")
        return user.caller


async def _user(store: Store, user_id: str) -> LocalUser | None:
    return await store.read(lambda tx: local_user(tx, user_id))


@asynccontextmanager
async def serving(services: Services, bound: socket.socket) -> AsyncIterator[None]:
    """Serve the APIs at a listening socket until the end of the block, and close it."""
    store = services.store
    tokens = LocalTokens(store)
    front = Front(FrontSettings(max_request_body_size=RequestLimits().max_json_body_size))
    gate = Gate([LocalSignatures(store)], tokens, NO_KEYSTONE)
    app = application(services, tokens, gate, NO_KEYSTONE, Rates(front))

    async def database() -> object:
        return await store.read(engines)

    collector.server()
    steps = Steps(services.compute.usage)
    http = server(fronted(app, front, steps, database))
    task = await started(http, [bound])
    try:
        yield
    finally:
        http.should_exit = True
        await task
