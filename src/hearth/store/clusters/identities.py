"""Identities of clusters, encrypted: the credentials with which nodes and Hearth act for a cluster.

The row is stored before the credential is created in Keystone. It contains the secrets that Hearth
has chosen, so that an interrupted attempt can be continued.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import sqlalchemy as sa

from hearth.store.clusters.key_table import cluster_identity
from hearth.store.database import Tx

_BODY = "cluster_identity.body"


class Secrets(msgspec.Struct, frozen=True, omit_defaults=True):
    """The secret part of an identity.

    `node_secret` is the secret of the nodes' application credential, which has few rights.
    `service_secret` is the secret of Hearth's own application credential, and never leaves Hearth.
    If `roles` is true, masters prove that they are masters; without that proof, a node is a worker.
    It is false for the stacks of earlier versions, in which nodes cannot prove anything.
    """

    auth_url: str = ""
    node_secret: str = ""
    service_id: str = ""
    service_secret: str = ""
    password: str = ""  # of the trustee
    trustee_name: str = ""
    roles: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """A row of the table `cluster_identity`.

    `mode` names the kind of credential that the nodes have. `user_id` is the user who created the
    identity. `delegation_id` is the id of the application credential or the trust of the nodes,
    once it exists. `trustee_id` is the id of the user as which nodes log in, unless that is
    `user_id`.
    """

    id: str
    cluster_id: str
    mode: str
    project_id: str
    user_id: str
    created_at: float
    delegation_id: str | None = None
    trustee_id: str | None = None
    secrets: Secrets = field(default_factory=Secrets, repr=False)

    @property
    def key(self) -> str:
        """The key that finds the objects of this identity in Keystone.

        The name, the description or the expiry time of each object is computed from it.
        """
        return f"cluster-{self.cluster_id}-{self.id}"


def put(tx: Tx, new: Identity) -> None:
    """Store an identity."""
    tx.execute(cluster_identity.insert(), _values(tx, new))


def change(tx: Tx, identity: Identity) -> None:
    """Update the row of an identity."""
    table = cluster_identity
    tx.execute(table.update().where(table.c.id == identity.id).values(_values(tx, identity)))


def of_cluster(tx: Tx, cluster_id: str) -> list[Identity]:
    """Return the identities of a cluster, oldest first; there are two while a new one replaces the
    old.
    """
    table = cluster_identity.c
    query = sa.select(cluster_identity).where(table.cluster_id == cluster_id)
    return [_identity(tx, row) for row in tx.rows(query.order_by(table.created_at, table.id))]


def drop(tx: Tx, identity_id: str) -> None:
    """Delete the row of an identity, if it exists."""
    tx.execute(cluster_identity.delete().where(cluster_identity.c.id == identity_id))


def of_node(tx: Tx, delegation_id: str | None, trustee_id: str | None) -> Identity | None:
    """Return the identity with which a node acts, or None if there is no such identity.

    `delegation_id` is the application credential or the trust with which the node acts, and
    `trustee_id` is the user as which it logs in. One match is enough. An argument that is None
    matches nothing.
    """
    table = cluster_identity.c
    conditions = []
    if delegation_id is not None:
        conditions.append(table.delegation_id == delegation_id)
    if trustee_id is not None:
        conditions.append(table.trustee_id == trustee_id)
    if not conditions:
        return None
    row = tx.first(sa.select(cluster_identity).where(sa.or_(*conditions)).limit(1))
    return None if row is None else _identity(tx, row)


def _values(tx: Tx, identity: Identity) -> dict[str, Any]:
    return {
        "id": identity.id,
        "cluster_id": identity.cluster_id,
        "mode": identity.mode,
        "project_id": identity.project_id,
        "user_id": identity.user_id,
        "delegation_id": identity.delegation_id,
        "trustee_id": identity.trustee_id,
        "body": tx.seal(identity.secrets, _BODY, identity.id),
        "created_at": identity.created_at,
    }


def _identity(tx: Tx, row: Any) -> Identity:
    return Identity(
        id=row.id,
        cluster_id=row.cluster_id,
        mode=row.mode,
        project_id=row.project_id,
        user_id=row.user_id,
        created_at=row.created_at,
        delegation_id=row.delegation_id,
        trustee_id=row.trustee_id,
        secrets=msgspec.convert(tx.unseal(row.body, _BODY, row.id), Secrets),
    )
