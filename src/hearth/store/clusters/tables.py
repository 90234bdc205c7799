"""The tables of the cluster service.

A column whose comment begins with *sealed* holds user values and is encrypted, as in `tables`.
Source: tests/facts/magnum/objects.json, `database_tables`.
"""

from sqlalchemy import Boolean, Column, Index, Integer, String, Table, UniqueConstraint

from hearth.store.tables import COUNTER, ID, NAME, SEALED, SEALED_BY, TEXT, TIME, metadata

PROJECT = String(64)
STATUS = String(20)

cluster_template = Table(
    "cluster_template",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("uuid", ID, nullable=False, unique=True),
    Column("project_id", PROJECT, nullable=False, index=True),
    Column("user_id", PROJECT, nullable=False),
    Column("name", NAME, nullable=False),
    Column("coe", String(32), nullable=False),
    Column("image_id", NAME, nullable=False),
    Column("flavor_id", NAME),
    Column("master_flavor_id", NAME),
    Column("dns_nameserver", NAME),
    Column("keypair_id", NAME),
    Column("external_network_id", NAME),
    Column("fixed_network", NAME),
    Column("fixed_subnet", NAME),
    Column("network_driver", NAME),
    Column("volume_driver", NAME),
    Column("apiserver_port", Integer),
    Column("docker_volume_size", Integer),
    Column("docker_storage_driver", NAME),
    Column("cluster_distro", NAME),
    Column("registry_enabled", Boolean, nullable=False),
    Column("tls_disabled", Boolean, nullable=False),
    Column("public", Boolean, nullable=False),
    Column("server_type", String(16), nullable=False),
    Column("master_lb_enabled", Boolean, nullable=False),
    Column("floating_ip_enabled", Boolean, nullable=False),
    Column("hidden", Boolean, nullable=False),
    Column("tags", NAME),
    Column("driver", NAME),
    Column("body", SEALED, nullable=False, comment="sealed: labels, proxies, registry"),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    info={SEALED_BY: ("uuid",)},
)

cluster = Table(
    "cluster",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("uuid", ID, nullable=False, unique=True),
    Column("project_id", PROJECT, nullable=False),
    Column("user_id", PROJECT, nullable=False),
    Column("name", NAME, nullable=False),
    Column("cluster_template_id", ID, nullable=False, index=True),
    Column("keypair", NAME),
    Column("docker_volume_size", Integer),
    Column("master_flavor_id", NAME),
    Column("flavor_id", NAME),
    Column("stack_id", ID, index=True),
    Column("api_address", NAME),
    Column("status", STATUS, index=True),
    Column("health_status", STATUS),
    Column("create_timeout", Integer),
    Column("coe_version", NAME),
    Column("container_version", NAME),
    Column("ca_cert_ref", String(512)),
    Column("magnum_cert_ref", String(512)),
    Column("etcd_ca_cert_ref", String(512)),
    Column("front_proxy_ca_cert_ref", String(512)),
    Column("identity_id", ID),
    Column("fixed_network", NAME),
    Column("fixed_subnet", NAME),
    Column("floating_ip_enabled", Boolean, nullable=False),
    Column("master_lb_enabled", Boolean, nullable=False),
    Column("body", SEALED, nullable=False, comment="sealed: labels, reasons, conditions"),
    Column("version", Integer, nullable=False, comment="compare-and-set guard"),
    Column("health_at", TIME, comment="when its health is checked next; null: now"),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    Index("ix_cluster_list", "project_id", "id"),
    Index("ix_cluster_name", "project_id", "name"),
    Index("ix_cluster_health_at", "health_at"),
    info={SEALED_BY: ("uuid",)},
)

node_group = Table(
    "nodegroup",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("uuid", ID, nullable=False, unique=True),
    Column("cluster_id", ID, nullable=False),
    Column("project_id", PROJECT, nullable=False),
    Column("name", NAME, nullable=False),
    Column("docker_volume_size", Integer),
    Column("flavor_id", NAME),
    Column("image_id", NAME),
    Column("node_count", Integer, nullable=False),
    Column("role", NAME, nullable=False),
    Column("min_node_count", Integer, nullable=False),
    Column("max_node_count", Integer),
    Column("is_default", Boolean, nullable=False),
    Column("stack_id", ID, index=True),
    Column("status", STATUS),
    Column("version", String(20)),
    Column("body", SEALED, nullable=False, comment="sealed: labels, taints, addresses, reason"),
    Column("seen", NAME, comment="the state of its stack at the last synchronisation"),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    UniqueConstraint("cluster_id", "name"),
    info={SEALED_BY: ("uuid",)},
)

cluster_task = Table(
    "cluster_task",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("cluster_id", ID, nullable=False, index=True),
    Column("kind", String(32), nullable=False),
    Column("step", String(64), nullable=False),
    Column("body", SEALED, nullable=False, comment="sealed: arguments and the requester's token"),
    Column("owner", ID, comment="the conductor that works on it"),
    Column("epoch", Integer, nullable=False, comment="counts its owners; each commit checks it"),
    Column("leased_until", TIME, comment="database time"),
    Column("attempts", Integer, nullable=False),
    Column("due_at", TIME, nullable=False, index=True),
    Column("created_at", TIME, nullable=False),
    info={SEALED_BY: ("cluster_id",)},
)

conductor = Table(
    "magnum_service",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("host", NAME, nullable=False),
    Column("binary", String(64), nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("disabled_reason", NAME),
    Column("last_seen_up", TIME, comment="database time"),
    Column("forced_down", Boolean, nullable=False),
    Column("report_count", Integer, nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    UniqueConstraint("binary", "host"),
)

cluster_quota = Table(
    "cluster_quota",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("project_id", PROJECT, nullable=False),
    Column("resource", String(64), nullable=False),
    Column("hard_limit", Integer, nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    UniqueConstraint("project_id", "resource"),
)

cluster_count = Table(
    "cluster_count",
    metadata,
    Column("project_id", PROJECT, primary_key=True),
    Column("clusters", Integer, nullable=False, comment="locked by each create of the project"),
)

federation = Table(
    "federation",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("uuid", ID, nullable=False, unique=True),
    Column("project_id", PROJECT, nullable=False, index=True),
    Column("name", NAME, nullable=False),
    Column("hostcluster_id", NAME, nullable=False),
    Column("member_ids", TEXT, nullable=False, comment="JSON list"),
    Column("status", STATUS),
    Column("body", SEALED, nullable=False, comment="sealed: properties, reason"),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    info={SEALED_BY: ("uuid",)},
)

cluster_event = Table(
    "cluster_event",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("cluster_id", ID, nullable=False, index=True),
    Column("time", TIME, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("body", SEALED, nullable=False, comment="sealed: what happened, to what"),
    info={SEALED_BY: ("cluster_id",)},
)
