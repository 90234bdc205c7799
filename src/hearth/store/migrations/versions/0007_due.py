"""Indexes that find the stacks which need an owner."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_index("ix_stack_owner_due", "stack", ["owner", "due_at"])
    op.drop_index("ix_stack_due_at", "stack")
    op.drop_index("ix_stack_owner", "stack")


def downgrade() -> None:
    op.create_index("ix_stack_owner", "stack", ["owner"])
    op.create_index("ix_stack_due_at", "stack", ["due_at"])
    op.drop_index("ix_stack_owner_due", "stack")
