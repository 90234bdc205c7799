"""The revision from which a revision was copied."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("revision", sa.Column("copy_of", sa.Integer()))


def downgrade() -> None:
    op.drop_column("revision", "copy_of")
