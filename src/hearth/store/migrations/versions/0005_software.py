"""Software configurations and deployments."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"

ID = sa.String(36)
NAME = sa.String(255).with_variant(mysql.VARCHAR(255, collation="utf8mb4_bin"), "mysql", "mariadb")
SEALED = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
TIME: sa.Double[float] = sa.Double()


def upgrade() -> None:
    op.create_table(
        "software_config",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", sa.String(64), nullable=False),
        sa.Column("name", NAME),
        sa.Column("tool", NAME, nullable=False),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_software_config"),
    )
    op.create_index("ix_software_config_list", "software_config", ["project_id", "created_at"])
    op.create_table(
        "software_deployment",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", sa.String(64), nullable=False),
        sa.Column("user_project_id", sa.String(64)),
        sa.Column("config_id", ID, nullable=False),
        sa.Column("server_id", NAME, nullable=False),
        sa.Column("action", NAME),
        sa.Column("status", sa.String(16)),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_software_deployment"),
    )
    table = "software_deployment"
    op.create_index("ix_software_deployment_list", table, ["project_id", "created_at"])
    for column in ("user_project_id", "config_id", "server_id"):
        op.create_index(f"ix_software_deployment_{column}", table, [column])


def downgrade() -> None:
    op.drop_table("software_deployment")
    op.drop_table("software_config")
