"""Which cloud a stack is worked with, and the users of its own project."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from hearth.cloud.contract import Cloud
from hearth.cloud.credential import (
    Credential,
    NamedCredential,
    PasswordCredential,
    TokenCredential,
    TrustCredential,
)
from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.cloud.identity import StackDomain, drop_trust, find_trust, find_trusts, make_trust
from hearth.cloud.pool import CloudPool
from hearth.model.problem import Rejected
from hearth.resources.base import ResourceType, Users
from hearth.resources.lookup import Names
from hearth.resources.translate import resolve
from hearth.store.rows import StackRow

TRUST_ATTEMPTS_MAX = 3
TRUST_LOOKS = 5  # for a trust that was asked for and may not be seen yet
LOOK_AGAIN_S = 1.0


class StackClouds:
    """Clouds by stack. A stored credential is ("token" | "name", facts), with the id of the trust
    once one was made."""

    def __init__(self, pool: CloudPool) -> None:
        self.pool = pool
        self._domain: StackDomain | None = None
        config = pool.config
        if config.domain_admin is not None and config.stack_domain_id is not None:
            self._domain = StackDomain(pool.cloud(config.domain_admin), config.stack_domain_id)

    def of(self, row: StackRow, credential: tuple[str, Any] | None) -> Cloud:
        """The cloud under the stack's credential: by its trust, else with the user's token."""
        if credential is None:
            raise CloudFault("identity", 401, "Unauthorized", "the stack has no credential")
        return self.pool.cloud(self._credential(row, *credential))

    def _credential(self, row: StackRow, kind: str, facts: Mapping[str, Any]) -> Credential:
        service = self.pool.config.service_user
        if facts.get("trust_id") and service is not None:
            return TrustCredential(service, facts["trust_id"])
        if kind == "name":
            return NamedCredential(facts["name"])
        return TokenCredential(facts["auth_url"], facts["token"], row.project_id)

    async def resolve(
        self, kind: ResourceType, properties: Mapping[str, Any], cloud: Cloud
    ) -> Mapping[str, Any]:
        """Names as ids. Raises Rejected where a name stands for nothing."""
        found = await resolve(properties, kind.translation, Names(cloud))
        if found.problems:
            raise Rejected(found.problems)
        return found.properties

    async def entrust(self, row: StackRow, credential: tuple[str, Any]) -> str | None:
        """The id of the stack's trust, made if need be; None where there is no service user."""
        service = self.pool.config.service_user
        kind, facts = credential
        if service is None or kind != "token" or facts.get("trust_id"):
            return None
        trustee = await self.pool.cloud(service).whoami()
        token = TokenCredential(facts["auth_url"], facts["token"], row.project_id)
        cloud = self.pool.cloud(token)
        lost = row.takeovers > 0  # an earlier owner may have asked for one
        for attempt in range(TRUST_ATTEMPTS_MAX):
            for _ in range(TRUST_LOOKS if lost else 0):
                if found := await find_trust(cloud, trustee.user_id, key=row.id):
                    return found
                await asyncio.sleep(LOOK_AGAIN_S)
            try:
                return await make_trust(cloud, trustee.user_id, (), key=row.id)
            except NoAnswer:
                lost = True
                if attempt == TRUST_ATTEMPTS_MAX - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def farewell(self, row: StackRow, credential: tuple[str, Any] | None) -> None:
        """What Hearth itself made for a root stack goes: its users' project, its trust."""
        if self._domain is not None:
            project_id = row.user_project_id or await self._domain.find_project(
                row.root_id, key=row.root_id
            )  # one whose answer was lost is not recorded
            if project_id is not None:
                await self._domain.drop_project(project_id)
        service = self.pool.config.service_user
        if credential is None or credential[0] != "token" or service is None:
            return
        cloud, recorded = self.of(row, credential), credential[1].get("trust_id")
        trustee = await self.pool.cloud(service).whoami()
        for trust_id in await find_trusts(cloud, trustee.user_id, key=row.id):
            if trust_id != recorded:
                await drop_trust(cloud, trust_id)
        if recorded:  # the last: it is what the others are dropped with
            await drop_trust(cloud, recorded)

    def users(self, row: StackRow, noted: Callable[[str], None]) -> Users | None:
        """Users of the stack's own project; None where there is no domain for them."""
        if self._domain is None:
            return None
        return StackUsers(self.pool, self._domain, row, noted)


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
        service = self._pool.config.domain_admin
        assert service is not None
        mine = PasswordCredential(
            service.auth_url,
            "",
            password,
            user_id=user_id,
            project_id=await self.project(),
        )
        return await self._pool.cloud(mine).token()
