"""Identities of clusters: the credentials with which nodes, and Hearth itself, act for a cluster.

The mode of an identity decides which kind of credential it has. Its row is stored before anything
is created in Keystone, and each object in Keystone can be found by the key of the identity. So an
attempt whose response was lost is found or replaced, and a cluster never has a second credential
that nobody knows of. Source: docs/spec/clusters.md, section 4.5.
"""

import secrets
from collections.abc import Mapping
from typing import Protocol

from hearth.cloud.contract import Cloud
from hearth.cloud.credential import Credential
from hearth.cloud.fault import CloudFault
from hearth.clusters.objects import Cluster
from hearth.clusters.problems import bad_request
from hearth.service.caller import RESTRICTED, TRUST, UNRESTRICTED, Caller
from hearth.service.clusters.identity_application import ApplicationMode
from hearth.service.clusters.identity_trust import TrustMode
from hearth.service.services import Services
from hearth.store.clusters import identities
from hearth.store.clusters.identities import Identity, Secrets
from hearth.store.database import Tx

APPLICATION = "application_credential"
BY_TRUST = "trust"
NONE = "none"
PASSWORD_BYTES = 24
AFTER_S = 0.001  # the minimum difference between the times of two identities


class Mode(Protocol):
    """A kind of credential for clusters, with the operations on identities of this kind."""

    async def make(self, identity: Identity, caller: Caller) -> Identity:
        """Create in Keystone what the identity lacks, with the caller's token; store and return the
        identity.

        Raises CloudFault.
        """
        ...

    def env(self, identity: Identity) -> Mapping[str, str]:
        """Return the values with which nodes log in, by name; for example `auth_url`."""
        ...

    def credential(self, identity: Identity) -> Credential | None:
        """Return the credential with which Hearth acts for the cluster, or None if there is
        none.
        """
        ...

    async def drop(self, identity: Identity, caller: Caller | None) -> None:
        """Delete all objects of the identity in Keystone, even if the user who created them no
        longer exists.

        `caller` is the user who requests it, if there is one. Raises CloudFault.
        """
        ...


class NoneMode:
    """The mode without credentials, for simulated clouds, whose nodes need none."""

    async def make(self, identity: Identity, caller: Caller) -> Identity:
        return identity

    def env(self, identity: Identity) -> Mapping[str, str]:
        return {}

    def credential(self, identity: Identity) -> Credential | None:
        return None

    async def drop(self, identity: Identity, caller: Caller | None) -> None:
        """Do nothing, because this mode creates nothing."""


class NodeIdentity:
    """Creates, replaces and deletes the identities of clusters of every mode."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._modes: Mapping[str, Mode] = {
            APPLICATION: ApplicationMode(services),
            BY_TRUST: TrustMode(services),
            NONE: NoneMode(),
        }

    def check(self, caller: Caller) -> None:
        """Raise Rejected if the caller's token cannot create a permanent credential for a cluster
        in the configured mode.
        """
        mode = self._services.clusters.identity
        if mode == APPLICATION and caller.delegated in (RESTRICTED, TRUST):
            raise bad_request(
                "This token cannot create a credential for the cluster. Use a password or an "
                "unrestricted application credential."
            )
        if mode == BY_TRUST and caller.delegated is not None:
            raise bad_request("This token cannot create a trust for the cluster. Use a password.")

    async def create(self, cluster: Cluster, caller: Caller, *, roles: bool = True) -> str:
        """Create an identity of the cluster with the caller's token, and return its id.

        If `roles` is true, only nodes that prove to be masters get certificates of the control
        plane; the stacks of the cluster must give their masters that proof. An interrupted attempt
        is continued. The caller of this method must store the id in the
        cluster. Raises CloudFault.
        """
        identity = await self._begun(cluster, caller, roles)
        return (await self._modes[identity.mode].make(identity, caller)).id

    async def rotate(self, cluster: Cluster, caller: Caller, *, roles: bool = True) -> str:
        """Create a new identity while the current one stays valid, and return the id of the new
        one.

        `roles` has the same meaning as in `create`. Call `drop_former` when the nodes use the new
        identity and the cluster has its id.
        """
        return await self.create(cluster, caller, roles=roles)

    async def drop_former(self, cluster: Cluster, caller: Caller | None = None) -> None:
        """Delete all identities of the cluster except the one whose id the cluster has."""
        for identity in await self._all(cluster.uuid):
            if identity.id != cluster.identity_id:
                await self._drop(identity, caller)

    async def env_for_nodes(self, cluster: Cluster) -> Mapping[str, str]:
        """Return the values with which nodes log in, by name. Some of them are secret.

        They are empty if the cluster has no identity.
        """
        identity = await self._present(cluster)
        return {} if identity is None else self._modes[identity.mode].env(identity)

    async def context_for_service(self, cluster: Cluster) -> Cloud:
        """Return the cloud, used with the rights of the user who created the identity.

        Raises CloudFault (401) if the cluster has no permanent credential.
        """
        identity = await self._present(cluster)
        credential = None if identity is None else self._modes[identity.mode].credential(identity)
        if credential is None:
            message = "The cluster has no credential for the service."
            raise CloudFault("identity", 401, "Unauthorized", message)
        return self._services.clouds.pool.cloud(credential)

    async def caller_for_service(self, cluster: Cluster) -> Caller:
        """Return the user who created the identity as a caller, with a new token. Raises
        CloudFault.
        """
        cloud = await self.context_for_service(cluster)
        user = await cloud.whoami()
        identity = await self._present(cluster)
        by_trust = identity is not None and identity.mode == BY_TRUST
        return Caller(
            user_id=user.user_id,
            user_name=user.username or "",
            project_id=user.project_id or "",
            roles=frozenset(user.roles),
            token=await cloud.token(),
            auth_url=user.auth_url,
            delegated=TRUST if by_trust else UNRESTRICTED,
        )

    async def delete(self, cluster: Cluster, caller: Caller | None = None) -> None:
        """Delete all identities of a cluster, even if the users who created them no longer exist.

        `caller` is the user who deletes the cluster, if the token is still valid. Raises CloudFault
        if Keystone does not respond; then call this again.
        """
        for identity in await self._all(cluster.uuid):
            await self._drop(identity, caller)

    async def _begun(self, cluster: Cluster, caller: Caller, roles: bool) -> Identity:
        """Return the stored row of an interrupted attempt, or store and return a new row."""
        services, mode = self._services, self._services.clusters.identity
        new_id, now = services.new_id(), services.clock.now()
        password = secrets.token_urlsafe(PASSWORD_BYTES)

        def transaction(tx: Tx) -> Identity:
            earlier = identities.of_cluster(tx, cluster.uuid)
            ids = [identity.id for identity in earlier]
            since = ids.index(cluster.identity_id) + 1 if cluster.identity_id in ids else 0
            if earlier[since:]:
                return earlier[-1]
            name = f"{cluster.uuid}_{cluster.project_id}"
            secret = Secrets(
                auth_url=caller.auth_url,
                password=password,
                trustee_name=f"{name}_{new_id}" if earlier else name,
                roles=roles,
            )
            at = max([now, *(identity.created_at + AFTER_S for identity in earlier)])
            new = Identity(
                new_id, cluster.uuid, mode, cluster.project_id, caller.user_id, at, secrets=secret
            )
            identities.put(tx, new)
            return new

        return await services.store.run_once(transaction)

    async def _drop(self, identity: Identity, caller: Caller | None) -> None:
        await self._modes[identity.mode].drop(identity, caller)
        await self._services.store.run(lambda tx: identities.drop(tx, identity.id))

    async def _present(self, cluster: Cluster) -> Identity | None:
        candidates = await self._all(cluster.uuid)
        return next(
            (identity for identity in candidates if identity.id == cluster.identity_id), None
        )

    async def _all(self, cluster_id: str) -> list[Identity]:
        return await self._services.store.read(lambda tx: identities.of_cluster(tx, cluster_id))
