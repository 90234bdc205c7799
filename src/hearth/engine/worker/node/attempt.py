"""An attempt at one action on one resource: its intent, its steps, and its end.

The order is: intent, call, response, end. A write call is sent only after its intent is committed,
and its result is committed before the next call. After a takeover, the next owner reads from the
row which step was running, and first searches for the object by its key.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault, NotFound
from hearth.engine.core.decide import Desired
from hearth.engine.core.graph import NodeKind
from hearth.engine.core.record import Held, Record
from hearth.engine.core.walk import kept_unhealthy, unhealthy
from hearth.engine.worker.failure import ResourceFailure, Superseded
from hearth.engine.worker.known.context import attributes_of, context_of
from hearth.engine.worker.known.memory import USUAL_REASON
from hearth.engine.worker.known.owned import OwnedStack
from hearth.engine.worker.node.calls import CloudCalls
from hearth.engine.worker.node.intent import Intent
from hearth.engine.worker.node.outcome import Done, Outcome
from hearth.engine.worker.node.watched import DOUBTFUL, WatchedCloud, WriteWatch
from hearth.model.state import Action, Status
from hearth.resources.actions import action_steps
from hearth.resources.base import ResourceContext, ResourceType, Step
from hearth.resources.capabilities import MakesObject, NestedType, SnapshotAtDelete, UsesUsers
from hearth.resources.read_back import is_lost
from hearth.store.messages import ChildEnded
from hearth.store.rows import AttemptRow

DELETES_DATA = f"{USUAL_REASON}; deletes its data"


class AwaitedChild(Protocol):
    """The nested stack whose operation an attempt waits for."""

    def heard(self, message_id: int, ended: ChildEnded) -> bool:
        """Accept the end of an operation of the nested stack; return False if the attempt did not
        request it.
        """

    def cancel(self) -> None:
        """Request that the nested stack starts no further nodes."""


class ChildLink:
    """What an attempt knows of its nested stack.

    `asked_by` is the traversal in which this stack requested the operation of the nested stack. It
    stays the same when a newer operation takes over the attempt.
    """

    def __init__(self, asked_by: str) -> None:
        self.asked_by = asked_by
        # set while the attempt waits for the end of an operation
        self.waits: AwaitedChild | None = None
        self.seen: str | None = None  # the id of the nested stack that was found
        self.unchanged = False  # its operation changed nothing: recorded attributes stay valid
        # messages that arrived before it waited for one
        self.early: list[tuple[int, ChildEnded]] = []
        self.guarded: tuple[str, ...] = ()  # names of its outputs that contain secrets
        self.hidden: tuple[str, ...] = ()  # names of its outputs that contain hidden values
        self.message: int | None = None  # a message to mark as read at the end of the attempt


class Attempt:
    """One attempt of a node to carry out an action on a resource.

    `rekey` is called with the old and the new record id when a new record replaces the attempt's
    record.
    """

    def __init__(
        self,
        owned: OwnedStack,
        record: Record,
        kind: NodeKind,
        traversal: str,
        rekey: Callable[[str, str], None],
    ) -> None:
        self.owned = owned
        self.intent = Intent(owned, record.id)
        self.kind = kind
        self.traversal = traversal
        self.child = ChildLink(traversal)
        self.began_at = owned.tools.clock.now()
        self.calls = CloudCalls(owned, self.intent)
        self.doing = Action.DELETE if kind is NodeKind.CLEANUP else Action.UPDATE
        self.attempted: Desired | None = None  # the state that an update tried to reach
        self._writes = WriteWatch()
        self.left_over: str | None = None  # why objects of a snapshot make the stack's delete fail
        self._rekey = rekey

    def continue_from(self, row: AttemptRow) -> None:
        """Note that an earlier owner has committed the intent, and when it began."""
        self.began_at = row.started_at
        self.intent.begun = self.intent.committed = True

    @property
    def record(self) -> Record:
        """Return the current version of the record."""
        return self.intent.record

    @property
    def record_id(self) -> str:
        """Return the id of the record."""
        return self.intent.record_id

    def move_to(self, new: Record) -> None:
        """Continue with the new record that replaces the record of this attempt."""
        old, self.intent.record_id = self.record_id, new.id
        self._rekey(old, new.id)

    def is_over(self) -> bool:
        """Return whether a newer operation has begun, so that this attempt must end."""
        return self.traversal != self.owned.memory.stack.traversal

    def not_stale(self) -> None:
        """Raise Superseded if a newer operation has begun, or if the result of this operation is
        decided.
        """
        if self.is_over() or self.owned.aim.over:
            raise Superseded

    # -- seen by the type ------------------------------------------------------------------

    def context(
        self, rtype: ResourceType, action: Action, properties: Mapping[str, Any], **extra: Any
    ) -> ResourceContext:
        """Return the context of the record for an action; `extra` are further arguments of
        `context_of`.
        """
        return context_of(
            self.owned,
            self.record,
            rtype,
            action,
            properties=properties,
            started_at=self.began_at,
            **extra,
        )

    def context_for(
        self, record: Record, rtype: ResourceType, action: Action = Action.DELETE
    ) -> ResourceContext:
        """Return the context of a record with its recorded properties, for deleting or changing its
        object.
        """
        return context_of(
            self.owned,
            record,
            rtype,
            action,
            properties=record.held.properties,
            started_at=self.began_at,
        )

    # -- steps -----------------------------------------------------------------------------

    async def begin(
        self,
        action: Action,
        rtype: ResourceType,
        desired: Desired,
        number: int,
        ctx: ResourceContext,
        *,
        show: bool = True,
    ) -> None:
        """Commit the intent of an action, together with the status IN_PROGRESS.

        For a nested stack the intent is only added to the changes, because it is committed together
        with the request to the nested stack. `number` counts the attempts from 0. If `show` is
        false, no event is added. Raises Superseded.
        """
        memory = self.owned.memory
        first = not self.intent.committed
        if first:  # the preparation of a nested stack takes time
            self.not_stale()
        self.intent.begun = True
        if self.kind is NodeKind.CLEANUP or action is not Action.DELETE:
            self.doing = action
        record = self.record
        before = record.action, record.status
        holds_data = isinstance(rtype, MakesObject) and rtype.holds_data
        destroys = action is Action.DELETE and self.kind is NodeKind.CLEANUP and holds_data
        hides = action in (Action.SUSPEND, Action.RESUME) and unhealthy(record)
        if hides:
            record = kept_unhealthy(record)
        makes = action in (Action.CREATE, Action.ADOPT)
        record = record.having(
            action=action,
            status=Status.IN_PROGRESS,
            traversal=self.traversal,
            reason=record.reason if makes and number else USUAL_REASON,  # why it is tried again
        )
        if makes:
            record = record.having(requires=desired.requires, held=_unfinished(desired))
        if action is Action.UPDATE:
            self.attempted = desired
        moves = action is Action.UPDATE and not desired.requires <= record.requires
        if moves:  # until its end it may depend on both the old and the new resources
            record = record.having(requires=record.requires | desired.requires)
        memory.put(record, full=makes or moves or hides, if_current=first)
        if show and before != (action, Status.IN_PROGRESS):
            aim = desired if action is Action.UPDATE else None
            reason = DELETES_DATA if destroys and record.physical_id else USUAL_REASON
            memory.event(record, Status.IN_PROGRESS, reason, if_current=first, desired=aim)
        steps = () if isinstance(rtype, NestedType) else self.steps_of(rtype, ctx, action)
        row = self.row_of(action, "intent", steps[0].name if steps else "", number, desired)
        (memory.if_current.nodes if first else memory.always.moved).append(row)
        if first and makes and desired.metadata and record.id not in memory.if_current.metadata:
            memory.note_metadata(record.id, desired.metadata, if_current=True)
            ctx.metadata = desired.metadata
        if isinstance(rtype, NestedType):  # the request to the nested stack is committed with it
            return
        await self.intent.until_committed()

    def row_of(
        self, action: Action, phase: str, step: str, number: int, desired: Desired
    ) -> AttemptRow:
        """Return the row from which the next owner can continue this attempt."""
        return AttemptRow(
            self.record_id,
            self.traversal,
            self.kind.value,
            action.value,
            phase,
            step,
            number,
            self.began_at,
            desired,
        )

    async def run_update(
        self,
        rtype: ResourceType,
        ctx: ResourceContext,
        desired: Desired,
        number: int,
        *,
        row: AttemptRow | None = None,
    ) -> None:
        """Run the steps of an update as `run_steps` does; note if the cloud refused it, so that it
        changed nothing.

        If the refusal is no proof that the object is still there, the next update looks at it; but
        then the object has no values of this update either.
        """
        self._writes.possible |= row is not None or isinstance(rtype, UsesUsers)
        ctx.cloud = WatchedCloud(ctx.cloud, self._writes)
        try:
            await self.run_steps(rtype, ctx, Action.UPDATE, desired, number, row=row)
        except CloudFault as fault:
            if self._writes.refused(fault):
                doubtful = fault.status in DOUBTFUL or await _gone_or_unknown(rtype, ctx)
                self.attempted = self._as_before(desired) if doubtful else None
            raise

    def _as_before(self, desired: Desired) -> Desired:
        """Return the state that the object had before an update to `desired` that changed
        nothing.
        """
        recorded = self.record.held
        before = recorded.properties if recorded.attempted is None else recorded.attempted
        return replace(desired, properties=before)

    async def run_steps(
        self,
        rtype: ResourceType,
        ctx: ResourceContext,
        action: Action,
        desired: Desired,
        number: int,
        *,
        first: Callable[[], Awaitable[None]] | None = None,
        row: AttemptRow | None = None,
    ) -> None:
        """Run all steps of an action, or the rest of them from the step in the `row` of an earlier
        owner.

        `first` runs before the call of the first step. A stop may interrupt `first`, so the search
        for the result of an earlier call comes before it.
        """
        steps = self.steps_of(rtype, ctx, action)
        at, phase = 0, ""
        if row is not None:
            names = [step.name for step in steps]
            at = names.index(row.step) if row.step in names else 0
            phase = row.phase
        for i in range(at, len(steps)):
            step, resumed = steps[i], phase if i == at else ""
            if resumed == "accepted":
                await self._poll(rtype, step, ctx)
                continue
            if i > at:
                self._note(action, "intent", step, number, desired)
                await self.intent.until_committed()
            effect = None
            if resumed == "intent":
                effect = await self.calls.looked_for(rtype, step, ctx)
                # a call of an earlier engine may still be in transit, or may have been sent twice
                self.calls.orphaned(rtype, ctx, "the engine that sent the call died")
                if effect is None:  # the next owner must know of both calls
                    await self.intent.until_committed()
            if effect is None:
                lost = resumed == "intent" and action is Action.CREATE and step.find is None
                if first is not None and i == 0 and not lost:
                    await first()
                effect = await self.calls.call(rtype, step, ctx, lost=lost)
            self.calls.absorb(effect, ctx)
            self._note(action, "accepted", step, number, desired)
            await self._poll(rtype, step, ctx)

    async def _poll(self, rtype: ResourceType, step: Step, ctx: ResourceContext) -> None:
        """Poll until a step is complete. If the object of a create is not found, the answer to the
        create may have shown a wrong id, so there may be an orphan.
        """
        try:
            await self.calls.poll(step, ctx)
        except NotFound as fault:
            self.calls.orphaned(rtype, ctx, fault.message)
            raise

    def _note(self, action: Action, phase: str, step: Step, number: int, desired: Desired) -> None:
        row = self.row_of(action, phase, step.name, number, desired)
        self.owned.memory.always.moved.append(row)

    def steps_of(
        self, rtype: ResourceType, ctx: ResourceContext, action: Action
    ) -> tuple[Step, ...]:
        """Return the type's steps for an action.

        If the deletion policy is Snapshot, a delete first creates a snapshot.
        """
        record = self.record
        snapshot = self.kind is NodeKind.CLEANUP and record.held.deletion_policy == "Snapshot"
        if snapshot and isinstance(rtype, SnapshotAtDelete) and record.held.reference is not None:
            return rtype.snapshot_delete_steps(ctx)
        return action_steps(rtype, action, ctx)

    # -- ends ------------------------------------------------------------------------------

    async def succeed(
        self, rtype: ResourceType, ctx: ResourceContext, desired: Desired, action: Action
    ) -> Outcome:
        """Record that the action succeeded and return the outcome of a node that has no further
        work.
        """
        return Done(await self.conclude(rtype, ctx, desired, action), action)

    async def conclude(
        self, rtype: ResourceType, ctx: ResourceContext, desired: Desired, action: Action
    ) -> Record:
        """Record that the action succeeded, with the current attributes; return the new version of
        the record.
        """
        owned = self.owned
        await self.calls.sweep(rtype, ctx)
        # the message contains no outputs
        before = self.record.held if self.child.unchanged else None
        current = before.attributes if before else None
        reference = before.reference if before else None
        guarded = before.guarded_outputs if before else self.child.guarded
        hidden = before.hidden_outputs if before else self.child.hidden
        attributes = await attributes_of(owned, self.record, rtype, ctx, current)
        now_held = held(desired, attributes, reference or rtype.reference(ctx))
        ended = self.record.having(
            action=action,
            status=Status.COMPLETE,
            reason=USUAL_REASON,
            traversal=self.traversal,
            replaced_by=self.record.replaced_by if self.is_over() else None,
            requires=desired.requires,
            held=now_held.having(guarded_outputs=guarded, hidden_outputs=hidden),
            updated_at=owned.tools.clock.now(),
        )
        owned.memory.put(ended, full=True)
        owned.memory.event(ended, Status.COMPLETE)
        self.end_row()
        return ended

    def fail(self, failure: ResourceFailure) -> str | None:
        """Record a failure, and return the reason to show at the stack; None if the record no
        longer exists.
        """
        record = self.owned.memory.records.get(self.record_id)
        if record is None:
            return None
        if self.kind is NodeKind.CLEANUP:
            record = record.having(action=Action.DELETE)
        reason = failure.reason(record.name)
        self.end_badly(record, reason)
        return f"Resource {record.action} failed: {reason}"

    def end_badly(self, record: Record, reason: str) -> None:
        """Store `record` with the status FAILED and the reason, and end the attempt.

        An event is added only if `record` is IN_PROGRESS.
        """
        memory = self.owned.memory
        failed = record.having(
            status=Status.FAILED, reason=reason, updated_at=self.owned.tools.clock.now()
        )
        if (tried := self.attempted) is not None:
            secret = tuple(sorted({*failed.held.secret, *tried.secret}))
            guarded = tuple(sorted({*failed.held.guarded, *tried.guarded}))
            after = failed.held.having(attempted=tried.properties, secret=secret, guarded=guarded)
            failed = failed.having(held=after)
        memory.put(failed, full=self.attempted is not None)
        if record.status is Status.IN_PROGRESS:  # not in the pause between two attempts
            memory.event(failed, Status.FAILED, reason)
        self.end_row()

    def end_row(self) -> None:
        """Delete the row of the attempt, and mark the messages from its nested stack as read."""
        memory = self.owned.memory
        if not self.intent.committed:  # it ends before its intent is committed
            nodes = memory.if_current.nodes
            nodes[:] = [row for row in nodes if row.resource_id != self.record_id]
        memory.always.ended.append(self.record_id)
        if self.child.message is not None:
            memory.always.handled.append(self.child.message)
        memory.always.handled += [message for message, _ in self.child.early]

    def start_over(self) -> None:
        """Forget the completed action, so that the node can begin another action with its own
        intent.
        """
        self.intent.begun = self.intent.committed = False


async def _gone_or_unknown(rtype: ResourceType, ctx: ResourceContext) -> bool:
    """Return whether an object that refused an update is gone, in an error state, or unreadable.

    Some services refuse the update of an object that they do not have with the status 400.
    """
    try:
        return await is_lost(rtype, ctx)
    except CloudFault:
        return True


def _unfinished(desired: Desired) -> Held:
    """Return the values that a record stores before its first success, without a definition."""
    return Held(
        kind=desired.kind,
        parts=desired.parts,
        written=desired.written,
        properties=desired.properties,
        secret=desired.secret,
        guarded=desired.guarded,
        deletion_policy=desired.deletion_policy,
    )


def held(desired: Desired, attributes: Mapping[str, Any], reference: str | None) -> Held:
    """Return the definition and the values that a record stores after a success."""
    return _unfinished(desired).having(
        definition=desired.definition, attributes=attributes, reference=reference
    )
