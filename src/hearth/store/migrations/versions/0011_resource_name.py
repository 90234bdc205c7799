"""An index that finds a resource of a stack by its name."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_index("ix_resource_name", "resource", ["stack_id", "name"])
    op.drop_index("ix_resource_stack_id", "resource")


def downgrade() -> None:
    op.create_index("ix_resource_stack_id", "resource", ["stack_id"])
    op.drop_index("ix_resource_name", "resource")
