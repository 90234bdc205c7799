"""Tables with secrets of clusters: key pairs, rotations of key pairs, and identities of nodes."""

from sqlalchemy import Column, String, Table, UniqueConstraint

from hearth.store.tables import ID, NAME, SEALED, TEXT, TIME, metadata

cluster_key_pair = Table(
    "cluster_key_pair",
    metadata,
    Column("id", ID, primary_key=True, comment="the reference in the row of the cluster"),
    Column("cluster_id", ID, nullable=False),
    Column("kind", String(64), nullable=False, comment="which key pair of the cluster it is"),
    Column("project_id", String(64), nullable=False),
    Column("user_id", String(64), nullable=False),
    Column("body", SEALED, nullable=False, comment="sealed: certificate, private key, passphrase"),
    Column("created_at", TIME, nullable=False),
    UniqueConstraint("cluster_id", "kind"),
)

cluster_rotation = Table(
    "cluster_rotation",
    metadata,
    Column("cluster_id", ID, primary_key=True),
    Column("id", ID, nullable=False, comment="part of the names of the new key pairs"),
    Column("phase", String(16), nullable=False, comment="making, trust, issue or drop"),
    Column("refs", TEXT, nullable=False, comment="JSON: references of the new key pairs"),
    Column("created_at", TIME, nullable=False),
)

cluster_identity = Table(
    "cluster_identity",
    metadata,
    Column("id", ID, primary_key=True),
    Column("cluster_id", ID, nullable=False, index=True),
    Column("mode", String(32), nullable=False),
    Column("project_id", String(64), nullable=False),
    Column("user_id", String(64), nullable=False, comment="who made it"),
    Column("delegation_id", NAME, index=True, comment="application credential or trust of nodes"),
    Column("trustee_id", String(64), index=True, comment="the user that nodes log in as"),
    Column("body", SEALED, nullable=False, comment="sealed: secrets of nodes and of the service"),
    Column("created_at", TIME, nullable=False),
)
