"""Software deployments: the configuration for a server, and the results that it reports.

A deployment is visible in its own project, and in the domain project that it names, if any.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, field

from hearth.store.database import Tx
from hearth.store.software_configs import Config, config_of, shown_time
from hearth.store.tables import resource, software_config, software_deployment, stack

IN_PROGRESS = "IN_PROGRESS"


class Deployment(Struct, frozen=True):
    """A row of the table `software_deployment`.

    `output_values` is None until the server has reported results.
    """

    id: str
    project_id: str
    config_id: str
    server_id: str
    created_at: float
    user_project_id: str | None = None
    input_values: dict[str, Any] = field(default_factory=dict)
    output_values: dict[str, Any] | None = None
    action: str | None = None
    status: str | None = None
    reason: str | None = None
    updated_at: float | None = None

    def document(self) -> dict[str, Any]:
        """Return the deployment in the format that clients expect.

        It contains `updated_time` only after an update.
        """
        body = {
            "id": self.id,
            "server_id": self.server_id,
            "config_id": self.config_id,
            "action": self.action,
            "status": self.status,
            "status_reason": self.reason,
            "input_values": self.input_values,
            "output_values": self.output_values,
            "creation_time": shown_time(self.created_at),
        }
        updated_at = self.updated_at
        return body if updated_at is None else {**body, "updated_time": shown_time(updated_at)}


def put(tx: Tx, new: Deployment) -> None:
    """Store a deployment."""
    tx.execute(software_deployment.insert(), _values(tx, new))


def change(tx: Tx, deployment: Deployment) -> None:
    """Update the row of a deployment."""
    values = _values(tx, deployment)
    table = software_deployment
    tx.execute(table.update().where(table.c.id == deployment.id).values(values))


def forget(tx: Tx, deployment_id: str) -> None:
    """Delete the row of a deployment."""
    tx.execute(software_deployment.delete().where(software_deployment.c.id == deployment_id))


def find(
    tx: Tx, project_id: str | None, deployment_id: str, *, lock: bool = False
) -> Deployment | None:
    """Return a deployment that is visible in the project, or None.

    If `project_id` is None, all projects are searched. If `lock` is true, no other transaction can
    change the deployment before this one ends.
    """
    query = sa.select(software_deployment).where(software_deployment.c.id == deployment_id)
    if project_id is not None:
        query = query.where(_seen_by(project_id))
    row = tx.first(query.with_for_update() if lock else query)
    return None if row is None else _deployment(tx, row)


def ids_of_project(tx: Tx, project_id: str, server_id: str | None = None) -> list[str]:
    """Return the ids of the deployments that are visible in a project, oldest first.

    If `server_id` is given, only those of that server are included.
    """
    table = software_deployment.c
    query = sa.select(table.id).where(_seen_by(project_id))
    if server_id is not None:
        query = query.where(table.server_id == server_id)
    return [row.id for row in tx.rows(query.order_by(table.created_at, table.id))]


def some(tx: Tx, ids: Sequence[str]) -> list[Deployment]:
    """Return the deployments with these ids in the same order, without those that are gone."""
    query = sa.select(software_deployment).where(software_deployment.c.id.in_(ids))
    by_id = {row.id: _deployment(tx, row) for row in tx.rows(query)}
    return [by_id[deployment_id] for deployment_id in ids if deployment_id in by_id]


def count(tx: Tx, project_id: str) -> int:
    """Return the number of deployments in a project."""
    query = sa.select(sa.func.count()).where(software_deployment.c.project_id == project_id)
    number: int = tx.execute(query).scalar_one()
    return number


def configs_of(
    tx: Tx, project_id: str, server_id: str, *, users_only: bool = False
) -> list[Config]:
    """Return the configurations in a server's deployments that are visible in the project.

    They are sorted by the code points of their names, as agents expect, regardless of the
    database's collation. If `users_only` is true, only deployments of stacks with this domain
    project are included.
    """
    table = software_deployment.c
    visible = _shared_with(project_id) if users_only else _seen_by(project_id)
    query = (
        sa.select(software_config)
        .join(software_deployment, table.config_id == software_config.c.id)
        .where(table.server_id == server_id, visible)
        .order_by(table.created_at, table.id)
    )
    configs = [config_of(tx, row) for row in tx.rows(query)]
    return sorted(configs, key=lambda config: config.name or "")


def has_users(tx: Tx, project_id: str, user_project_id: str) -> bool:
    """Return whether `user_project_id` is the domain project of a stack of `project_id`.

    It is also true if both are the same project.
    """
    condition = sa.and_(
        stack.c.project_id == project_id, stack.c.user_project_id == user_project_id
    )
    is_own = user_project_id == project_id
    return is_own or tx.first(sa.select(stack.c.id).where(condition).limit(1)) is not None


def stack_of(tx: Tx, deployment_id: str) -> str | None:
    """Return the id of the stack that contains the deployment as a resource.

    Return None if a user created the deployment directly.
    """
    query = sa.select(resource.c.stack_id).where(resource.c.id == deployment_id)
    stack_id: str | None = tx.value(query)
    return stack_id


def _seen_by(project_id: str) -> sa.ColumnElement[bool]:
    return sa.or_(software_deployment.c.project_id == project_id, _shared_with(project_id))


def _shared_with(project_id: str) -> sa.ColumnElement[bool]:
    """Return the condition for deployments that are shared with the domain project `project_id`.

    The project of the deployment must own a stack with this domain project, because a request may
    name any project.
    """
    table = software_deployment.c
    owns = sa.select(stack.c.id).where(
        stack.c.user_project_id == project_id, stack.c.project_id == table.project_id
    )
    in_project = table.project_id == project_id
    return sa.and_(table.user_project_id == project_id, sa.or_(in_project, owns.exists()))


def _values(tx: Tx, deployment: Deployment) -> dict[str, Any]:
    body = {
        "inputs": deployment.input_values,
        "outputs": deployment.output_values,
        "reason": deployment.reason,
    }
    return {
        "id": deployment.id,
        "project_id": deployment.project_id,
        "user_project_id": deployment.user_project_id,
        "config_id": deployment.config_id,
        "server_id": deployment.server_id,
        "action": deployment.action,
        "status": deployment.status,
        "body": tx.seal(body, "software_deployment.body", deployment.id),
        "created_at": deployment.created_at,
        "updated_at": deployment.updated_at,
    }


def _deployment(tx: Tx, row: Any) -> Deployment:
    body = tx.unseal(row.body, "software_deployment.body", row.id)
    return Deployment(
        id=row.id,
        project_id=row.project_id,
        config_id=row.config_id,
        server_id=row.server_id,
        created_at=row.created_at,
        user_project_id=row.user_project_id,
        input_values=body["inputs"],
        output_values=body["outputs"],
        action=row.action,
        status=row.status,
        reason=body["reason"],
        updated_at=row.updated_at,
    )
