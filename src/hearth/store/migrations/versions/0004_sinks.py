"""A flag for stack trees with event sinks, and the lanes of the outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("tree", sa.Column("sinks", sa.Boolean()))
    op.add_column("outbox", sa.Column("lane", sa.String(64)))
    op.create_index("ix_outbox_lane", "outbox", ["lane"])


def downgrade() -> None:
    op.drop_index("ix_outbox_lane", "outbox")
    op.drop_column("outbox", "lane")
    op.drop_column("tree", "sinks")
