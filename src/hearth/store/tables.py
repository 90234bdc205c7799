"""The tables of the database.

A column whose comment begins with *sealed* holds user values and is encrypted (seal.py). Times are
seconds since 1970, UTC, as doubles: all three databases sort and compare them in the same way.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.ext.compiler import compiles

MARIADB = ("mysql", "mariadb")


class _LongText(Text):
    """The type LONGTEXT of MariaDB.

    The module sqlalchemy.dialects.mysql has it, too, but takes a megabyte of memory.
    """


class _LongBlob(LargeBinary):
    """The type LONGBLOB of MariaDB."""


@compiles(_LongText, *MARIADB)
def _long_text(_type: _LongText, _compiler: Any, **_: Any) -> str:
    return "LONGTEXT COLLATE utf8mb4_bin"


@compiles(_LongBlob, *MARIADB)
def _long_blob(_type: _LongBlob, _compiler: Any, **_: Any) -> str:
    return "LONGBLOB"


ID = String(36)
NAME = String(255).with_variant(String(255, collation="utf8mb4_bin"), *MARIADB)
TEXT = Text().with_variant(_LongText(), *MARIADB)
SEALED_TEXT = Text().with_variant(_LongText(), *MARIADB)
SEALED = LargeBinary().with_variant(_LongBlob(), *MARIADB)
TIME: Double[float] = Double()
COUNTER = BigInteger().with_variant(Integer(), "sqlite")

SEALED_BY = "sealed_by"
"""The key in `Table.info` under which a table names the columns that `key_of` returns. It is needed
if the id of a row is not known yet when its values are encrypted.
"""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

keyring = Table(
    "keyring",
    metadata,
    Column("name", String(16), primary_key=True, comment="pepper: the key for fingerprints"),
    Column(
        "body",
        SEALED,
        nullable=False,
        comment="sealed: the value; decrypting it checks a configured key",
    ),
)

blob = Table(
    "blob",
    metadata,
    Column("hash", String(64), primary_key=True, comment="keyed hash of the text"),
    Column("body", SEALED, nullable=False, comment="sealed: a template's or a file's text"),
)

revision = Table(
    "revision",
    metadata,
    Column("stack_id", ID, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column(
        "content",
        String(64),
        nullable=False,
        comment="keyed hash of the columns below; equal for equal content",
    ),
    Column("template", String(64), nullable=False, comment="hash of a blob"),
    Column("body", SEALED, nullable=False, comment="sealed: files, environment, parameters"),
    Column("created_at", TIME, nullable=False),
    Column("created_by", NAME),
    Column("copy_of", Integer, comment="the revision from which it was copied, as in a rollback"),
)

stack = Table(
    "stack",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", String(64), nullable=False),
    Column("name", NAME, nullable=False),
    Column(
        "live_name",
        NAME,
        comment="the name if it must be unique; null for nested and deleted stacks",
    ),
    Column("root_id", ID, nullable=False),
    Column("parent_id", ID),
    Column("parent_record", ID, comment="id of the parent's record of this nested stack"),
    Column("parent_traversal", ID, comment="the parent's traversal that requested the operation"),
    Column("depth", Integer, nullable=False),
    Column("action", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", SEALED_TEXT, nullable=False, comment="sealed"),
    Column("first_failure", SEALED_TEXT, comment="sealed"),
    Column("revision", Integer, nullable=False, comment="number of the target revision"),
    Column(
        "previous_revision",
        Integer,
        nullable=False,
        comment="revision to which a rollback returns; 0: none",
    ),
    Column("traversal", ID, nullable=False),
    Column("started_at", TIME, nullable=False),
    Column("deadline", TIME),
    Column("timeout_mins", Integer),
    Column("disable_rollback", Boolean, nullable=False),
    Column("owner", ID),
    Column("epoch", Integer, nullable=False),
    Column("takeovers", Integer, nullable=False),
    Column("due_at", TIME, comment="when the stack needs an owner; null: never"),
    Column("credential_id", ID),
    Column("user_project_id", String(64)),
    Column("creator", NAME),
    Column("tags", TEXT),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    Column("deleted_at", TIME),
    Column("options", String(16), comment="words: converge, abandon, further"),
    UniqueConstraint("project_id", "live_name"),
    Index("ix_stack_owner_due", "owner", "due_at"),
    Index("ix_stack_parent_id", "parent_id"),
    Index("ix_stack_root_id", "root_id"),
    Index("ix_stack_list", "project_id", "created_at"),
    Index("ix_stack_name", "project_id", "name"),
    Index("ix_stack_user_project_id", "user_project_id", "name"),
)

tree = Table(
    "tree",
    metadata,
    Column("root_id", ID, primary_key=True),
    Column("event_seq", BigInteger, nullable=False),
    Column("resources", Integer, nullable=False),
    Column("sinks", Boolean, comment="whether a revision of the root stack ever had event sinks"),
)

resource = Table(
    "resource",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False),
    Column("name", NAME, nullable=False),
    Column("type", NAME, nullable=False, comment="as written in the template"),
    Column("action", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", SEALED_TEXT, nullable=False, comment="sealed"),
    Column("physical_id", NAME, index=True),
    Column("since", Integer, nullable=False, comment="first revision in which it has its name"),
    Column("until", Integer, comment="first revision in which it no longer has it"),
    Column("traversal", ID, comment="the traversal that last worked on it"),
    Column("replaces", ID),
    Column("replaced_by", ID),
    Column(
        "requires",
        TEXT,
        nullable=False,
        comment="JSON list of the ids of the records that it required",
    ),
    Column("state", SEALED, nullable=False, comment="sealed: definition, properties, attributes"),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    Index("ix_resource_name", "stack_id", "name"),
)

resource_data = Table(
    "resource_data",
    metadata,
    Column("resource_id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False, index=True),
    Column("version", Integer, nullable=False, comment="compare-and-set guard"),
    Column("data", SEALED, nullable=False, comment="sealed: private key/value pairs"),
    Column("metadata", SEALED, nullable=False, comment="sealed"),
)

node = Table(
    "node",
    metadata,
    Column("resource_id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False, index=True),
    Column("traversal", ID, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("action", String(16), nullable=False),
    Column("phase", String(16), nullable=False, comment="intent or accepted"),
    Column("step", String(64), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("wanted", SEALED, nullable=False, comment="sealed: the desired state of the record"),
    Column("started_at", TIME, nullable=False),
    Column("due_at", TIME),
)

inbox = Table(
    "mail",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("stack_id", ID, nullable=False, index=True),
    Column("kind", String(32), nullable=False),
    Column("body", SEALED, nullable=False, comment="sealed"),
    Column("created_at", TIME, nullable=False),
    info={SEALED_BY: ("stack_id",)},
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("kind", String(32), nullable=False),
    Column("body", SEALED, nullable=False, comment="sealed"),
    Column("due_at", TIME, nullable=False, index=True),
    Column("attempts", Integer, nullable=False),
    Column(
        "lane", String(64), index=True, comment="keyed hash: messages of one lane are sent in order"
    ),
    info={SEALED_BY: ("kind",)},
)

event = Table(
    "event",
    metadata,
    Column("root_id", ID, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", ID, nullable=False, unique=True),
    Column("stack_id", ID, nullable=False),
    Column("time", TIME, nullable=False),
    Column("resource_name", NAME, nullable=False),
    Column("resource_type", NAME, nullable=False),
    Column("physical_id", NAME),
    Column("action", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", SEALED_TEXT, nullable=False, comment="sealed"),
    Column("properties", SEALED, comment="sealed"),
    Index("ix_event_stack_id", "stack_id", "seq"),
)

engine = Table(
    "engine",
    metadata,
    Column("id", ID, primary_key=True),
    Column("host", NAME, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", TIME, nullable=False),
    Column("beat_at", TIME, nullable=False, comment="database time of the last heartbeat"),
    Column("draining", Boolean, nullable=False, server_default=false()),
)

compatible = Table(
    "compatible",
    metadata,
    Column("since", String(32), primary_key=True, comment="the oldest schema of a usable release"),
)

receipt = Table(
    "receipt",
    metadata,
    Column("id", String(32), primary_key=True, comment="id of a transaction of a request"),
    Column("at", TIME, nullable=False, index=True),
)

credential = Table(
    "credential",
    metadata,
    Column("id", ID, primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("body", SEALED, nullable=False, comment="sealed"),
    Column("created_at", TIME, nullable=False),
)

orphan = Table(
    "stray",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False, index=True),
    Column("resource_id", ID, nullable=False),
    Column("resource_type", NAME, nullable=False),
    Column("since", TIME, nullable=False, comment="when the call ended without a response"),
    Column("facts", SEALED, nullable=False, comment="sealed: the facts that a search for it needs"),
)

snapshot = Table(
    "snapshot",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False, index=True),
    Column("name", NAME),
    Column("action", String(16), nullable=False, comment="CREATE or DELETE"),
    Column("status", String(16), nullable=False),
    Column("reason", SEALED_TEXT, nullable=False, comment="sealed"),
    Column("created_at", TIME, nullable=False),
    Column("body", SEALED, comment="sealed: the stack's document, once it is complete"),
)

software_config = Table(
    "software_config",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", String(64), nullable=False),
    Column("name", NAME),
    Column("tool", NAME, nullable=False, comment="its group: what the agent runs it with"),
    Column("body", SEALED, nullable=False, comment="sealed: config, inputs, outputs, options"),
    Column("created_at", TIME, nullable=False),
    Index("ix_software_config_list", "project_id", "created_at"),
)

software_deployment = Table(
    "software_deployment",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", String(64), nullable=False),
    Column("user_project_id", String(64), index=True, comment="whose users may read it too"),
    Column("config_id", ID, nullable=False, index=True),
    Column("server_id", NAME, nullable=False, index=True),
    Column("action", NAME),
    Column("status", String(16)),
    Column("body", SEALED, nullable=False, comment="sealed: input and output values, reason"),
    Column("created_at", TIME, nullable=False),
    Column("updated_at", TIME),
    Index("ix_software_deployment_list", "project_id", "created_at"),
)

drift_check = Table(
    "drift_check",
    metadata,
    Column("stack_id", ID, primary_key=True, comment="a root stack"),
    Column("due_at", TIME, nullable=False, index=True, comment="when the next check can start"),
    Column("claim", ID, comment="id of the check that runs, if one does"),
    Column("attempts", Integer, nullable=False, comment="checks in a row without a result"),
    Column("outcome", String(16), comment="state of the last result; null: none yet"),
    Column("announced", Boolean, nullable=False, comment="whether the last event said: drifted"),
    Column("checked_at", TIME),
    Column("body", SEALED, comment="sealed: reason, counts, and the differing resources"),
)


def key_of(table: Table) -> tuple[str, ...]:
    """Return the columns whose values identify a row when its values are encrypted."""
    columns: tuple[str, ...] | None = table.info.get(SEALED_BY)
    return columns or tuple(column.name for column in table.primary_key.columns)
