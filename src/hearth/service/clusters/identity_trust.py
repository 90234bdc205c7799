"""Identities with a trust, as in older releases of Magnum.

Each cluster has a trustee, a user in the stack domain. The user who creates the identity creates a
trust for the trustee.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from hearth.cloud.contract import Cloud
from hearth.cloud.credential import Credential, PasswordCredential, TrustCredential
from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.cloud.identity import StackDomain, drop_trust, find_trusts, make_trust
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store.clusters import identities
from hearth.store.clusters.identities import Identity

log = logging.getLogger(__name__)

ATTEMPTS_MAX = 3
ENDED = (401, 403, 404)  # the answers of Keystone for a trust that no longer works


class TrustMode:
    """The mode with a trustee for each cluster, and a trust that the trustee cannot delegate
    further.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def make(self, identity: Identity, caller: Caller) -> Identity:
        secrets = identity.secrets
        if identity.trustee_id is None:
            trustee = await self._domain.make_trustee(
                secrets.trustee_name, secrets.password, key=identity.key
            )
            identity = replace(identity, trustee_id=trustee)
            await self._store(identity)
        if identity.delegation_id is None:
            assert identity.trustee_id is not None
            trust = await self._trust(self._services.cloud(caller), identity)
            identity = replace(identity, delegation_id=trust)
            await self._store(identity)
        return identity

    async def _trust(self, cloud: Cloud, identity: Identity) -> str:
        """Create the trust and return its id, or find a trust that an earlier call has created."""
        assert identity.trustee_id is not None
        roles = self._services.clusters.trust_roles
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                return await make_trust(cloud, identity.trustee_id, roles, key=identity.key)
            except CloudFault as fault:
                lost = isinstance(fault, NoAnswer) or fault.conflict
                if not lost or attempt == ATTEMPTS_MAX:
                    raise
        raise AssertionError("unreachable: the last attempt has neither returned nor raised")

    async def _store(self, identity: Identity) -> None:
        await self._services.store.run(lambda tx: identities.change(tx, identity))

    def env(self, identity: Identity) -> Mapping[str, str]:
        passed = self._services.clusters.cluster_user_trust
        config = self._services.clouds.pool.config
        return {
            "auth_url": identity.secrets.auth_url,
            "trustee_domain_id": config.stack_user_domain_id or "",
            "trustee_user_id": identity.trustee_id or "",
            "trustee_username": identity.secrets.trustee_name,
            "trustee_password": identity.secrets.password,
            "trust_id": (identity.delegation_id or "") if passed else "",
        }

    def credential(self, identity: Identity) -> Credential | None:
        if identity.delegation_id is None or identity.trustee_id is None:
            return None
        secrets = identity.secrets
        trustee = PasswordCredential(
            secrets.auth_url, secrets.trustee_name, secrets.password, user_id=identity.trustee_id
        )
        return TrustCredential(trustee, identity.delegation_id)

    async def drop(self, identity: Identity, caller: Caller | None) -> None:
        """Delete the trust, then the trustee.

        Only the user who created a trust may delete it; a token of the trust acts for that user. If
        the trust cannot be deleted, it is useless once its trustee is deleted.
        """
        trustee = identity.trustee_id or await self._domain.find_user(
            identity.secrets.trustee_name, key=identity.key
        )
        if trustee is None:
            return
        try:
            credential = self.credential(identity)
            if credential is not None and identity.delegation_id is not None:
                await drop_trust(
                    self._services.clouds.pool.cloud(credential), identity.delegation_id
                )
            elif caller is not None and caller.user_id == identity.user_id:
                maker = self._services.cloud(caller)
                for trust_id in await find_trusts(maker, trustee, key=identity.key):
                    await drop_trust(maker, trust_id)
        except CloudFault as fault:
            if fault.status not in ENDED:
                raise
            log.info(
                "cluster %s: its trust cannot be used any more: %s", identity.cluster_id, fault
            )
        await self._domain.drop_user(trustee)

    @property
    def _domain(self) -> StackDomain:
        config = self._services.clouds.pool.config
        if config.domain_admin is None or config.stack_user_domain_id is None:
            message = (
                "Trusts for clusters need a stack domain and its administrator. Set the options "
                "stack_user_domain_id, stack_domain_admin and stack_domain_admin_password."
            )
            raise CloudFault("identity", 401, "Unauthorized", message)
        admin = self._services.clouds.pool.cloud(config.domain_admin)
        return StackDomain(admin, config.stack_user_domain_id, config.heat_stack_user_role)
