"""The document of a stack: everything that is needed to create it again from its existing objects.

Snapshots store this document, and abandon and export return it. Source: docs/spec/engine.md,
section 17.
"""

from typing import Any

import sqlalchemy as sa

from hearth.engine.core.decide import EXTERNAL
from hearth.engine.core.record import Record
from hearth.model.state import Action
from hearth.store.database import Tx
from hearth.store.rows import DATA, METADATA, StackRow, record_of, stack_row
from hearth.store.tables import resource, resource_data, stack
from hearth.store.texts import get_revision


def document(tx: Tx, row: StackRow, *, in_snapshot: bool = False) -> dict[str, Any]:
    """Return the document of a stack; `template` in it is the text of the template.

    Resources that are being deleted are left out. The entry of a nested stack's resource contains
    the document of the nested stack. If `in_snapshot` is true, only resources that the last
    SNAPSHOT operation has reached are included.
    """
    revision = get_revision(tx, row.id, row.revision)
    return {
        "name": row.name,
        "id": row.id,
        "action": row.action.value,
        "status": row.status.value,
        "environment": {
            **revision.environment,
            "parameters": {**revision.environment.get("parameters", {}), **revision.parameters},
        },
        "files": revision.files,
        "template": revision.template,
        "project_id": row.project_id,
        "stack_user_project_id": row.user_project_id,
        "tags": row.tags.split(",") if row.tags else [],
        "resources": _resources(tx, row, in_snapshot),
    }


def _resources(tx: Tx, row: StackRow, in_snapshot: bool) -> dict[str, Any]:
    rows = tx.rows(sa.select(resource).where(resource.c.stack_id == row.id))
    data_rows = {
        r.resource_id: r
        for r in tx.rows(sa.select(resource_data).where(resource_data.c.stack_id == row.id))
    }
    children = {
        child.id: stack_row(tx, child)
        for child in tx.rows(
            sa.select(stack).where(stack.c.parent_id == row.id, stack.c.deleted_at.is_(None))
        )
    }
    entries: dict[str, Any] = {}
    for record in (record_of(tx, r) for r in rows):
        child = children.get(record.physical_id or "")
        if record.until is not None or _leaves(record, child):
            continue
        if in_snapshot and not _taken(record, row):
            continue
        if child is not None:
            entries[record.name] = {
                **document(tx, child, in_snapshot=in_snapshot),
                **_entry(tx, record, data_rows),
            }
        else:
            entries[record.name] = _entry(tx, record, data_rows)
    return entries


def _leaves(record: Record, child: StackRow | None) -> bool:
    """Return whether the delete of the object, or of the objects of the nested stack, has begun."""
    return record.action is Action.DELETE and (child is None or child.deletes_objects)


def _taken(record: Record, row: StackRow) -> bool:
    current = record.traversal == row.traversal or row.action is Action.DELETE
    return current and record.action is Action.SNAPSHOT


def _entry(tx: Tx, record: Record, data_rows: dict[str, Any]) -> dict[str, Any]:
    data_row = data_rows.get(record.id)
    return {
        "name": record.name,
        "resource_id": record.physical_id,
        "type": record.type,
        **({"kind": record.held.kind} if record.held.kind not in ("", record.type) else {}),
        **({EXTERNAL: outside} if (outside := record.held.parts.get(EXTERNAL)) else {}),
        "action": record.action.value,
        "status": record.status.value,
        "metadata": tx.unseal(data_row.metadata, METADATA, record.id) if data_row else {},
        "resource_data": tx.unseal(data_row.data, DATA, record.id) if data_row else {},
    }
