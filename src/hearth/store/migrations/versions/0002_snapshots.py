"""Snapshots of stacks, and the options of an operation."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0002"
down_revision = "0001"

ID = sa.String(36)
NAME = sa.String(255).with_variant(mysql.VARCHAR(255, collation="utf8mb4_bin"), "mysql", "mariadb")
TEXT = sa.Text().with_variant(mysql.LONGTEXT(collation="utf8mb4_bin"), "mysql", "mariadb")
SEALED = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
TIME: sa.Double[float] = sa.Double()


def upgrade() -> None:
    op.create_table(
        "snapshot",
        sa.Column("id", ID, nullable=False),
        sa.Column("stack_id", ID, nullable=False),
        sa.Column("name", NAME),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("body", SEALED),
        sa.PrimaryKeyConstraint("id", name="pk_snapshot"),
    )
    op.create_index("ix_snapshot_stack_id", "snapshot", ["stack_id"])
    op.add_column("stack", sa.Column("told", sa.String(16)))


def downgrade() -> None:
    op.drop_column("stack", "told")
    op.drop_table("snapshot")
