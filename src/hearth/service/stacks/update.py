"""Update or delete a stack, or cancel its operation."""

import logging

from hearth.engine.core.rules import RequestKind, refusal
from hearth.model.problem import ImmutableParameterModified, Rejected, rejection
from hearth.model.state import Action
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.reading.revisions import stored_revision
from hearth.service.reading.world import known_world
from hearth.service.services import Also, Services
from hearth.service.stacks.begin_operation import begin_operation
from hearth.service.stacks.prediction import DesiredStack
from hearth.service.stacks.request import (
    StackRequest,
    checked,
    ignored_parameters,
    requested,
    revision_from,
)
from hearth.service.stacks.types_used import demand_types_of
from hearth.store import accept, reads
from hearth.store.rows import Options, StackRow
from hearth.template import Program

log = logging.getLogger(__name__)


async def update_stack(
    services: Services,
    caller: Caller,
    row: StackRow,
    request: StackRequest,
    also: Also | None = None,
    *,
    keep_credential: bool = False,
) -> StackRow:
    """Begin an update; return the stack, in UPDATE_IN_PROGRESS. A refused request changes nothing.

    `also` makes further changes in the transaction that begins the update. If `keep_credential` is
    true, the stack continues with the credential that it has, not with that of the caller. Raises
    Rejected if the state of the stack or a limit does not allow the update, or if a check of the
    request fails.
    """
    if problem := refusal(RequestKind.UPDATE, row.name, row.action, row.status):
        raise Rejected([problem])
    desired = await desired_stack(services, caller, row, request)
    if ignored := ignored_parameters(request, desired.revision):
        log.warning(
            "stack %s: ignored parameters that its template does not declare: %s",
            row.id,
            ", ".join(ignored),
        )
    tags = request.tags
    if tags is None and not request.existing:
        tags = ()
    operation = accept.OperationRequest(
        Action.UPDATE,
        desired.revision,
        timeout_mins=request.timeout_mins,
        disable_rollback=request.disable_rollback,
        tags=tags,
        requester=None if keep_credential else requester(caller),
        by=caller.user_name,
        options=_options(services, request),
        copy_of=request.revision,
    )
    return await begin_operation(services, caller, row, operation, also)


def _options(services: Services, request: StackRequest) -> Options | None:
    """Return the options of an update; None if they stay those of the last update."""
    return Options(converge=True) if services.limits.observe_on_update else request.options


async def desired_stack(
    services: Services, caller: Caller, row: StackRow, request: StackRequest
) -> DesiredStack:
    """Return the desired state of a stack after an update. Raises Rejected if a check fails."""
    current, before = await services.program(row)
    if request.revision is None:
        revision = await requested(services, caller, request, current)
    else:
        source = await stored_revision(services, row, request.revision)
        revision = await services.compute.run(
            revision_from,
            *(request, source, current),
            project=caller.project_id,
            characters=source.characters,
        )
    records = await services.store.read(lambda tx: reads.records(tx, row.id))
    world = known_world(services, reads.in_charge(records))
    timed = row.having(timeout_mins=request.timeout_mins or row.timeout_mins)
    program = await checked(services, caller, timed, revision, world=world, before=before)
    _immutable(before, program)
    options = _options(services, request) or row.options
    return DesiredStack(row, revision, program, records, observe=options.converge)


async def delete_stack(
    services: Services, caller: Caller, row: StackRow, also: Also | None = None
) -> None:
    """Begin to delete a stack, or let the delete in progress continue.

    `also` makes further changes in the transaction that begins the delete. Raises Rejected if the
    policy does not allow the caller to use a resource type of the stack.
    """
    await demand_types_of(services, caller, row)
    operation = accept.OperationRequest(
        Action.DELETE, requester=requester(caller), by=caller.user_name
    )
    await begin_operation(services, caller, row, operation, also)


async def cancel_update(services: Services, row: StackRow, *, rollback: bool) -> None:
    """Cancel the operation in progress. Raises Rejected if it cannot be cancelled.

    If `rollback` is true, the stack is rolled back.
    """
    now = services.clock.now()
    await services.store.run_once(lambda tx: accept.cancel(tx, row.id, rollback, now))
    services.bus.tell()


def _immutable(before: Program, after: Program) -> None:
    names = [
        name
        for name, parameter in after.parameters.items()
        if parameter.schema is not None
        and parameter.schema.immutable
        and name in before.parameters
        and before.parameters[name].value != parameter.value
    ]
    if names:
        raise rejection(ImmutableParameterModified, tuple(names))
