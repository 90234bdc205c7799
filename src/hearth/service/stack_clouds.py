"""The clouds of stacks, and the trusts that remain valid after the requester's token expires.

An application credential may take the place of a trust.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from hearth.cloud.application_credential import (
    drop_application_credentials,
    make_application_credential,
)
from hearth.cloud.contract import Cloud, Clouds
from hearth.cloud.credential import (
    AppCredential,
    Credential,
    TokenCredential,
    TrustCredential,
)
from hearth.cloud.fallback import FallbackCloud, UnauthorizedCloud
from hearth.cloud.fault import CloudFault, NoAnswer, NoToken
from hearth.cloud.identity import StackDomain, drop_trust, find_trust, find_trusts, make_trust
from hearth.cloud.recent import Recent
from hearth.model.state import Status
from hearth.resources.base import Users
from hearth.service.caller import RESTRICTED, TRUST, UNRESTRICTED
from hearth.service.stack_users import StackUsers
from hearth.store.credentials import StackCredential
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)

TRUST_ENDED = (401, 403, 404)  # the answers of Keystone for a trust that no longer works
TRUST_ATTEMPTS_MAX = 3
TRUST_LOOKS = 5  # searches for a trust that may not be visible yet
LOOK_AGAIN_S = 1.0

KEEPS_NOTHING = {
    RESTRICTED: "The requester used a restricted application credential, which cannot "
    "create a trust for the time after its token expires; use an unrestricted one or a password.",
    TRUST: "The requester used a trust, which cannot be passed on.",
}


class StackClouds:
    """Returns the cloud of each stack, and manages trusts and stack domain users."""

    def __init__(self, pool: Clouds) -> None:
        self.pool = pool
        self._fallbacks = Recent[tuple[Credential, Credential | str], FallbackCloud]()
        self._domain: StackDomain | None = None
        config = pool.config
        if config.domain_admin is not None and config.stack_user_domain_id is not None:
            self._domain = StackDomain(
                pool.cloud(config.domain_admin),
                config.stack_user_domain_id,
                config.heat_stack_user_role,
            )

    def of(self, row: StackRow, credential: StackCredential | None) -> Cloud:
        """Return the cloud with the stack's credential.

        That is the requester's token if the stack has no trust. During an operation it is the
        token, and the trust as soon as Keystone or a service rejects the token. Otherwise, or if
        the option `trust_from_start` is set, it is the trust. Raises CloudFault if the stack has no
        credential.
        """
        if credential is None:
            raise CloudFault("identity", 401, "Unauthorized", "the stack has no credential")
        config, token = self.pool.config, _token(credential, row)
        trust = self._lasting(credential)
        if trust is None:
            if (reason := KEEPS_NOTHING.get(credential.delegated or "")) is None:
                return self.pool.cloud(token)
            return self._with_fallback(token, reason)
        if config.trust_from_start or row.status is not Status.IN_PROGRESS:
            return self.pool.cloud(trust)
        return self._with_fallback(token, trust)

    def lasting(self, credential: StackCredential) -> Cloud | None:
        """Return the cloud with the stack's trust or application credential, or None if the stack
        has neither.
        """
        permanent = self._lasting(credential)
        return None if permanent is None else self.pool.cloud(permanent)

    def _lasting(self, of: StackCredential) -> Credential | None:
        """Return the credential of the stack's trust or application credential, or None if it has
        none.
        """
        trustee = self.pool.config.trusted
        if not of.trust_id or trustee is None:
            return None
        if of.app_secret:
            return AppCredential(of.auth_url, of.trust_id, of.app_secret)
        return TrustCredential(trustee, of.trust_id)

    def _with_fallback(self, token: TokenCredential, second: Credential | str) -> Cloud:
        """Return the cloud that uses the token until it expires, and then `second`.

        A text as `second` is the reason why there is no second credential. The cloud is cached,
        because it remembers that the token has expired.
        """
        cached = self._fallbacks.get((token, second))
        if cached is not None:
            return cached
        after = UnauthorizedCloud(second) if isinstance(second, str) else self.pool.cloud(second)
        cloud = FallbackCloud(self.pool.cloud(token), after)
        self._fallbacks.keep((token, second), cloud)
        return cloud

    async def trusted(self, credential: StackCredential) -> bool:
        """Return whether no trust must be created, because the stack has a valid one of the
        requester.

        It is also true if no service user is configured, because then trusts are not used, and if
        Keystone cannot answer now.
        """
        service = self.pool.config.service_user
        if service is None:
            return True
        if not credential.trust_id:
            return False
        if credential.trustor not in (None, credential.user_id):
            return False
        lasting = self._lasting(credential)
        assert lasting is not None
        cloud = self.pool.cloud(lasting)
        eye = self.pool.cloud(service)  # a trust's token is not allowed to validate itself
        ended: tuple[int, ...] = TRUST_ENDED
        try:
            headers = {"X-Subject-Token": await cloud.token()}
            ended = (404,)
            await eye.request("identity", "GET", "/v3/auth/tokens", headers=headers)
        except CloudFault as fault:
            if fault.status in ended:
                return False
            log.warning("trust %s could not be read: %s", credential.trust_id, fault)
        return True

    async def entrust(self, row: StackRow, credential: StackCredential) -> tuple[str, str | None]:
        """Create a trust of the last requester, or an application credential instead.

        A trust that an earlier attempt may have created is found and used. Return the id of the
        trust or application credential, and the secret of an application credential. Raises
        CloudFault, with 403 if the requester may create neither.
        """
        config, by = self.pool.config, credential.delegated
        key = credential.next_key or credential.trust_key or row.id
        cloud = self.pool.cloud(_token(credential, row))
        if by in KEEPS_NOTHING:
            raise CloudFault("identity", 403, "Forbidden", KEEPS_NOTHING[by])
        if config.by_application or by == UNRESTRICTED:
            return await _application(cloud, config.trusts_delegated_roles, key=key)
        return await self._trust(row, cloud, key), None

    async def _trust(self, row: StackRow, cloud: Cloud, key: str) -> str:
        to, roles = self.pool.config.trusted, self.pool.config.trusts_delegated_roles
        assert to is not None
        trustee = await self.pool.cloud(to).whoami()
        lost = row.takeovers > 0  # an earlier owner may have requested one
        for attempt in range(TRUST_ATTEMPTS_MAX):
            for _ in range(TRUST_LOOKS if lost else 0):
                if trust_id := await find_trust(cloud, trustee.user_id, key=key):
                    return trust_id
                await asyncio.sleep(LOOK_AGAIN_S)
            try:
                return await make_trust(cloud, trustee.user_id, roles, key=key)
            except NoAnswer:
                lost = True
                if attempt == TRUST_ATTEMPTS_MAX - 1:
                    raise
            except CloudFault as fault:
                lost = fault.conflict  # another attempt has created it in the meantime
                if not lost or attempt == TRUST_ATTEMPTS_MAX - 1:
                    raise
        raise AssertionError("a bug: the last attempt has neither returned nor raised")

    async def drop_former(self, row: StackRow, credential: StackCredential) -> None:
        """Delete the trusts and application credentials that newer ones have replaced.

        An invalid trust is skipped: either it is already deleted, or only its trustor can delete
        it.
        """
        service = self.pool.config.trusted
        if service is None:
            return
        for former in credential.former:
            if former.owner:
                await self._drop_applications(row, credential, former.owner, former.key)
                continue
            cloud = self.pool.cloud(TrustCredential(service, former.id))
            try:
                await self._drop_trusts(cloud, former.key, former.id)
            except CloudFault as fault:
                if fault.status not in TRUST_ENDED:
                    raise
                log.info("stack %s: a replaced trust cannot be deleted: %s", row.id, fault)

    async def teardown(self, row: StackRow, credential: StackCredential | None) -> None:
        """Delete what Hearth created in Keystone for a root stack: its domain project, and its
        trusts or application credentials.

        If Keystone no longer knows one of the objects, or no longer accepts it, the others are
        deleted nevertheless.
        Raises CloudFault.
        """
        if self._domain is not None:
            dropped = self._domain.drop_projects(row.user_project_id, row.root_id, key=row.root_id)
            await _unless_gone(row, dropped)
        if credential is None or self.pool.config.trusted is None:
            return
        await _unless_gone(row, self.drop_former(row, credential))
        await _unless_gone(row, self._drop_lasting(row, credential))

    async def _drop_lasting(self, row: StackRow, credential: StackCredential) -> None:
        """Delete the trusts or application credentials of a stack, except those that newer ones
        have replaced.
        """
        keys = [credential.next_key, row.id, credential.trust_key]  # the key may not be recorded
        unique_keys = list(dict.fromkeys(key for key in keys if key))
        by_application = credential.app_secret or credential.delegated == UNRESTRICTED
        if by_application or self.pool.config.by_application:
            owner = credential.trustor or credential.user_id
            for key in unique_keys:
                await self._drop_applications(row, credential, owner, key)
        if credential.app_secret:
            return
        if not credential.trust_id and credential.delegated:
            await self._drop_lost(row, credential.user_id, unique_keys)
            return
        cloud = self.of(row.having(status=Status.COMPLETE), credential)
        for key in unique_keys[:-1]:
            await self._drop_trusts(cloud, key, None)
        await self._drop_trusts(cloud, unique_keys[-1], credential.trust_id)

    async def _drop_applications(
        self, row: StackRow, of: StackCredential, owner: str, key: str
    ) -> None:
        """Delete the application credentials with this key, as the service user or else as the
        requester.

        If neither is allowed to do that, a warning is logged.
        """
        service = self.pool.config.service_user
        assert service is not None
        for credential in (service, _token(of, row)):
            try:
                await drop_application_credentials(self.pool.cloud(credential), owner, key=key)
                return
            except CloudFault as fault:
                if fault.status not in TRUST_ENDED:
                    raise
                last = fault
        log.warning(
            "stack %s: its application credential cannot be deleted; only its owner may do so: %s",
            row.id,
            last,
        )

    async def _drop_lost(self, row: StackRow, trustor: str, keys: Sequence[str]) -> None:
        """Delete trusts whose ids were never recorded.

        This is done as the service user, because the requester is not allowed to list them.
        """
        service = self.pool.config.service_user
        assert service is not None
        cloud = self.pool.cloud(service)
        try:
            for key in keys:
                await self._drop_trusts(cloud, key, None, trustor)
        except CloudFault as fault:
            if fault.status != 403:
                raise
            log.info(
                "stack %s: the service user is not allowed to list its trusts: %s", row.id, fault
            )

    async def _drop_trusts(
        self, cloud: Cloud, key: str, last: str | None, trustor: str | None = None
    ) -> None:
        """Delete the trusts with this key. The trust `last`, which `cloud` itself may use, is
        deleted last.
        """
        service = self.pool.config.trusted
        assert service is not None
        trustee = await self.pool.cloud(service).whoami()
        trust_ids = await find_trusts(cloud, trustee.user_id, key=key, trustor_user_id=trustor)
        for trust_id in trust_ids:
            if trust_id != last:
                await drop_trust(cloud, trust_id)
        if last is not None:
            await drop_trust(cloud, last)

    def users(self, row: StackRow, on_project: Callable[[str], None]) -> Users | None:
        """Return the users in the stack's domain project, or None if neither a stack domain nor a
        service user is configured.

        Without a stack domain, the users belong to the stack's own project. `on_project` is called
        with the id of the domain project when it is created.
        """
        if self._domain is not None:
            return StackUsers(self.pool, self._domain, row, on_project)
        service = self.pool.config.service_user
        if service is None:
            return None
        role = self.pool.config.heat_stack_user_role
        domain = StackDomain(self.pool.cloud(service), service.user_domain_id, role)
        return StackUsers(self.pool, domain, row.having(user_project_id=row.project_id), on_project)


async def _unless_gone(row: StackRow, dropping: Awaitable[None]) -> None:
    """Await the delete of something; it is gone if Keystone does not know it or refuses it as a
    credential.
    """
    try:
        await dropping
    except CloudFault as fault:
        refused = isinstance(fault, NoToken) and fault.status in TRUST_ENDED
        if not (refused or fault.status in (401, 404)):
            raise
        log.warning("stack %s: cannot delete its trust or domain project: %s", row.id, fault)


def _token(of: StackCredential, row: StackRow) -> TokenCredential:
    """Return the stored token of the stack's last requester as a credential."""
    return TokenCredential(of.auth_url, of.token, row.project_id)


async def _application(cloud: Cloud, roles: Sequence[str], *, key: str) -> tuple[str, str]:
    for attempt in range(1, TRUST_ATTEMPTS_MAX + 1):
        try:
            return await make_application_credential(cloud, roles, key=key)
        except CloudFault as fault:  # a late one is deleted at the next attempt
            lost = isinstance(fault, NoAnswer) or fault.conflict
            if not lost or attempt == TRUST_ATTEMPTS_MAX:
                raise
    raise AssertionError("a bug: the last attempt has neither returned nor raised")
