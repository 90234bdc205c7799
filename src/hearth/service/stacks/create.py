"""Create a stack; it may adopt existing objects."""

from msgspec.structs import replace

from hearth.model.state import Action, Status
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.services import Also, Services
from hearth.service.stacks import quotas
from hearth.service.stacks.documents import adoption
from hearth.service.stacks.request import StackRequest, check_name, checked, requested
from hearth.store import accept
from hearth.store.database import Tx
from hearth.store.rows import Document, Options, StackRow


async def create_stack(
    services: Services,
    caller: Caller,
    name: str,
    request: StackRequest,
    *,
    adopt: str | None = None,
    also: Also | None = None,
) -> StackRow:
    """Begin to create a stack and return it, in CREATE_IN_PROGRESS or ADOPT_IN_PROGRESS.

    `adopt` is the text of a document that describes a stack; the new stack adopts the objects in
    it. `also` makes further changes in the transaction that stores the stack. Raises Rejected if a
    check of the request fails, if a quota is used up, or if the name is already used.
    """
    check_name(name)
    document: Document | None = None
    if adopt is not None:
        request, document = await adoption(services, caller, adopt, request)
    revision = replace(await requested(services, caller, request), document=document)
    now = services.clock.now()
    new = accept.NewStack(
        id=services.new_id(),
        project_id=caller.project_id,
        name=name,
        revision=revision,
        timeout_mins=request.timeout_mins,
        disable_rollback=True if request.disable_rollback is None else request.disable_rollback,
        credential=(services.new_id(), requester(caller)),
        creator=caller.user_name,
        tags=request.tags or (),
        action=Action.CREATE if adopt is None else Action.ADOPT,
    )
    await checked(services, caller, sketch(new, now), revision)

    def transaction(tx: Tx) -> StackRow:
        quotas.within_quota(tx, services, caller)
        quotas.not_too_many_operations(tx, services, caller)
        row = accept.create(tx, new, now, services.new_id)
        if also is not None:
            also(tx, row)
        return row

    row = await services.store.run_once(transaction)
    services.bus.tell()
    return row


def sketch(new: accept.NewStack, now: float) -> StackRow:
    """Return a row for checks and previews of a new stack, which is not stored."""
    return StackRow(
        id=new.id,
        project_id=new.project_id,
        name=new.name,
        live_name=new.name,
        root_id=new.id,
        parent_id=None,
        parent_record=None,
        parent_traversal=None,
        depth=0,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        reason="",
        first_failure=None,
        revision=0,
        previous_revision=0,
        traversal="",
        started_at=now,
        deadline=None,
        options=Options(),
        timeout_mins=new.timeout_mins,
        disable_rollback=new.disable_rollback,
        owner=None,
        epoch=0,
        takeovers=0,
        due_at=None,
        credential_id=None,
        user_project_id=None,
        creator=new.creator,
        tags=",".join(new.tags) or None,
        created_at=now,
        updated_at=None,
        deleted_at=None,
    )
