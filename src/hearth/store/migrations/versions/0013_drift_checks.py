"""The schedule and the last results of the background drift checks."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0013"
down_revision = "0012"

SEALED = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "drift_check",
        sa.Column("stack_id", sa.String(36), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("claim", sa.String(36)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(16)),
        sa.Column("announced", sa.Boolean(), nullable=False),
        sa.Column("checked_at", sa.Double()),
        sa.Column("body", SEALED),
        sa.PrimaryKeyConstraint("stack_id", name="pk_drift_check"),
    )
    op.create_index("ix_drift_check_due_at", "drift_check", ["due_at"])


def downgrade() -> None:
    op.drop_index("ix_drift_check_due_at", "drift_check")
    op.drop_table("drift_check")
