"""Software configurations: scripts and settings for servers, stored as they were sent.

A configuration never changes, and it cannot be deleted while a deployment uses it.
"""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, field

from hearth.store.database import Tx
from hearth.store.tables import software_config, software_deployment


def shown_time(seconds: float) -> str:
    """Return a time, in seconds since 1970, in the format that agents and clients expect."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Config(Struct, frozen=True):
    """A row of the table `software_config`.

    `config` is any JSON value. The items of `inputs` and `outputs` have the format of
    `resources/heat/software_io.py`.
    """

    id: str
    project_id: str
    name: str | None
    created_at: float
    group: str | None
    config: Any = None
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the configuration in the format that agents and clients expect."""
        return {
            "id": self.id,
            "name": self.name,
            "group": self.group,
            "config": self.config,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "options": self.options,
            "creation_time": shown_time(self.created_at),
        }

    def input(self, name: str) -> Any:
        """Return the value of an input; None if there is no such input, or if it has no value."""
        values = (entry.get("value") for entry in self.inputs if entry["name"] == name)
        return next(values, None)


def put(tx: Tx, new: Config) -> None:
    """Store a new software configuration."""
    body = {
        "config": new.config,
        "inputs": new.inputs,
        "outputs": new.outputs,
        "options": new.options,
    }
    row = {
        "id": new.id,
        "project_id": new.project_id,
        "name": new.name,
        "tool": new.group or "",
        "body": tx.seal(body, "software_config.body", new.id),
        "created_at": new.created_at,
    }
    tx.execute(software_config.insert(), row)


def count(tx: Tx, project_id: str) -> int:
    """Return the number of software configurations of a project."""
    query = sa.select(sa.func.count()).where(software_config.c.project_id == project_id)
    number: int = tx.execute(query).scalar_one()
    return number


def find(tx: Tx, project_id: str | None, config_id: str, *, lock: bool = False) -> Config | None:
    """Return a software configuration of the project, or None.

    If `project_id` is None, it may belong to any project. If `lock` is true, no other transaction
    can delete it before this one ends.
    """
    query = sa.select(software_config).where(software_config.c.id == config_id)
    if project_id is not None:
        query = query.where(software_config.c.project_id == project_id)
    row = tx.first(query.with_for_update() if lock else query)
    return None if row is None else config_of(tx, row)


def of_project(
    tx: Tx, project_id: str | None, *, limit: int | None = None, marker: str | None = None
) -> list[Config]:
    """Return a page of the software configurations of a project, newest first.

    If `project_id` is None, those of all projects are listed. An unknown marker is ignored.
    """
    table = software_config.c
    query = sa.select(software_config)
    if project_id is not None:
        query = query.where(table.project_id == project_id)
    last = None if marker is None else tx.first(query.where(table.id == marker))
    if last is not None:
        before = sa.and_(table.created_at == last.created_at, table.id < last.id)
        query = query.where(sa.or_(table.created_at < last.created_at, before))
    query = query.order_by(table.created_at.desc(), table.id.desc())
    query = query if limit is None else query.limit(limit)
    return [config_of(tx, row) for row in tx.rows(query)]


def user_of(tx: Tx, config_id: str) -> str | None:
    """Return the id of the oldest deployment, in any project, that uses the configuration, or
    None.
    """
    table = software_deployment.c
    query = sa.select(table.id).where(table.config_id == config_id).order_by(table.created_at)
    deployment_id: str | None = tx.value(query.limit(1))
    return deployment_id


def forget(tx: Tx, config_id: str) -> None:
    """Delete the row of a configuration."""
    tx.execute(software_config.delete().where(software_config.c.id == config_id))


def config_of(tx: Tx, row: Any) -> Config:
    """Return the software configuration in a row that has all columns of the table."""
    return Config(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        created_at=row.created_at,
        group=row.tool or None,
        **tx.unseal(row.body, "software_config.body", row.id),
    )
