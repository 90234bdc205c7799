"""The first schema.

It is written out table by table instead of using `tables.py`, because a migration never changes.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None

ID = sa.String(36)
NAME = sa.String(255).with_variant(mysql.VARCHAR(255, collation="utf8mb4_bin"), "mysql", "mariadb")
TEXT = sa.Text().with_variant(mysql.LONGTEXT(collation="utf8mb4_bin"), "mysql", "mariadb")
SEALED = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
TIME: sa.Double[float] = sa.Double()
COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WORD = sa.String(16)


def must(name: str, kind: Any, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, **options)


def may(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind)


def upgrade() -> None:
    op.create_table(
        "blob",
        must("hash", sa.String(64)),
        must("body", SEALED),
        sa.PrimaryKeyConstraint("hash", name="pk_blob"),
    )
    op.create_table(
        "revision",
        must("stack_id", ID),
        must("number", sa.Integer()),
        must("content", sa.String(64)),
        must("template", sa.String(64)),
        must("body", SEALED),
        must("created_at", TIME),
        may("created_by", NAME),
        sa.PrimaryKeyConstraint("stack_id", "number", name="pk_revision"),
    )
    op.create_table(
        "stack",
        must("id", ID),
        must("project_id", sa.String(64)),
        must("name", NAME),
        may("live_name", NAME),
        must("root_id", ID),
        may("parent_id", ID),
        may("parent_record", ID),
        may("parent_traversal", ID),
        must("depth", sa.Integer()),
        must("action", WORD),
        must("status", WORD),
        must("reason", TEXT),
        may("first_failure", TEXT),
        must("revision", sa.Integer()),
        must("previous_revision", sa.Integer()),
        must("traversal", ID),
        must("started_at", TIME),
        may("deadline", TIME),
        may("timeout_mins", sa.Integer()),
        must("disable_rollback", sa.Boolean()),
        may("owner", ID),
        must("epoch", sa.Integer()),
        must("takeovers", sa.Integer()),
        may("due_at", TIME),
        may("credential_id", ID),
        may("user_project_id", sa.String(64)),
        may("creator", NAME),
        may("tags", TEXT),
        must("created_at", TIME),
        may("updated_at", TIME),
        may("deleted_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_stack"),
        sa.UniqueConstraint("project_id", "live_name", name="uq_stack_project_id"),
    )
    op.create_index("ix_stack_owner", "stack", ["owner"])
    op.create_index("ix_stack_due_at", "stack", ["due_at"])
    op.create_index("ix_stack_parent_id", "stack", ["parent_id"])
    op.create_index("ix_stack_root_id", "stack", ["root_id"])
    op.create_index("ix_stack_list", "stack", ["project_id", "created_at"])
    op.create_table(
        "tree",
        must("root_id", ID),
        must("event_seq", sa.BigInteger()),
        must("resources", sa.Integer()),
        sa.PrimaryKeyConstraint("root_id", name="pk_tree"),
    )
    op.create_table(
        "resource",
        must("id", ID),
        must("stack_id", ID),
        must("name", NAME),
        must("type", NAME),
        must("action", WORD),
        must("status", WORD),
        must("reason", TEXT),
        may("physical_id", NAME),
        must("since", sa.Integer()),
        may("until", sa.Integer()),
        may("traversal", ID),
        may("replaces", ID),
        may("replaced_by", ID),
        must("requires", TEXT),
        must("state", SEALED),
        must("created_at", TIME),
        may("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_resource"),
    )
    op.create_index("ix_resource_stack_id", "resource", ["stack_id"])
    op.create_index("ix_resource_physical_id", "resource", ["physical_id"])
    op.create_table(
        "resource_data",
        must("resource_id", ID),
        must("stack_id", ID),
        must("version", sa.Integer()),
        must("data", SEALED),
        must("metadata", SEALED),
        sa.PrimaryKeyConstraint("resource_id", name="pk_resource_data"),
    )
    op.create_index("ix_resource_data_stack_id", "resource_data", ["stack_id"])
    op.create_table(
        "node",
        must("resource_id", ID),
        must("stack_id", ID),
        must("traversal", ID),
        must("kind", WORD),
        must("action", WORD),
        must("phase", WORD),
        must("step", sa.String(64)),
        must("attempt", sa.Integer()),
        must("wanted", SEALED),
        must("started_at", TIME),
        may("due_at", TIME),
        sa.PrimaryKeyConstraint("resource_id", name="pk_node"),
    )
    op.create_index("ix_node_stack_id", "node", ["stack_id"])
    op.create_table(
        "mail",
        must("id", COUNTER, autoincrement=True),
        must("stack_id", ID),
        must("kind", sa.String(32)),
        must("body", SEALED),
        must("created_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_mail"),
    )
    op.create_index("ix_mail_stack_id", "mail", ["stack_id"])
    op.create_table(
        "outbox",
        must("id", COUNTER, autoincrement=True),
        must("kind", sa.String(32)),
        must("body", SEALED),
        must("due_at", TIME),
        must("attempts", sa.Integer()),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    op.create_index("ix_outbox_due_at", "outbox", ["due_at"])
    op.create_table(
        "event",
        must("root_id", ID),
        must("seq", sa.BigInteger()),
        must("id", ID),
        must("stack_id", ID),
        must("time", TIME),
        must("resource_name", NAME),
        must("resource_type", NAME),
        may("physical_id", NAME),
        must("action", WORD),
        must("status", WORD),
        must("reason", TEXT),
        may("properties", SEALED),
        sa.PrimaryKeyConstraint("root_id", "seq", name="pk_event"),
        sa.UniqueConstraint("id", name="uq_event_id"),
    )
    op.create_index("ix_event_stack_id", "event", ["stack_id", "seq"])
    op.create_table(
        "engine",
        must("id", ID),
        must("host", NAME),
        must("pid", sa.Integer()),
        must("started_at", TIME),
        must("beat_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_engine"),
    )
    op.create_table(
        "credential",
        must("id", ID),
        must("kind", sa.String(32)),
        must("body", SEALED),
        must("created_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_credential"),
    )
    op.create_table(
        "stray",
        must("id", ID),
        must("stack_id", ID),
        must("resource_id", ID),
        must("resource_type", NAME),
        must("since", TIME),
        must("facts", SEALED),
        sa.PrimaryKeyConstraint("id", name="pk_stray"),
    )
    op.create_index("ix_stray_stack_id", "stray", ["stack_id"])


def downgrade() -> None:
    for name in (
        "stray",
        "credential",
        "engine",
        "event",
        "outbox",
        "mail",
        "node",
        "resource_data",
        "resource",
        "tree",
        "stack",
        "revision",
        "blob",
    ):
        op.drop_table(name)
