"""What every handler starts from."""

from typing import cast

from starlette.requests import Request

from hearth.model.problem import EntityNotFound, Rejected
from hearth.service.caller import Caller
from hearth.service.find_stack import find_stack
from hearth.service.house import House
from hearth.service.problems import HTTPForbidden
from hearth.store.rows import StackRow


def house_of(request: Request) -> House:
    return cast(House, request.app.state.house)


def caller_of(request: Request) -> Caller:
    """The caller, whose project must be the one in the path. Raises Rejected."""
    caller = cast(Caller, request.state.caller)
    tenant = request.path_params.get("tenant_id")
    if tenant is not None and tenant != caller.project_id and not caller.admin:
        words = f"You are not authorized to access project {tenant}."
        raise Rejected([HTTPForbidden(None, words)])
    return caller


def anyone_of(request: Request) -> Caller:
    """The caller, for handlers that let `stack_of(guest=True)` decide."""
    return cast(Caller, request.state.caller)


def member_of(request: Request) -> Caller:
    """A caller who is not a user of a stack's own project. Raises Rejected."""
    caller = caller_of(request)
    if caller.guest:
        raise Rejected([HTTPForbidden(None, "You are not authorized to complete this action.")])
    return caller


async def stack_of(request: Request, *, deleted: bool = False, guest: bool = False) -> StackRow:
    """The stack in the path; its name and id must belong together. Raises Rejected.

    With `guest` the users of the stack's own project reach it too, under either project's path.
    """
    caller = anyone_of(request)
    if not (guest and caller.guest):
        caller = member_of(request)
    path = request.path_params
    row = await find_stack(
        house_of(request), caller, path["tenant_id"], path["stack_id"], deleted=deleted
    )
    if row.id != path["stack_id"] or row.name != path["stack_name"]:
        raise Rejected([EntityNotFound(None, "Stack", path["stack_name"])])
    if caller.guest and row.user_project_id != caller.project_id:
        raise Rejected([HTTPForbidden(None, "You are not authorized to complete this action.")])
    return row
