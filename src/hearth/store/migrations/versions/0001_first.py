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
HASH = sa.String(64)


def must(name: str, kind: Any, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, **more)


def may(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind)


def upgrade() -> None:
    op.create_table(
        "keyring",
        must("name", WORD),
        must("body", SEALED),
        sa.PrimaryKeyConstraint("name", name="pk_keyring"),
    )
    op.create_table(
        "blob",
        must("hash", HASH),
        must("body", SEALED),
        sa.PrimaryKeyConstraint("hash", name="pk_blob"),
    )
    op.create_table(
        "revision",
        must("stack_id", ID),
        must("number", sa.Integer()),
        must("content", HASH),
        must("template", HASH),
        must("body", SEALED),
        must("created_at", TIME),
        may("created_by", NAME),
        may("copy_of", sa.Integer()),
        sa.PrimaryKeyConstraint("stack_id", "number", name="pk_revision"),
    )
    op.create_table(
        "stack",
        must("id", ID),
        must("project_id", HASH),
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
        may("user_project_id", HASH),
        may("creator", NAME),
        may("tags", TEXT),
        must("created_at", TIME),
        may("updated_at", TIME),
        may("deleted_at", TIME),
        may("options", WORD),
        sa.PrimaryKeyConstraint("id", name="pk_stack"),
        sa.UniqueConstraint("project_id", "live_name", name="uq_stack_project_id"),
    )
    op.create_index("ix_stack_list", "stack", ["project_id", "created_at"])
    op.create_index("ix_stack_name", "stack", ["project_id", "name"])
    op.create_index("ix_stack_owner_due", "stack", ["owner", "due_at"])
    op.create_index("ix_stack_parent_id", "stack", ["parent_id"])
    op.create_index("ix_stack_root_id", "stack", ["root_id"])
    op.create_index("ix_stack_user_project_id", "stack", ["user_project_id", "name"])
    op.create_table(
        "tree",
        must("root_id", ID),
        must("event_seq", sa.BigInteger()),
        must("resources", sa.Integer()),
        may("sinks", sa.Boolean()),
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
    op.create_index("ix_resource_name", "resource", ["stack_id", "name"])
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
        must("step", HASH),
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
        may("lane", HASH),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    op.create_index("ix_outbox_due_at", "outbox", ["due_at"])
    op.create_index("ix_outbox_lane", "outbox", ["lane"])
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
        must("draining", sa.Boolean(), server_default=sa.false()),
        sa.PrimaryKeyConstraint("id", name="pk_engine"),
    )
    compatible = op.create_table(
        "compatible",
        must("since", sa.String(32)),
        sa.PrimaryKeyConstraint("since", name="pk_compatible"),
    )
    op.create_table(
        "receipt",
        must("id", sa.String(32)),
        must("at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_receipt"),
    )
    op.create_index("ix_receipt_at", "receipt", ["at"])
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
    op.create_table(
        "snapshot",
        must("id", ID),
        must("stack_id", ID),
        may("name", NAME),
        must("action", WORD),
        must("status", WORD),
        must("reason", TEXT),
        must("created_at", TIME),
        may("body", SEALED),
        sa.PrimaryKeyConstraint("id", name="pk_snapshot"),
    )
    op.create_index("ix_snapshot_stack_id", "snapshot", ["stack_id"])
    op.create_table(
        "software_config",
        must("id", ID),
        must("project_id", HASH),
        may("name", NAME),
        must("tool", NAME),
        must("body", SEALED),
        must("created_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_software_config"),
    )
    op.create_index("ix_software_config_list", "software_config", ["project_id", "created_at"])
    op.create_table(
        "software_deployment",
        must("id", ID),
        must("project_id", HASH),
        may("user_project_id", HASH),
        must("config_id", ID),
        must("server_id", NAME),
        may("action", NAME),
        may("status", WORD),
        must("body", SEALED),
        must("created_at", TIME),
        may("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_software_deployment"),
    )
    op.create_index("ix_software_deployment_config_id", "software_deployment", ["config_id"])
    op.create_index(
        "ix_software_deployment_list", "software_deployment", ["project_id", "created_at"]
    )
    op.create_index("ix_software_deployment_server_id", "software_deployment", ["server_id"])
    op.create_index(
        "ix_software_deployment_user_project_id", "software_deployment", ["user_project_id"]
    )
    op.create_table(
        "drift_check",
        must("stack_id", ID),
        must("due_at", TIME),
        may("claim", ID),
        must("attempts", sa.Integer()),
        may("outcome", WORD),
        must("announced", sa.Boolean()),
        may("checked_at", TIME),
        may("body", SEALED),
        sa.PrimaryKeyConstraint("stack_id", name="pk_drift_check"),
    )
    op.create_index("ix_drift_check_due_at", "drift_check", ["due_at"])
    op.create_table(
        "cluster_key_pair",
        must("id", ID),
        must("cluster_id", ID),
        must("kind", HASH),
        must("project_id", HASH),
        must("user_id", HASH),
        must("body", SEALED),
        must("created_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_key_pair"),
        sa.UniqueConstraint("cluster_id", "kind", name="uq_cluster_key_pair_cluster_id"),
    )
    op.create_table(
        "cluster_rotation",
        must("cluster_id", ID),
        must("id", ID),
        must("phase", WORD),
        must("refs", TEXT),
        must("created_at", TIME),
        sa.PrimaryKeyConstraint("cluster_id", name="pk_cluster_rotation"),
    )
    op.create_table(
        "cluster_identity",
        must("id", ID),
        must("cluster_id", ID),
        must("mode", sa.String(32)),
        must("project_id", HASH),
        must("user_id", HASH),
        may("delegation_id", NAME),
        may("trustee_id", HASH),
        must("body", SEALED),
        must("created_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_identity"),
    )
    op.create_index("ix_cluster_identity_cluster_id", "cluster_identity", ["cluster_id"])
    op.create_index("ix_cluster_identity_delegation_id", "cluster_identity", ["delegation_id"])
    op.create_index("ix_cluster_identity_trustee_id", "cluster_identity", ["trustee_id"])
    op.create_table(
        "cluster_template",
        must("id", COUNTER, autoincrement=True),
        must("uuid", ID),
        must("project_id", HASH),
        must("user_id", HASH),
        must("name", NAME),
        must("coe", sa.String(32)),
        must("image_id", NAME),
        may("flavor_id", NAME),
        may("master_flavor_id", NAME),
        may("dns_nameserver", NAME),
        may("keypair_id", NAME),
        may("external_network_id", NAME),
        may("fixed_network", NAME),
        may("fixed_subnet", NAME),
        may("network_driver", NAME),
        may("volume_driver", NAME),
        may("apiserver_port", sa.Integer()),
        may("docker_volume_size", sa.Integer()),
        may("docker_storage_driver", NAME),
        may("cluster_distro", NAME),
        must("registry_enabled", sa.Boolean()),
        must("tls_disabled", sa.Boolean()),
        must("public", sa.Boolean()),
        must("server_type", WORD),
        must("master_lb_enabled", sa.Boolean()),
        must("floating_ip_enabled", sa.Boolean()),
        must("hidden", sa.Boolean()),
        may("tags", NAME),
        may("driver", NAME),
        must("body", SEALED),
        must("created_at", TIME),
        may("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_template"),
        sa.UniqueConstraint("uuid", name="uq_cluster_template_uuid"),
    )
    op.create_index("ix_cluster_template_project_id", "cluster_template", ["project_id"])
    op.create_table(
        "cluster",
        must("id", COUNTER, autoincrement=True),
        must("uuid", ID),
        must("project_id", HASH),
        must("user_id", HASH),
        must("name", NAME),
        must("cluster_template_id", ID),
        may("keypair", NAME),
        may("docker_volume_size", sa.Integer()),
        may("master_flavor_id", NAME),
        may("flavor_id", NAME),
        may("stack_id", ID),
        may("api_address", NAME),
        may("status", sa.String(20)),
        may("health_status", sa.String(20)),
        may("create_timeout", sa.Integer()),
        may("coe_version", NAME),
        may("container_version", NAME),
        may("ca_cert_ref", sa.String(512)),
        may("magnum_cert_ref", sa.String(512)),
        may("etcd_ca_cert_ref", sa.String(512)),
        may("front_proxy_ca_cert_ref", sa.String(512)),
        may("identity_id", ID),
        may("fixed_network", NAME),
        may("fixed_subnet", NAME),
        must("floating_ip_enabled", sa.Boolean()),
        must("master_lb_enabled", sa.Boolean()),
        must("body", SEALED),
        must("version", sa.Integer()),
        may("health_at", TIME),
        must("created_at", TIME),
        may("updated_at", TIME),
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
        "nodegroup",
        must("id", COUNTER, autoincrement=True),
        must("uuid", ID),
        must("cluster_id", ID),
        must("project_id", HASH),
        must("name", NAME),
        may("docker_volume_size", sa.Integer()),
        may("flavor_id", NAME),
        may("image_id", NAME),
        must("node_count", sa.Integer()),
        must("role", NAME),
        must("min_node_count", sa.Integer()),
        may("max_node_count", sa.Integer()),
        must("is_default", sa.Boolean()),
        may("stack_id", ID),
        may("status", sa.String(20)),
        may("version", sa.String(20)),
        must("body", SEALED),
        may("seen", NAME),
        must("created_at", TIME),
        may("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_nodegroup"),
        sa.UniqueConstraint("cluster_id", "name", name="uq_nodegroup_cluster_id"),
        sa.UniqueConstraint("uuid", name="uq_nodegroup_uuid"),
    )
    op.create_index("ix_nodegroup_stack_id", "nodegroup", ["stack_id"])
    op.create_table(
        "cluster_task",
        must("id", COUNTER, autoincrement=True),
        must("cluster_id", ID),
        must("kind", sa.String(32)),
        must("step", HASH),
        must("body", SEALED),
        may("owner", ID),
        must("epoch", sa.Integer()),
        may("leased_until", TIME),
        must("attempts", sa.Integer()),
        must("due_at", TIME),
        must("created_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_task"),
    )
    op.create_index("ix_cluster_task_cluster_id", "cluster_task", ["cluster_id"])
    op.create_index("ix_cluster_task_due_at", "cluster_task", ["due_at"])
    op.create_table(
        "magnum_service",
        must("id", COUNTER, autoincrement=True),
        must("host", NAME),
        must("binary", HASH),
        must("disabled", sa.Boolean()),
        may("disabled_reason", NAME),
        may("last_seen_up", TIME),
        must("forced_down", sa.Boolean()),
        must("report_count", sa.Integer()),
        must("created_at", TIME),
        may("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_magnum_service"),
        sa.UniqueConstraint("binary", "host", name="uq_magnum_service_binary"),
    )
    op.create_table(
        "cluster_quota",
        must("id", COUNTER, autoincrement=True),
        must("project_id", HASH),
        must("resource", HASH),
        must("hard_limit", sa.Integer()),
        must("created_at", TIME),
        may("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_quota"),
        sa.UniqueConstraint("project_id", "resource", name="uq_cluster_quota_project_id"),
    )
    op.create_table(
        "cluster_count",
        must("project_id", HASH),
        must("clusters", sa.Integer()),
        sa.PrimaryKeyConstraint("project_id", name="pk_cluster_count"),
    )
    op.create_table(
        "federation",
        must("id", COUNTER, autoincrement=True),
        must("uuid", ID),
        must("project_id", HASH),
        must("name", NAME),
        must("hostcluster_id", NAME),
        must("member_ids", TEXT),
        may("status", sa.String(20)),
        must("body", SEALED),
        must("created_at", TIME),
        may("updated_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_federation"),
        sa.UniqueConstraint("uuid", name="uq_federation_uuid"),
    )
    op.create_index("ix_federation_project_id", "federation", ["project_id"])
    op.create_table(
        "cluster_event",
        must("id", COUNTER, autoincrement=True),
        must("cluster_id", ID),
        must("time", TIME),
        must("kind", HASH),
        must("body", SEALED),
        sa.PrimaryKeyConstraint("id", name="pk_cluster_event"),
    )
    op.create_index("ix_cluster_event_cluster_id", "cluster_event", ["cluster_id"])
    op.bulk_insert(compatible, [{"since": "0001"}])
