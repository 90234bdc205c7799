"""Indexes that find a stack by its name."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_index("ix_stack_name", "stack", ["project_id", "name"])
    op.create_index("ix_stack_user_project_id", "stack", ["user_project_id", "name"])


def downgrade() -> None:
    op.drop_index("ix_stack_user_project_id", "stack")
    op.drop_index("ix_stack_name", "stack")
