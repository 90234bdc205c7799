"""Finds out why a stack failed: the failed resources that are not nested stacks themselves.

Source: docs/spec/clusters.md, section 9, requirement 4.
"""

from collections.abc import Mapping, Sequence

from hearth.engine.core.record import Record
from hearth.model.state import Status
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.rows import StackRow

CAUSES_MAX = 3


async def causes(services: Services, row: StackRow) -> list[str]:
    """Return a message for each failed resource in a stack and its nested stacks, without
    duplicates.

    `row` is the stack. A resource that failed only because its nested stack failed is left out.
    """
    messages = await services.store.read(lambda tx: _failures(tx, row))
    return list(dict.fromkeys(messages))


def summary(messages: Sequence[str]) -> str | None:
    """Return the first three of these messages in one line, or None if there are none."""
    return "; ".join(messages[:CAUSES_MAX]) or None


def _failures(tx: Tx, root: StackRow) -> list[str]:
    nested = {row.id: row for row in reads.children(tx, root)}
    messages: list[str] = []
    for row in (root, *nested.values()):
        records = list(reads.records(tx, row.id))
        server = next((r for r in records if r.type == "OS::Nova::Server"), None)
        messages += [_message(row, r, server) for r in records if _is_cause(r, nested)]
    return messages


def _is_cause(record: Record, nested: Mapping[str, StackRow]) -> bool:
    """Return whether a resource has failed and is not a nested stack."""
    return record.status is Status.FAILED and record.physical_id not in nested


def _message(row: StackRow, record: Record, server: Record | None) -> str:
    subject = f"{record.name} of stack {row.name}"
    if server is not None and server is not record and server.physical_id:
        subject += f" (server {server.physical_id})"
    return f"{subject}: {record.reason}"
