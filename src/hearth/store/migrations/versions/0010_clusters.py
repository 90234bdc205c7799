"""Clusters, their node groups, templates and secrets, and the tasks of conductors."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0010"
down_revision = "0009"

ID = sa.String(36)
PROJECT = sa.String(64)
STATUS = sa.String(20)
NAME = sa.String(255).with_variant(mysql.VARCHAR(255, collation="utf8mb4_bin"), "mysql", "mariadb")
TEXT = sa.Text().with_variant(mysql.LONGTEXT(collation="utf8mb4_bin"), "mysql", "mariadb")
SEALED = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
TIME: sa.Double[float] = sa.Double()
COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "cluster",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("uuid", ID, nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("user_id", PROJECT, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("cluster_template_id", ID, nullable=False),
        sa.Column("keypair", NAME),
        sa.Column("docker_volume_size", sa.Integer()),
        sa.Column("master_flavor_id", NAME),
        sa.Column("flavor_id", NAME),
        sa.Column("stack_id", ID),
        sa.Column("api_address", NAME),
        sa.Column("status", STATUS),
        sa.Column("health_status", STATUS),
        sa.Column("create_timeout", sa.Integer()),
        sa.Column("coe_version", NAME),
        sa.Column("container_version", NAME),
        sa.Column("ca_cert_ref", sa.String(length=512)),
        sa.Column("magnum_cert_ref", sa.String(length=512)),
        sa.Column("etcd_ca_cert_ref", sa.String(length=512)),
        sa.Column("front_proxy_ca_cert_ref", sa.String(length=512)),
        sa.Column("identity_id", ID),
        sa.Column("fixed_network", NAME),
        sa.Column("fixed_subnet", NAME),
        sa.Column("floating_ip_enabled", sa.Boolean(), nullable=False),
        sa.Column("master_lb_enabled", sa.Boolean(), nullable=False),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("health_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster"),
        sa.UniqueConstraint("uuid", name="uq_cluster_uuid"),
    )
    op.create_index("ix_cluster_cluster_template_id", "cluster", ["cluster_template_id"])
    op.create_index("ix_cluster_health_at", "cluster", ["health_at"])
    op.create_index("ix_cluster_list", "cluster", ["project_id", "id"])
    op.create_index("ix_cluster_name", "cluster", ["project_id", "name"])
    op.create_index("ix_cluster_stack_id", "cluster", ["stack_id"])
    op.create_index("ix_cluster_status", "cluster", ["status"])
    op.create_table(
        "cluster_count",
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("clusters", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_cluster_count"),
    )
    op.create_table(
        "cluster_event",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("cluster_id", ID, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sa.Column("kind", PROJECT, nullable=False),
        sa.Column("body", SEALED, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_event"),
    )
    op.create_index("ix_cluster_event_cluster_id", "cluster_event", ["cluster_id"])
    op.create_table(
        "cluster_identity",
        sa.Column("id", ID, nullable=False),
        sa.Column("cluster_id", ID, nullable=False),
        sa.Column("mode", sa.String(length=32), nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("user_id", PROJECT, nullable=False),
        sa.Column("delegation_id", NAME),
        sa.Column("trustee_id", PROJECT),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_identity"),
    )
    op.create_index("ix_cluster_identity_cluster_id", "cluster_identity", ["cluster_id"])
    op.create_index("ix_cluster_identity_delegation_id", "cluster_identity", ["delegation_id"])
    op.create_index("ix_cluster_identity_trustee_id", "cluster_identity", ["trustee_id"])
    op.create_table(
        "cluster_key_pair",
        sa.Column("id", ID, nullable=False),
        sa.Column("cluster_id", ID, nullable=False),
        sa.Column("kind", PROJECT, nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("user_id", PROJECT, nullable=False),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_key_pair"),
        sa.UniqueConstraint("cluster_id", "kind", name="uq_cluster_key_pair_cluster_id"),
    )
    op.create_table(
        "cluster_quota",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("resource", PROJECT, nullable=False),
        sa.Column("hard_limit", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_quota"),
        sa.UniqueConstraint("project_id", "resource", name="uq_cluster_quota_project_id"),
    )
    op.create_table(
        "cluster_rotation",
        sa.Column("cluster_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("refs", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("cluster_id", name="pk_cluster_rotation"),
    )
    op.create_table(
        "cluster_task",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("cluster_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("step", PROJECT, nullable=False),
        sa.Column(
            "body", SEALED, nullable=False, comment="sealed: arguments and the requester's token"
        ),
        sa.Column("owner", ID),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("leased_until", TIME),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_task"),
    )
    op.create_index("ix_cluster_task_cluster_id", "cluster_task", ["cluster_id"])
    op.create_index("ix_cluster_task_due_at", "cluster_task", ["due_at"])
    op.create_table(
        "cluster_template",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("uuid", ID, nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("user_id", PROJECT, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("coe", sa.String(length=32), nullable=False),
        sa.Column("image_id", NAME, nullable=False),
        sa.Column("flavor_id", NAME),
        sa.Column("master_flavor_id", NAME),
        sa.Column("dns_nameserver", NAME),
        sa.Column("keypair_id", NAME),
        sa.Column("external_network_id", NAME),
        sa.Column("fixed_network", NAME),
        sa.Column("fixed_subnet", NAME),
        sa.Column("network_driver", NAME),
        sa.Column("volume_driver", NAME),
        sa.Column("apiserver_port", sa.Integer()),
        sa.Column("docker_volume_size", sa.Integer()),
        sa.Column("docker_storage_driver", NAME),
        sa.Column("cluster_distro", NAME),
        sa.Column("registry_enabled", sa.Boolean(), nullable=False),
        sa.Column("tls_disabled", sa.Boolean(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("server_type", sa.String(length=16), nullable=False),
        sa.Column("master_lb_enabled", sa.Boolean(), nullable=False),
        sa.Column("floating_ip_enabled", sa.Boolean(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("tags", NAME),
        sa.Column("driver", NAME),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_template"),
        sa.UniqueConstraint("uuid", name="uq_cluster_template_uuid"),
    )
    op.create_index("ix_cluster_template_project_id", "cluster_template", ["project_id"])
    op.create_table(
        "federation",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("uuid", ID, nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("hostcluster_id", NAME, nullable=False),
        sa.Column("member_ids", TEXT, nullable=False),
        sa.Column("status", STATUS),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_federation"),
        sa.UniqueConstraint("uuid", name="uq_federation_uuid"),
    )
    op.create_index("ix_federation_project_id", "federation", ["project_id"])
    op.create_table(
        "magnum_service",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("host", NAME, nullable=False),
        sa.Column("binary", PROJECT, nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", NAME),
        sa.Column("last_seen_up", TIME),
        sa.Column("forced_down", sa.Boolean(), nullable=False),
        sa.Column("report_count", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_magnum_service"),
        sa.UniqueConstraint("binary", "host", name="uq_magnum_service_binary"),
    )
    op.create_table(
        "nodegroup",
        sa.Column("id", COUNTER, autoincrement=True, nullable=False),
        sa.Column("uuid", ID, nullable=False),
        sa.Column("cluster_id", ID, nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("docker_volume_size", sa.Integer()),
        sa.Column("flavor_id", NAME),
        sa.Column("image_id", NAME),
        sa.Column("node_count", sa.Integer(), nullable=False),
        sa.Column("role", NAME, nullable=False),
        sa.Column("min_node_count", sa.Integer(), nullable=False),
        sa.Column("max_node_count", sa.Integer()),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("stack_id", ID),
        sa.Column("status", STATUS),
        sa.Column("version", STATUS),
        sa.Column("body", SEALED, nullable=False),
        sa.Column("seen", NAME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_nodegroup"),
        sa.UniqueConstraint("cluster_id", "name", name="uq_nodegroup_cluster_id"),
        sa.UniqueConstraint("uuid", name="uq_nodegroup_uuid"),
    )
    op.create_index("ix_nodegroup_stack_id", "nodegroup", ["stack_id"])


def downgrade() -> None:
    op.drop_table("nodegroup")
    op.drop_table("magnum_service")
    op.drop_table("federation")
    op.drop_table("cluster_template")
    op.drop_table("cluster_task")
    op.drop_table("cluster_rotation")
    op.drop_table("cluster_quota")
    op.drop_table("cluster_key_pair")
    op.drop_table("cluster_identity")
    op.drop_table("cluster_event")
    op.drop_table("cluster_count")
    op.drop_table("cluster")
