"""The contexts that resource types get, built in one place for the engine and the use cases."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from hearth.cloud.contract import Cloud
from hearth.engine.clock import Clock
from hearth.engine.core.naming import name_by_reference, physical_name
from hearth.engine.core.record import Record
from hearth.engine.deployments import StackDeployments
from hearth.engine.endpoints import Endpoints, stack_facts
from hearth.engine.server_metadata import CloudLookup
from hearth.model.state import Action
from hearth.resources.base import ResourceContext, ResourceType, StackFacts
from hearth.resources.capabilities import ReportsResults
from hearth.resources.context import INHERITED
from hearth.store import claim
from hearth.store.database import Store, Tx
from hearth.store.rows import StackRow


class Source(Protocol):
    """The services that a context uses: those of an engine, or those of the use cases."""

    @property
    def store(self) -> Store: ...
    @property
    def clouds(self) -> CloudLookup: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def new_id(self) -> Callable[[], str]: ...
    @property
    def endpoints(self) -> Endpoints: ...


def resource_context(
    source: Source,
    row: StackRow,
    record: Record,
    rtype: ResourceType,
    cloud: Cloud,
    action: Action,
    *,
    properties: Mapping[str, Any],
    facts: StackFacts | None = None,
    started_at: float | None = None,
    new_id: Callable[[], str] | None = None,
    **values: Any,
) -> ResourceContext:
    """Return the context of a record for one action. If `started_at` is None, the action begins
    now.

    `facts` are those about the stack `row` if they are known already, and `values` the fields of
    the context that only some callers have.
    """
    now = source.clock.now()
    deployments = None
    if isinstance(rtype, ReportsResults):
        deployments = StackDeployments(
            source.store, source.clouds, source.clock, source.new_id, row, record
        )
    return ResourceContext(
        record_id=record.id,
        name=record.name,
        type_name=record.type,
        stack=facts or stack_facts(row, source.endpoints),
        action=action,
        physical_id=record.physical_id,
        physical_name=physical_name(row.name, record.name, record.id, rtype.physical_name_limit),
        key=record.id,
        properties=properties,
        cloud=cloud,
        now=now,
        started_at=now if started_at is None else started_at,
        account_secret=lambda: source.store.sealer.fingerprint(["account", row.project_id]),
        secret=lambda: source.store.sealer.fingerprint(["secret", record.id]),
        kind=rtype,
        deployments=deployments,
        new_id=new_id or source.new_id,
        **values,
    )


def reading_others(
    row: StackRow,
    records: Callable[[], Iterable[Record]],
    data_of: Callable[[str], Mapping[str, str]],
) -> dict[str, Any]:
    """Return the fields of a context that read the names and stored properties of the other
    resources of its stack.

    `records` are those of the stack, and `data_of` returns the private data of a record.
    """
    return {
        "read_name": lambda reference: name_by_reference(row.name, records(), reference),
        "read_properties": lambda reference: _properties(records(), data_of, reference),
    }


def referred(records: Iterable[Record], reference: str) -> Record | None:
    """Return the record with this reference id or physical id; None if there is none."""
    matches = (r for r in records if reference in (r.held.reference, r.physical_id))
    return next(matches, None)


def referred_metadata(tx: Tx, records: Iterable[Record], reference: str) -> Mapping[str, Any]:
    """Return the stored metadata of the resource with this reference id or physical id; empty if
    there is none.
    """
    record = referred(records, reference)
    metadata: Mapping[str, Any] = {} if record is None else claim.metadata(tx, record.id)
    return metadata


async def file_text(
    files: Mapping[str, str], fetch: Callable[[str], Awaitable[str]], url: str
) -> str:
    """Return the file with this URL, or fetch the URL. Raises CloudFault."""
    return files[url] if url in files else await fetch(url)


def _properties(
    records: Iterable[Record], data_of: Callable[[str], Mapping[str, str]], reference: str
) -> Mapping[str, Any] | None:
    """Return the stored properties of the resource with this reference id; None if there is
    none.
    """
    for record in records:
        if record.until is None and reference == record.held.reference:
            inherited = data_of(record.id).get(INHERITED, "{}")
            recorded = {k: v for k, v in record.held.properties.items() if v is not None}
            return {**json.loads(inherited), **recorded}
    return None
