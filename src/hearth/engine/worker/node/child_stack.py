"""A nested stack as a resource: the commit that starts the node also requests the nested operation.

Nothing is polled. At the end of its operation the nested stack sends its parent a message, and the
commit that ends the node marks the message as read.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault
from hearth.engine.worker.failure import ResourceFailure, Stopped
from hearth.engine.worker.known.aim import DOCUMENT
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.calls import FOREVER
from hearth.engine.worker.node.members import balance, read_members
from hearth.model.json_text import parse_json
from hearth.model.state import Action, Status
from hearth.resources.base import Child, ResourceContext
from hearth.resources.capabilities import NestedType
from hearth.store import claim
from hearth.store.accept import NewStack, OperationRequest
from hearth.store.messages import ChildEnded
from hearth.store.rows import Document, Options, Revision

MAKES = (Action.CREATE, Action.ADOPT)
PLACES = ("resources.", "resources[", "Resources.", "Resources[")
Begin = Callable[[], Awaitable[None]]
Found = TypeVar("Found")


class ChildStack:
    """Carries out one action on the nested stack of an attempt's record."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._link = link = attempt.child
        self._owned = attempt.owned
        self._child_id = attempt.record.physical_id
        self._child: Child | None = None  # as it was requested; not known after a takeover
        self._cancelled = False
        self._retains = False  # whether a delete leaves its objects in the cloud
        self._heard: asyncio.Future[ChildEnded] = asyncio.get_running_loop().create_future()
        link.waits, link.unchanged = self, False
        early, link.early = link.early, []
        for message, ended in early:
            if not self.heard(message, ended):
                self._owned.memory.always.handled.append(message)

    async def carry_out(
        self, rtype: NestedType, ctx: ResourceContext, action: Action, begin: Begin | None = None
    ) -> None:
        """Request an operation of the nested stack and wait for its end.

        `begin` adds the intent, which is committed together with the request. Without `begin`, an
        earlier owner has already committed both. A group may need several requests, one for each
        batch. Afterwards `ctx` has the outputs and the members of the nested stack. Raises
        ResourceFailure if the operation fails, CloudFault if its preparation does, and Stopped.
        """
        if begin is not None:
            exists = action in MAKES or await self._look(rtype, ctx, action)
            refused = await self._prepare(rtype, ctx, action) if exists else None
            first = not self._attempt.intent.committed
            # read before the intent changes the record
            self._retains = await self._leaves_objects()
            await begin()
            if refused is not None:
                raise refused
            requested = self._ask(rtype, ctx, action, exists=exists, first=first)
            await self._attempt.intent.until_committed()
            if not requested:
                return
        elif action is Action.DELETE and not await is_there(self._attempt):
            return  # it does not exist, so there is nothing to wait for
        ended = await self._wait()
        if rtype.regroups and action in (Action.CREATE, Action.UPDATE):
            ended = await self._regroup(rtype, ctx, ended)
        if ended.status is not Status.COMPLETE:
            raise _failure(ended)
        self._link.unchanged = ended.outputs is None
        self._link.guarded, self._link.hidden = ended.guarded, ended.hidden
        ctx.outputs = ended.outputs or {}
        ctx.members = ended.members or {}
        if action in (Action.CREATE, Action.UPDATE):
            metadata = rtype.metadata_after(ctx)
            if metadata is not None:
                self._owned.memory.note_metadata(ctx.record_id, metadata)

    async def _leaves_objects(self) -> bool:
        """Return whether a delete of the nested stack leaves the objects of its resources in the
        cloud.

        If an earlier delete failed, the row of the nested stack shows whether it was an abandon.
        """
        record, aim, child_id = self._attempt.record, self._owned.aim, self._child_id
        if not (record.leaving and self._owned.memory.stack.options.abandon) or child_id is None:
            return aim.retains(record)
        child = await self._owned.tools.store.read(lambda tx: claim.row(tx, child_id))
        return child is None or not child.deletes_objects

    async def _look(self, rtype: NestedType, ctx: ResourceContext, action: Action) -> bool:
        """Return whether the nested stack exists; for an update of a group, also read its
        members.
        """
        if self._child_id is None or not await is_there(self._attempt):
            return False
        if action is Action.UPDATE and rtype.regroups:
            await read_members(self._owned, ctx)
        return True

    # -- one thing after the other -----------------------------------------------------------

    async def _regroup(
        self, rtype: NestedType, ctx: ResourceContext, ended: ChildEnded
    ) -> ChildEnded:
        """Request one batch of a group after another; return the end of the last one."""
        while True:
            failed = ended.status is not Status.COMPLETE
            if failed or self._child is None or self._child.has_next or rtype.balancers(ctx):
                await read_members(self._owned, ctx)
                await balance(self._owned, rtype, ctx)
            if failed or (self._child is not None and not self._child.has_next):
                return ended
            await rtype.prepare(ctx)
            child = _asked(rtype.next_child, ctx)
            if child is None:
                return ended
            await self._pause(child.pause_s)
            await balance(self._owned, rtype, ctx, without=child.touched)
            self._may_go_on()
            self._put_update(rtype, ctx, child, first=False, further=True)
            if self._link.message is not None:
                self._owned.memory.always.handled.append(self._link.message)
                self._link.message = None
            self._heard = asyncio.get_running_loop().create_future()
            await self._attempt.intent.until_committed()
            ended = await self._wait()

    async def _prepare(
        self, rtype: NestedType, ctx: ResourceContext, action: Action
    ) -> Exception | None:
        """Prepare the desired nested stack; return the exception if that fails.

        Before an update, the members that will change are removed from the load balancers.
        """
        if action not in (*MAKES, Action.UPDATE):
            return None
        try:
            await rtype.prepare(ctx)
            if action is Action.UPDATE and rtype.balancers(ctx):
                touched = _asked(rtype.child, ctx).touched
                await balance(self._owned, rtype, ctx, without=touched)
        except (CloudFault, ResourceFailure) as problem:
            return problem
        return None

    async def _pause(self, seconds: float) -> None:
        """Pause between two batches. Raises Stopped if no further batch may start."""
        if seconds:
            await self._attempt.calls.pause(seconds)
        self._may_go_on()

    def _may_go_on(self) -> None:
        """Raise Stopped if no further batch may start."""
        self._attempt.calls.not_stopped()
        if self._cancelled:
            raise Stopped("user triggered cancel")
        if self._attempt.is_over():
            raise Stopped("a newer operation of the stack continues the update of this group")

    def _ask(
        self, rtype: NestedType, ctx: ResourceContext, action: Action, *, exists: bool, first: bool
    ) -> bool:
        """Add the request to the changes of the next commit; return False if no request is needed.

        `exists` is true if the nested stack exists. `first` is true if the request is committed
        together with the intent. Raises ResourceFailure if the nested stack is missing or its
        definition is invalid.
        """
        owned = self._owned
        match action:
            case _ if action in MAKES:
                self._create(rtype, ctx, action)
                return True
            case Action.DELETE if not exists:
                return False
            case _ if not exists:
                raise ResourceFailure(
                    "EntityNotFound", f"the nested stack {self._child_id} no longer exists"
                )
            case Action.UPDATE:
                self._put_update(rtype, ctx, _asked(rtype.child, ctx), first=first)
                return True
            case Action.DELETE:
                options = Options(abandon=self._retains)
                operation = OperationRequest(
                    action, parent_traversal=self._link.asked_by, options=options
                )
            case _:
                operation = OperationRequest(action, parent_traversal=self._link.asked_by)
        assert self._child_id is not None
        changes = owned.memory.if_current if first else owned.memory.always
        changes.operate.append((self._child_id, operation))
        return True

    def _create(self, rtype: NestedType, ctx: ResourceContext, action: Action) -> None:
        attempt, owned = self._attempt, self._owned
        deepest = owned.tools.programs.limits.max_nested_stack_depth
        if owned.memory.stack.depth >= deepest:
            raise ResourceFailure("StackValidationFailed", f"Recursion depth exceeds {deepest}.")
        if action is Action.ADOPT and rtype.regroups:
            ctx.definitions = _definitions(json.loads(ctx.data[DOCUMENT]))
        child = self._child = _asked(rtype.child, ctx)
        self._child_id = owned.tools.new_id()
        ctx.physical_id = self._child_id
        revision = self._revision(rtype, ctx, child)
        self._keep(ctx, child)
        owned.memory.put(attempt.record.having(physical_id=self._child_id), if_current=True)
        owned.memory.if_current.create.append(
            NewStack(
                id=self._child_id,
                project_id=owned.memory.stack.project_id,
                name=ctx.physical_name,
                revision=revision,
                timeout_mins=child.timeout_mins or owned.memory.stack.timeout_mins,
                credential_id=owned.memory.stack.credential_id,
                user_project_id=owned.memory.stack.user_project_id,
                creator=owned.memory.stack.creator,
                parent=owned.memory.stack,
                parent_record=attempt.record_id,
                action=action,
            )
        )

    def _put_update(
        self,
        rtype: NestedType,
        ctx: ResourceContext,
        child: Child,
        *,
        first: bool,
        further: bool = False,
    ) -> None:
        assert self._child_id is not None
        owned = self._owned
        converge = owned.memory.stack.options.converge
        self._child = child
        self._keep(ctx, child, if_current=first)
        operation = OperationRequest(
            Action.UPDATE,
            self._revision(rtype, ctx, child),
            timeout_mins=child.timeout_mins,
            parent_traversal=self._link.asked_by,
            options=Options(converge=converge, further=further),
            stands=self._stands(rtype),
        )
        changes = owned.memory.if_current if first else owned.memory.always
        changes.operate.append((self._child_id, operation))

    def _stands(self, rtype: NestedType) -> bool:
        """Return whether the nested stack needs no operation if its revision is unchanged."""
        owned, record = self._owned, self._attempt.record
        module = owned.aim.program.resources[record.name].child
        if module is None or owned.tools.plugins:
            return False
        has_attributes = owned.aim.reads(record.name, rtype) <= record.held.attributes.keys()
        return has_attributes and owned.tools.programs.leaves_alone(module)

    def _keep(self, ctx: ResourceContext, child: Child, *, if_current: bool = True) -> None:
        """Store the private data that the resource type returned with the new definition of the
        nested stack.
        """
        changes = dict(child.data)
        if DOCUMENT in ctx.data:
            changes[DOCUMENT] = None
        if changes:
            memory = self._owned.memory
            ctx.data = memory.note_data(ctx.record_id, changes, if_current=if_current)

    def _revision(self, rtype: NestedType, ctx: ResourceContext, child: Child) -> Revision:
        aim = self._owned.aim
        name = self._attempt.record.name
        revision = self._owned.tools.programs.child_revision(
            aim.program, aim.program.resources[name], ctx, child, aim.revision.exports
        )
        document: Document | None = None
        if (text := ctx.data.get(DOCUMENT)) is not None and ctx.action is Action.ADOPT:
            late = aim.adopts_late()
            document = Document(Action.ADOPT, json.loads(text)["resources"], late)
        elif name in aim.restored:
            inner = aim.restored[name].get("resources", {})
            document = Document(Action.RESTORE, inner)
        source = self._attempt.attempted or self._attempt.record.held
        secret = bool(source.secret) or aim.revision.facade.get("secret", False)
        facade = dict(revision.facade)
        if secret:
            facade |= {"secret": True, "hidden": aim.hidden}
        return replace(revision, document=document, facade=facade)

    async def _wait(self) -> ChildEnded:
        attempt = self._attempt
        attempt.calls.rest(FOREVER)  # until the message from the nested stack
        try:
            while not self._heard.done():
                stopped = await attempt.calls.stop_or(self._heard)
                if stopped is not None:
                    self.cancel()
                    raise Stopped(stopped)
        finally:
            attempt.calls.rests_until = None
        return self._heard.result()

    def heard(self, message_id: int, ended: ChildEnded) -> bool:
        """Accept the end of an operation of the nested stack; return False if this action did not
        request it.

        The message is marked as read when the end of the resource's action is committed.
        """
        if ended.asked_by != self._link.asked_by or self._heard.done():
            return False
        self._heard.set_result(ended)
        self._link.message = message_id
        return True

    def cancel(self) -> None:
        """Request that the nested stack starts no further nodes."""
        self._cancelled = True
        if self._child_id is not None and not self._heard.done():
            self._owned.memory.always.cancel.append((self._child_id, False))


def _definitions(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definitions of the members of an adopted group, by name."""
    template = document.get("template") or {}
    try:
        parsed = parse_json(template) if isinstance(template, str) else template
        resources = parsed.get("resources", {})
        definitions = {name: resources.get(name, {}) for name in document["resources"]}
    except (ValueError, TypeError, LookupError, AttributeError):
        message = "the adopted group needs a template in JSON and resources"
        raise ResourceFailure("StackValidationFailed", message) from None
    return definitions


def _failure(ended: ChildEnded) -> ResourceFailure:
    """Convert the failure of a nested stack to a failure of its resource in the parent stack.

    The text keeps the path inside the nested stack, to which the parent adds its own path. Source:
    docs/spec/engine.md, 31.
    """
    reason = ended.failure or ended.reason
    head, _, cause = reason.partition(" failed: ")
    text = cause if cause and head.startswith("Resource ") else reason
    error, colon, tail = text.partition(": ")
    if colon and tail.startswith(PLACES):
        return ResourceFailure(error, tail, nested=True)
    if tail and error.isidentifier() and error[0].isupper():  # a failure of the stack as a whole
        return ResourceFailure(error, tail)
    return ResourceFailure("Error", text)


def _asked(ask: Callable[[ResourceContext], Found], ctx: ResourceContext) -> Found:
    """Call a method of a resource type; convert a ValueError to a failure of the resource."""
    try:
        return ask(ctx)
    except ValueError as problem:
        raise ResourceFailure("ValueError", str(problem)) from None


async def is_there(attempt: Attempt) -> bool:
    """Return whether the nested stack of the attempt's record exists."""
    child_id = attempt.record.physical_id
    if child_id is None or child_id == attempt.child.seen:
        return child_id is not None
    alive = await attempt.owned.host.is_alive(child_id)
    attempt.child.seen = child_id if alive else None
    return alive


async def nested_failed(attempt: Attempt) -> bool:
    """Return whether the nested stack itself failed a check: then an update repairs it."""
    child_id = attempt.record.physical_id
    if child_id is None:
        return False
    state = await attempt.owned.tools.store.read(lambda tx: claim.state(tx, child_id))
    return state == (Action.CHECK, Status.FAILED)
