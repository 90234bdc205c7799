"""Engines that release their stacks and claim no others; releases that can share the database."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column(
        "engine", sa.Column("draining", sa.Boolean, nullable=False, server_default=sa.false())
    )
    compatible = op.create_table(
        "compatible", sa.Column("since", sa.String(32), primary_key=True, nullable=False)
    )
    op.bulk_insert(compatible, [{"since": "0012"}])


def downgrade() -> None:
    op.drop_table("compatible")
    op.drop_column("engine", "draining")
