"""Key pairs of clusters, encrypted, and the rotations of key pairs in progress.

A cluster has at most one key pair of each kind, so a repeated attempt finds the key pair that the
first attempt stored.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa
from msgspec import Struct

from hearth.store.clusters.key_table import cluster_key_pair, cluster_rotation
from hearth.store.database import Tx

_BODY = "cluster_key_pair.body"

MAKING = "making"  # the new key pairs are not complete
TRUST = "trust"  # nodes trust the old and the new certificate authority; the old one signs
ISSUE = "issue"  # nodes trust the old and the new certificate authority; the new one signs
DROP = "drop"  # it has ended: `refs` are the key pairs that must be deleted


@dataclass(frozen=True, slots=True)
class KeyPairRow:
    """A row of the table `cluster_key_pair`.

    `kind` names which key pair of the cluster it is. `body` has the certificate, the private key
    and the passphrase.
    """

    id: str
    cluster_id: str
    kind: str
    project_id: str
    user_id: str
    created_at: float
    body: Mapping[str, str] = field(repr=False, default_factory=dict)


class Rotation(Struct, frozen=True):
    """A row of the table `cluster_rotation`: the replacement of a cluster's certificates.

    `refs` maps fields of the cluster to references of the new key pairs. In the last phase they are
    the references of the key pairs that must be deleted.
    """

    cluster_id: str
    id: str
    phase: str
    refs: Mapping[str, str]
    created_at: float


def put(tx: Tx, new: KeyPairRow) -> str:
    """Store a key pair unless the cluster has one of this kind; return the id of the stored key
    pair.
    """
    if (existing := find(tx, new.cluster_id, new.kind)) is not None:
        return existing
    values = {
        "id": new.id,
        "cluster_id": new.cluster_id,
        "kind": new.kind,
        "project_id": new.project_id,
        "user_id": new.user_id,
        "body": tx.seal(dict(new.body), _BODY, new.id),
        "created_at": new.created_at,
    }
    tx.execute(cluster_key_pair.insert(), values)
    return new.id


def find(tx: Tx, cluster_id: str, kind: str) -> str | None:
    """Return the id of the cluster's key pair of this kind, or None."""
    table = cluster_key_pair.c
    condition = sa.and_(table.cluster_id == cluster_id, table.kind == kind)
    pair_id: str | None = tx.value(sa.select(table.id).where(condition))
    return pair_id


def get(tx: Tx, cluster_id: str, pair_id: str) -> KeyPairRow | None:
    """Return the cluster's key pair with this id, or None."""
    table = cluster_key_pair.c
    condition = sa.and_(table.id == pair_id, table.cluster_id == cluster_id)
    row = tx.first(sa.select(cluster_key_pair).where(condition))
    return None if row is None else _pair(tx, row)


def drop(tx: Tx, cluster_id: str, pair_id: str) -> None:
    """Delete the cluster's key pair with this id, if it exists."""
    table = cluster_key_pair.c
    condition = sa.and_(table.id == pair_id, table.cluster_id == cluster_id)
    tx.execute(cluster_key_pair.delete().where(condition))


def drop_of_cluster(tx: Tx, cluster_id: str) -> None:
    """Delete all key pairs of a cluster, and the row of its rotation."""
    tx.execute(cluster_key_pair.delete().where(cluster_key_pair.c.cluster_id == cluster_id))
    drop_rotation(tx, cluster_id)


def rotation(tx: Tx, cluster_id: str) -> Rotation | None:
    """Return the rotation in progress of a cluster, or None."""
    row = tx.first(sa.select(cluster_rotation).where(cluster_rotation.c.cluster_id == cluster_id))
    if row is None:
        return None
    return Rotation(row.cluster_id, row.id, row.phase, json.loads(row.refs), row.created_at)


def begin_rotation(tx: Tx, new: Rotation) -> Rotation:
    """Store a rotation unless the cluster has one in progress; return the stored one."""
    if (current := rotation(tx, new.cluster_id)) is not None:
        return current
    tx.execute(cluster_rotation.insert(), _values(new))
    return new


def change_rotation(tx: Tx, rotation: Rotation) -> None:
    """Update the row of a rotation; do nothing if the cluster has another rotation now."""
    table = cluster_rotation
    condition = sa.and_(table.c.cluster_id == rotation.cluster_id, table.c.id == rotation.id)
    tx.execute(table.update().where(condition).values(_values(rotation)))


def drop_rotation(tx: Tx, cluster_id: str) -> None:
    """Delete the row of a cluster's rotation, if there is one."""
    tx.execute(cluster_rotation.delete().where(cluster_rotation.c.cluster_id == cluster_id))


def _values(rotation: Rotation) -> dict[str, object]:
    return {
        "cluster_id": rotation.cluster_id,
        "id": rotation.id,
        "phase": rotation.phase,
        "refs": json.dumps(dict(rotation.refs), sort_keys=True),
        "created_at": rotation.created_at,
    }


def _pair(tx: Tx, row: sa.Row[tuple[object, ...]]) -> KeyPairRow:
    body = tx.unseal(row.body, _BODY, row.id)
    return KeyPairRow(
        row.id, row.cluster_id, row.kind, row.project_id, row.user_id, row.created_at, body
    )
