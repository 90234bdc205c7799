"""The stores for key pairs of clusters: a table of Hearth's database, or Barbican.

A key pair is named after its cluster and its kind, so a repeated attempt finds the key pairs of an
interrupted one. References to Barbican are URLs, all others are not. So a reference shows where its
key pair is stored, even after the operator has changed the option `cert_manager_type`.
"""

from collections.abc import Iterable
from typing import Protocol

from sqlalchemy.exc import IntegrityError

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault, NoAnswer, NotFound
from hearth.cloud.path import segment
from hearth.clusters.config import ClusterConfig
from hearth.clusters.objects import Cluster
from hearth.clusters.problems import ClusterProblem
from hearth.model.problem import rejection
from hearth.resources.barbican.base import PAGE, SERVICE, id_of, payload
from hearth.service.clusters.x509 import KeyPair
from hearth.service.services import Services
from hearth.store.clusters import key_pairs
from hearth.store.clusters.key_pairs import KeyPairRow

BARBICAN = "barbican"
CONSUMER = "Hearth"
PARTS = {
    "certificate": "certificate",
    "private_key": "private",
    "private_key_passphrase": "passphrase",
}
"""The secrets in a certificate container of Barbican, with the secret type of each."""


class KeyStore(Protocol):
    """A store for key pairs of clusters.

    In the methods, `kind` says which of the cluster's key pairs is meant, such as "ca" or "client".
    If the store is Barbican, each method may raise CloudFault.
    """

    async def keep(self, cluster: Cluster, kind: str, pair: KeyPair, now: float) -> str:
        """Store a key pair and return its reference.

        If a key pair of this kind is already stored, return the reference of that one instead.
        """
        ...

    async def find(self, cluster_id: str, kind: str) -> str | None:
        """Return the reference of the cluster's key pair of this kind, or None if there is none."""
        ...

    async def get(self, cluster_id: str, reference: str) -> KeyPair:
        """Return the key pair with this reference. Raises Rejected if it no longer exists."""
        ...

    async def drop(self, cluster_id: str, reference: str) -> None:
        """Delete the key pair with this reference, if it exists."""
        ...

    async def drop_kind(self, cluster_id: str, kind: str) -> None:
        """Delete the cluster's key pair of this kind, including parts left by an interrupted
        attempt.
        """
        ...


def new_key_store(services: Services, config: ClusterConfig) -> KeyStore:
    """Return the store for new key pairs, which the configuration selects."""
    return Barbican(services) if config.cert_manager_type == BARBICAN else OwnTable(services)


def key_store_of(services: Services, reference: str) -> KeyStore:
    """Return the store that contains the key pair with this reference."""
    return Barbican(services) if "://" in reference else OwnTable(services)


class OwnTable:
    """Stores key pairs, encrypted, in the table `cluster_key_pair`."""

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._new_id = services.new_id

    async def keep(self, cluster: Cluster, kind: str, pair: KeyPair, now: float) -> str:
        body = {
            "certificate": pair.certificate,
            "private_key": pair.private_key,
            "passphrase": pair.passphrase,
        }
        new = KeyPairRow(
            self._new_id(), cluster.uuid, kind, cluster.project_id, cluster.user_id, now, body
        )
        try:
            return await self._store.run_once(lambda tx: key_pairs.put(tx, new))
        except IntegrityError:  # another process stored one at the same time
            ref = await self.find(cluster.uuid, kind)
            assert ref is not None
            return ref

    async def find(self, cluster_id: str, kind: str) -> str | None:
        return await self._store.read(lambda tx: key_pairs.find(tx, cluster_id, kind))

    async def get(self, cluster_id: str, reference: str) -> KeyPair:
        row = await self._store.read(lambda tx: key_pairs.get(tx, cluster_id, reference))
        if row is None:
            raise _lost(reference)
        return KeyPair(**row.body)

    async def drop(self, cluster_id: str, reference: str) -> None:
        await self._store.run(lambda tx: key_pairs.drop(tx, cluster_id, reference))

    async def drop_kind(self, cluster_id: str, kind: str) -> None:
        ref = await self.find(cluster_id, kind)
        if ref is not None:
            await self.drop(cluster_id, ref)


class Barbican:
    """Stores key pairs in Barbican, as certificate containers of the service user."""

    def __init__(self, services: Services) -> None:
        self._pool = services.clouds.pool

    @property
    def _cloud(self) -> Cloud:
        service = self._pool.config.service_user
        if service is None:
            raise CloudFault(
                SERVICE,
                401,
                "Unauthorized",
                "Key pairs in Barbican need a service user in the configuration.",
            )
        return self._pool.cloud(service)

    async def keep(self, cluster: Cluster, kind: str, pair: KeyPair, now: float) -> str:
        ref = await self.find(cluster.uuid, kind)
        if ref is None:
            # secrets without a container may belong to another key pair, so they are not used
            await self._drop_secrets(_name(cluster.uuid, kind))
            ref = await self._created(cluster.uuid, kind, pair)
        consumer = {"name": CONSUMER, "URL": cluster.uuid}
        path = f"/v1/containers/{segment(id_of(ref))}/consumers"
        await self._cloud.request(SERVICE, "POST", path, json=consumer, idempotent=True)
        return ref

    async def _created(self, cluster_id: str, kind: str, pair: KeyPair) -> str:
        payloads = {
            "certificate": pair.certificate,
            "private_key": pair.private_key,
            "private_key_passphrase": pair.passphrase,
        }
        refs = []
        for part, text in payloads.items():
            if text:
                name = f"{_name(cluster_id, kind)}-{part}"
                body = {
                    "name": name,
                    "secret_type": PARTS[part],
                    "payload": text,
                    "payload_content_type": "text/plain",
                }
                refs.append({"name": part, "secret_ref": await self._create("secrets", body)})
        container = {"name": _name(cluster_id, kind), "type": "certificate", "secret_refs": refs}
        return await self._create("containers", container)

    async def _create(self, plural: str, body: Body) -> str:
        """Create an object in Barbican; if the response is lost, return the object that the call
        created.
        """
        field = f"{plural.removesuffix('s')}_ref"
        try:
            answer = await self._cloud.request(SERVICE, "POST", f"/v1/{plural}", json=body)
        except NoAnswer:
            for entry in await self._with_name(plural, body["name"]):
                return str(entry[field])
            raise
        return str(answer.body[field])

    async def _with_name(self, plural: str, name: str) -> list[Body]:
        entries = await self._cloud.listing(
            SERVICE, f"/v1/{plural}?limit={PAGE}&name={segment(name)}"
        )
        return [entry for entry in entries if entry.get("name") == name]

    async def find(self, cluster_id: str, kind: str) -> str | None:
        for container in await self._with_name("containers", _name(cluster_id, kind)):
            return str(container["container_ref"])
        return None

    async def get(self, cluster_id: str, reference: str) -> KeyPair:
        container = await self._container(reference) or {"secret_refs": []}
        texts = {}
        for secret in container["secret_refs"]:
            texts[secret["name"]] = await payload(self._cloud, secret["secret_ref"]) or ""
        if not texts.get("certificate") or not texts.get("private_key"):
            raise _lost(reference)
        return KeyPair(
            texts["certificate"], texts["private_key"], texts.get("private_key_passphrase", "")
        )

    async def _container(self, reference: str) -> Body | None:
        try:
            path = f"/v1/containers/{segment(id_of(reference))}"
            body: Body = (await self._cloud.request(SERVICE, "GET", path)).body
        except NotFound:
            return None
        return body

    async def drop(self, cluster_id: str, reference: str) -> None:
        container = await self._container(reference)
        if container is None:
            return
        refs = [str(secret["secret_ref"]) for secret in container["secret_refs"]]
        # the container is deleted last, because it refers to the secrets
        await self._dropped("secrets", refs)
        await self._drop_secrets(str(container["name"]))
        await self._dropped("containers", [reference])

    async def drop_kind(self, cluster_id: str, kind: str) -> None:
        name = _name(cluster_id, kind)
        for container in await self._with_name("containers", name):
            await self.drop(cluster_id, str(container["container_ref"]))
        await self._drop_secrets(name)

    async def _drop_secrets(self, name: str) -> None:
        """Delete secrets by their names; an interrupted attempt may have created secrets without a
        container.
        """
        for part in PARTS:
            secrets = await self._with_name("secrets", f"{name}-{part}")
            await self._dropped("secrets", [str(secret["secret_ref"]) for secret in secrets])

    async def _dropped(self, plural: str, refs: Iterable[str]) -> None:
        for ref in refs:
            try:
                path = f"/v1/{plural}/{segment(id_of(ref))}"
                await self._cloud.request(SERVICE, "DELETE", path, idempotent=True)
            except NotFound:
                pass


def _name(cluster_id: str, kind: str) -> str:
    return f"hearth-cluster-{cluster_id}-{kind}"


def _lost(reference: str) -> Exception:
    return rejection(
        ClusterProblem, 404, f"Certificate {reference} does not exist. It may have been deleted."
    )
