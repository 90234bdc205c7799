"""Identities with two application credentials: one for the nodes, one for Hearth.

The credential of the nodes only allows calls to fetch and sign certificates of their own cluster,
and to report its health. It allows nothing in the Orchestration API: an access rule cannot name the
stacks of one cluster, and the agents of nodes poll and signal as users of their stack. The
credential of Hearth never leaves Hearth. It has the roles in the option `trust_roles`; if that is
empty, it has all roles of the user who created it.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import structs

from hearth.cloud.application_credential import (
    drop_access_rules,
    drop_application_credentials,
    make_application_credential,
)
from hearth.cloud.contract import Body, Cloud
from hearth.cloud.credential import AppCredential, Credential, TokenCredential
from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store.clusters import identities
from hearth.store.clusters.identities import Identity

log = logging.getLogger(__name__)

ATTEMPTS_MAX = 3
NOT_ALLOWED = (401, 403)
GONE = (401, 404)  # the answers of Keystone for a credential that no longer exists


def access_rules(cluster_id: str) -> list[Body]:
    """Return the access rules of the nodes' credential, that is, the calls that it allows."""
    rules = (
        ("container-infra", "GET", f"/v1/certificates/{cluster_id}"),
        ("container-infra", "POST", "/v1/certificates"),
        ("container-infra", "PATCH", f"/v1/clusters/{cluster_id}"),
    )
    return [_rule(*rule) for rule in rules]


def _rule(service: str, method: str, path: str) -> Body:
    return {"service": service, "method": method, "path": path}


FORMER_RULES = (
    _rule("orchestration", "GET", "/v1/*/stacks/*/*/resources/*/metadata"),
    _rule("orchestration", "POST", "/v1/*/stacks/*/*/resources/*/signal"),
)
"""Access rules that credentials of earlier versions have; they are deleted with them."""


class ApplicationMode:
    """The mode in which the user who creates the identity creates two application credentials."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def make(self, identity: Identity, caller: Caller) -> Identity:
        cloud = self._services.cloud(caller)
        if identity.delegation_id is None:
            ident, secret = await self._created(
                cloud,
                _of_nodes(identity),
                f"For the nodes of the cluster {identity.cluster_id}",
                access_rules=access_rules(identity.cluster_id),
            )
            secrets = structs.replace(identity.secrets, node_secret=secret)
            identity = replace(identity, delegation_id=ident, secrets=secrets)
            await self._store(identity)
        if not identity.secrets.service_id:
            ident, secret = await self._created(
                cloud,
                _of_service(identity),
                f"For the cluster {identity.cluster_id}",
                unrestricted=True,
            )
            secrets = structs.replace(identity.secrets, service_id=ident, service_secret=secret)
            identity = replace(identity, secrets=secrets)
            await self._store(identity)
        return identity

    async def _created(
        self, cloud: Cloud, key: str, description: str, **options: Any
    ) -> tuple[str, str]:
        """Create an application credential; return its id and its secret.

        If the response to an earlier attempt was lost, the secret of that credential is unknown, so
        the credential is deleted first.
        """
        roles = self._services.clusters.trust_roles
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                return await make_application_credential(
                    cloud, roles, key=key, description=description, **options
                )
            except CloudFault as fault:
                lost = isinstance(fault, NoAnswer) or fault.conflict
                if not lost or attempt == ATTEMPTS_MAX:
                    raise
        raise AssertionError("unreachable: the last attempt has neither returned nor raised")

    async def _store(self, identity: Identity) -> None:
        await self._services.store.run(lambda tx: identities.change(tx, identity))

    def env(self, identity: Identity) -> Mapping[str, str]:
        return {
            "auth_url": identity.secrets.auth_url,
            "application_credential_id": identity.delegation_id or "",
            "application_credential_secret": identity.secrets.node_secret,
        }

    def credential(self, identity: Identity) -> Credential | None:
        secrets = identity.secrets
        if not secrets.service_id:
            return None
        return AppCredential(secrets.auth_url, secrets.service_id, secrets.service_secret)

    async def drop(self, identity: Identity, caller: Caller | None) -> None:
        """Delete the application credentials of the identity.

        This is tried with the identity's own credential, as the service user, and as the caller. If
        the user who created the credentials no longer exists, Keystone has already deleted them. If
        none of the attempts is allowed, the credentials remain, and a warning in the log names the
        user.
        """
        last: CloudFault | None = None
        for credential in self._deleters(identity, caller):
            try:
                await self._dropped(self._services.clouds.pool.cloud(credential), identity)
                return
            except CloudFault as fault:
                if fault.status not in {*NOT_ALLOWED, *GONE}:
                    raise
                last = fault
        log.warning(
            "cluster %s: its application credentials could not be deleted; only user %s can delete "
            "them: %s",
            identity.cluster_id,
            identity.user_id,
            last,
        )

    def _deleters(self, identity: Identity, caller: Caller | None) -> list[Credential]:
        identity_credential = self.credential(identity)
        service = self._services.clouds.pool.config.service_user
        credentials = [
            credential for credential in (identity_credential, service) if credential is not None
        ]
        if caller is not None and caller.token:
            credentials.append(
                TokenCredential(caller.auth_url, caller.token, caller.project_id or None)
            )
        return credentials

    async def _dropped(self, cloud: Cloud, identity: Identity) -> None:
        """Delete all credentials of the identity. The credential that `cloud` may use is deleted
        last.
        """
        user_id = identity.user_id
        await drop_application_credentials(cloud, user_id, key=_of_nodes(identity))
        rules = [*access_rules(identity.cluster_id), *FORMER_RULES]
        await drop_access_rules(cloud, user_id, rules)
        await drop_application_credentials(cloud, user_id, key=_of_service(identity))


def _of_nodes(identity: Identity) -> str:
    return f"{identity.key}-nodes"


def _of_service(identity: Identity) -> str:
    return f"{identity.key}-service"
