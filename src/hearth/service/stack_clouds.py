"""Which cloud a stack is worked with, and the users of its own project."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from hearth.cloud.contract import Cloud
from hearth.cloud.credential import (
    NamedCredential,
    PasswordCredential,
    TokenCredential,
    TrustCredential,
)
from hearth.cloud.either import EitherCloud
from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.cloud.identity import StackDomain, drop_trust, find_trust, find_trusts, make_trust
from hearth.cloud.pool import CREDENTIALS_MAX, CloudPool
from hearth.model.state import Status
from hearth.resources.base import Users
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)

TRUST_ENDED = (401, 403, 404)  # what Keystone answers when a trust works no more
TRUST_ATTEMPTS_MAX = 3
TRUST_LOOKS = 5  # for a trust that was asked for and may not be seen yet
LOOK_AGAIN_S = 1.0


class StackClouds:
    """Clouds by stack. A stored credential is ("token" | "name", facts).

    The facts are the token of whoever asked last (`auth_url`, `token`, `user_id`), and of the
    trust, once there is one, `trust_id`, its `trustor` and the `trust_key` under which it was made.
    A trust that shall be made anew has its key in `next_key` first; those it took the place of are
    `former`, as pairs of id and key.
    """

    def __init__(self, pool: CloudPool) -> None:
        self.pool = pool
        self._either = lru_cache(CREDENTIALS_MAX)(self._make_either)
        self._domain: StackDomain | None = None
        config = pool.config
        if config.domain_admin is not None and config.stack_domain_id is not None:
            self._domain = StackDomain(pool.cloud(config.domain_admin), config.stack_domain_id)

    def of(self, row: StackRow, credential: tuple[str, Any] | None) -> Cloud:
        """The cloud under the stack's credential: by its trust, else with the user's token."""
        if credential is None:
            raise CloudFault("identity", 401, "Unauthorized", "the stack has no credential")
        kind, facts = credential
        config = self.pool.config
        if kind == "name":
            return self.pool.cloud(NamedCredential(facts["name"]))
        token = TokenCredential(facts["auth_url"], facts["token"], row.project_id)
        if not facts.get("trust_id") or config.service_user is None:
            return self.pool.cloud(token)
        trust = TrustCredential(config.service_user, facts["trust_id"])
        if config.trust_from_start or row.status is not Status.IN_PROGRESS:
            return self.pool.cloud(trust)
        return self._either(token, trust)

    def _make_either(self, token: TokenCredential, trust: TrustCredential) -> Cloud:
        return EitherCloud(self.pool.cloud(token), self.pool.cloud(trust))

    async def trusted(self, credential: tuple[str, Any]) -> bool:
        """Whether nothing is to be made: the trust is the requester's and works."""
        service, (kind, facts) = self.pool.config.service_user, credential
        if service is None or kind != "token":
            return True
        if not facts.get("trust_id"):
            return False
        if facts.get("trustor", facts.get("user_id")) != facts.get("user_id"):
            return False
        cloud = self.pool.cloud(TrustCredential(service, facts["trust_id"]))
        eye = self.pool.cloud(service)  # a token of a trust may not even look at itself
        ended: tuple[int, ...] = TRUST_ENDED
        try:
            headers = {"X-Subject-Token": await cloud.token()}
            ended = (404,)
            await eye.request("identity", "GET", "/v3/auth/tokens", headers=headers)
        except CloudFault as fault:
            if fault.status in ended:
                return False
            log.warning("the trust of a stack could not be looked at: %s", fault)
        return True

    async def entrust(self, row: StackRow, credential: tuple[str, Any]) -> str:
        """The id of a trust from whoever asked last; found again by its key."""
        service, (_, facts) = self.pool.config.service_user, credential
        assert service is not None
        key = facts.get("next_key") or facts.get("trust_key") or row.id
        trustee = await self.pool.cloud(service).whoami()
        token = TokenCredential(facts["auth_url"], facts["token"], row.project_id)
        cloud = self.pool.cloud(token)
        roles = self.pool.config.trust_roles
        lost = row.takeovers > 0  # an earlier owner may have asked for one
        for attempt in range(TRUST_ATTEMPTS_MAX):
            for _ in range(TRUST_LOOKS if lost else 0):
                if found := await find_trust(cloud, trustee.user_id, key=key):
                    return found
                await asyncio.sleep(LOOK_AGAIN_S)
            try:
                return await make_trust(cloud, trustee.user_id, roles, key=key)
            except NoAnswer:
                lost = True
                if attempt == TRUST_ATTEMPTS_MAX - 1:
                    raise
            except CloudFault as fault:
                lost = fault.conflict  # an attempt that came late has made it just now
                if not lost or attempt == TRUST_ATTEMPTS_MAX - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def drop_former(self, row: StackRow, credential: tuple[str, Any]) -> None:
        """The trusts that others took the place of go. One that does not work is gone, or must be
        left to its trustor."""
        service = self.pool.config.service_user
        if service is None:
            return
        for trust_id, key in credential[1].get("former", ()):
            cloud = self.pool.cloud(TrustCredential(service, trust_id))
            try:
                await self._drop_trusts(cloud, key, trust_id)
            except CloudFault as fault:
                if fault.status not in TRUST_ENDED:
                    raise
                log.info("stack %s: a former trust is out of reach: %s", row.id, fault)

    async def farewell(self, row: StackRow, credential: tuple[str, Any] | None) -> None:
        """What Hearth itself made for a root stack goes: its users' project, its trusts."""
        if self._domain is not None:
            project_id = row.user_project_id or await self._domain.find_project(
                row.root_id, key=row.root_id
            )  # one whose answer was lost is not recorded
            if project_id is not None:
                await self._domain.drop_project(project_id)
        if credential is None or credential[0] != "token" or self.pool.config.service_user is None:
            return
        await self.drop_former(row, credential)
        facts = credential[1]
        cloud = self.of(replace(row, status=Status.COMPLETE), credential)
        if facts.get("next_key"):
            await self._drop_trusts(cloud, facts["next_key"], None)
        if facts.get("trust_key", row.id) != row.id:  # the first one, if nobody could note it
            await self._drop_trusts(cloud, row.id, None)
        await self._drop_trusts(cloud, facts.get("trust_key", row.id), facts.get("trust_id"))

    async def _drop_trusts(self, cloud: Cloud, key: str, last: str | None) -> None:
        """End the trusts under a key, and as the last one that by which `cloud` is reached."""
        service = self.pool.config.service_user
        assert service is not None
        trustee = await self.pool.cloud(service).whoami()
        for trust_id in await find_trusts(cloud, trustee.user_id, key=key):
            if trust_id != last:
                await drop_trust(cloud, trust_id)
        if last is not None:
            await drop_trust(cloud, last)

    def users(self, row: StackRow, noted: Callable[[str], None]) -> Users | None:
        """Users of the stack's own project, without a domain for them of the stack's project; None
        where there is no service user to make them."""
        if self._domain is not None:
            return StackUsers(self.pool, self._domain, row, noted)
        service = self.pool.config.service_user
        if service is None:
            return None
        domain = StackDomain(self.pool.cloud(service), service.user_domain_id)
        return StackUsers(self.pool, domain, replace(row, user_project_id=row.project_id), noted)


class StackUsers(Users):
    """Users for what runs inside servers, in the project of the root stack.

    `noted` hears of the project's id when it is first made.
    """

    def __init__(
        self,
        pool: CloudPool,
        domain: StackDomain,
        row: StackRow,
        noted: Callable[[str], None],
    ) -> None:
        self._pool = pool
        self._domain = domain
        self._root_id = row.root_id
        self._project_id = row.user_project_id
        self._noted = noted

    async def project(self) -> str:
        """The id of the stack's own project."""
        if self._project_id is None:
            self._project_id = await self._domain.make_project(self._root_id, key=self._root_id)
            self._noted(self._project_id)
        return self._project_id

    async def make(self, name: str, password: str, *, key: str) -> str:
        return await self._domain.make_user(name, await self.project(), password, key=key)

    async def find(self, name: str, *, key: str) -> str | None:
        return await self._domain.find_user(name, key=key)

    async def key_pair(self, user_id: str) -> tuple[str, str]:
        pair = await self._domain.make_key_pair(user_id, await self.project())
        return pair.access, pair.secret

    async def key_pairs(self, user_id: str) -> list[str]:
        found = await self._domain.key_pairs(user_id, await self.project())
        return [pair.access for pair in found]

    async def drop_key_pair(self, user_id: str, access: str) -> None:
        await self._domain.drop_key_pair(user_id, access)

    async def enable(self, user_id: str, *, enabled: bool) -> None:
        await self._domain.enable_user(user_id, enabled=enabled)

    async def drop(self, user_id: str) -> None:
        await self._domain.drop_user(user_id)

    async def token(self, user_id: str, password: str) -> str:
        service = self._pool.config.domain_admin or self._pool.config.service_user
        assert service is not None
        mine = PasswordCredential(
            service.auth_url,
            "",
            password,
            user_id=user_id,
            project_id=await self.project(),
        )
        return await self._pool.cloud(mine).token()
