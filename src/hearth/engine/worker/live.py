"""Making the `Live` that resource types see."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.naming import physical_name
from hearth.engine.core.record import Record
from hearth.engine.worker.trouble import Trouble
from hearth.model.state import Action
from hearth.resources.base import Live, ResourceType, StackFacts
from hearth.resources.live import INHERITED
from hearth.store import claim, reads
from hearth.store.reads import demand_metadata
from hearth.store.rows import StackRow

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where Hearth and identity are reached, as servers in the cloud see them, and what services
    are told of stacks. `{project}` in `heat` stands for the project id."""

    heat: str = ""
    cfn: str = ""
    identity: str = ""
    region: str | None = None
    waitcondition: str = ""
    metadata: str = ""
    schedulers_told: bool = False


def live(
    work: "StackWork",
    record: Record,
    kind: ResourceType,
    action: Action,
    *,
    properties: Mapping[str, Any],
    before: Mapping[str, Any] | None = None,
    changed: frozenset[str] = frozenset(),
    started_at: float | None = None,
    update_policy: Mapping[str, Any] | None = None,
) -> Live:
    """A record as its type sees it."""
    now = work.tools.clock.now()
    return Live(
        record_id=record.id,
        name=record.name,
        type_name=record.type,
        stack=facts_of(work),
        action=action,
        physical_id=record.physical_id,
        physical_name=physical_name(
            work.stack.name, record.name, record.id, kind.physical_name_limit
        ),
        key=record.id,
        properties=properties,
        cloud=work.cloud(),
        before=before or {},
        changed=changed,
        data=dict(work.data.get(record.id, {})),
        metadata=work.metadata.get(record.id, {}),
        now=now,
        started_at=now if started_at is None else started_at,
        secret=lambda: work.tools.store.sealer.fingerprint(["secret", record.id]),
        update_policy=update_policy or {},
        kind=kind,
        users=work.users(),
        read_metadata=lambda reference: _metadata(work, reference),
        read_properties=lambda reference: _properties(work, reference),
        read_path=lambda: work.tools.store.read(partial(reads.path, row=work.stack)),
        new_id=work.tools.new_id,
        fetch=partial(_fetched, work),
    )


async def attributes_of(
    work: "StackWork",
    record: Record,
    kind: ResourceType,
    live: Live,
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What the last body gives, and what the template reads beyond that."""
    attributes = {**(known or {}), **kind.known_attributes(live)}
    for name in work.operation.reads(record.name, kind):
        if name not in attributes:
            try:
                attributes[name] = await kind.shown_attribute(live, name)
            except (CloudFault, Trouble, LookupError, TypeError) as problem:
                log.info("attribute %s of %s: %s", name, record.name, problem)
                if not kind.nested:  # what a stack below lacks is an error to read
                    attributes[name] = None
    return attributes


def facts_of(work: "StackWork") -> StackFacts:
    """The facts of the stack as it is now, made once for all its resources."""
    known = work.facts
    if known is None or known[0] is not work.stack:
        known = work.facts = (work.stack, stack_facts(work.stack, work.tools.endpoints))
    return known[1]


def stack_facts(stack: StackRow, at: Endpoints) -> StackFacts:
    """What types may know of a stack."""
    return StackFacts(
        id=stack.id,
        name=stack.name,
        project_id=stack.project_id,
        user_project_id=stack.user_project_id,
        root_id=stack.root_id,
        region=at.region,
        heat_url=at.heat.replace("{project}", stack.project_id),
        cfn_url=at.cfn,
        identity_url=at.identity,
        metadata_url=at.metadata,
        waitcondition_url=at.waitcondition,
        timeout_mins=stack.timeout_mins,
        schedulers_told=at.schedulers_told,
    )


async def _fetched(work: "StackWork", url: str) -> str:
    """A file of the stack's revision, else what stands at the address."""
    files = work.operation.revision.files
    return files[url] if url in files else await work.tools.fetch(url)


def _properties(work: "StackWork", reference: str) -> Mapping[str, Any] | None:
    """The stored properties of the resource with that reference id."""
    for record in work.records.values():
        if record.until is None and reference == record.held.reference:
            inherited = work.data.get(record.id, {}).get(INHERITED, "{}")
            given = {k: v for k, v in record.held.properties.items() if v is not None}
            return {**json.loads(inherited), **given}
    return None


async def _metadata(work: "StackWork", reference: str) -> Mapping[str, Any]:
    """The metadata, as it is in the rows now, of the resource with that reference id."""
    for record in work.records.values():
        if reference in (record.held.reference, record.physical_id):
            if (collected := await _collected(work, record)) is not None:
                return collected
            read = partial(claim.metadata, resource_id=record.id)
            found: Mapping[str, Any] = await work.tools.store.read(read)
            work.metadata[record.id] = found
            return found
    return {}


async def _collected(work: "StackWork", record: Record) -> Mapping[str, Any] | None:
    """Signals that lie somewhere to be fetched, taken into the metadata; None if there are none."""
    kind = work.tools.programs.type_of(record)
    if kind is None or type(kind).collect is ResourceType.collect:
        return None
    seen = live(work, record, kind, record.action, properties=record.held.properties)
    done = await kind.collect(seen)
    if done is None or done.metadata is None:
        return None
    demand_metadata(done.metadata)
    work.metadata[record.id] = done.metadata
    work.sure.metadata[record.id] = done.metadata
    if done.data:
        work.data[record.id] = {**seen.data, **{k: v for k, v in done.data.items() if v}}
        work.sure.data[record.id] = done.data
    if done.reason is not None:
        work.event(record, record.status, done.reason, action="SIGNAL")
    work.wake()
    return done.metadata
