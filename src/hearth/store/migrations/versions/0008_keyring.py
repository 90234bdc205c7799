"""The table `keyring`: the key for fingerprints, encrypted. Only a process with the right
auth_encryption_key can decrypt it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0008"
down_revision = "0007"

SEALED = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "keyring",
        sa.Column("name", sa.String(16), nullable=False),
        sa.Column("body", SEALED, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_keyring"),
    )


def downgrade() -> None:
    op.drop_table("keyring")
