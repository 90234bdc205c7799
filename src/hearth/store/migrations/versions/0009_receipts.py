"""Receipts of requests, which show whether a COMMIT without an answer was carried out."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "receipt",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_receipt"),
    )
    op.create_index("ix_receipt_at", "receipt", ["at"])


def downgrade() -> None:
    op.drop_table("receipt")
