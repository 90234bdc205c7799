"""The caller and the stack of a request, and its policy checks."""

from collections.abc import Callable
from typing import TypeVar, cast

from starlette.requests import Request

from hearth.api.endpoint import Endpoint
from hearth.model.problem import EntityNotFound, HTTPBadRequest, Rejected, rejection
from hearth.service.caller import Caller
from hearth.service.problems import HTTPForbidden
from hearth.service.services import Services
from hearth.service.stacks.find import find_stack
from hearth.store.database import Tx
from hearth.store.rows import StackRow

T = TypeVar("T")


def services_of(request: Request) -> Services:
    """Return the objects that the use cases work with, such as the store and the policy."""
    return cast(Services, request.app.state.services)


def caller_of(request: Request) -> Caller:
    """Return the caller of a request."""
    return cast(Caller, request.state.caller)


def admit(request: Request, endpoint: Endpoint) -> None:
    """Raise Rejected if the caller may not use this endpoint.

    The caller must belong to the project in the path, and the policy rule must allow the request.
    Administrators may use all projects, and stack domain users may use endpoints with `guest`.
    """
    if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
        message = "The URL contains a null character."  # not all databases can search for it
        raise rejection(HTTPBadRequest, message)
    caller, policy = caller_of(request), services_of(request).policy
    tenant = request.path_params["tenant_id"]
    if not caller.project_id:
        raise _forbidden("The token is not scoped to a project.")
    if tenant != caller.project_id and not (
        (endpoint.guest and caller.guest) or policy.is_admin(caller)
    ):
        raise _forbidden(f"You are not authorized to access project {tenant}.")
    if endpoint.rule is not None:
        policy.demand(endpoint.rule, caller)


def demand(request: Request, rule: str) -> None:
    """Check a further policy rule, which depends on the content of the request. Raises Rejected."""
    services_of(request).policy.demand(rule, caller_of(request))


def _forbidden(message: str) -> Rejected:
    return rejection(HTTPForbidden, message)


def scope_of(request: Request) -> str | None:
    """Return the project to which searches by id are limited; None, for all projects, if the caller
    is an administrator.
    """
    if services_of(request).policy.is_admin(caller_of(request)):
        return None
    return str(request.path_params["tenant_id"])


async def stack_of(
    request: Request, *, deleted: bool = False, also: Callable[[Tx, StackRow], None] | None = None
) -> StackRow:
    """Return the stack in the path. Raises Rejected unless its name and id belong together.

    Stack domain users may use the path with their own project or with the owner's project, and find
    only the stack to which they belong. If `deleted` is true, a deleted stack is also found. For
    `also`, see `find_stack`.
    """
    caller, path = caller_of(request), request.path_params
    row = await find_stack(
        services_of(request),
        caller,
        path["tenant_id"],
        path["stack_id"],
        deleted=deleted,
        anywhere=True,
        also=also,
    )
    if row.id != path["stack_id"] or row.name != path["stack_name"]:
        raise rejection(EntityNotFound, "Stack", path["stack_name"])
    if caller.guest and row.user_project_id != caller.project_id:
        raise _forbidden("You are not authorized to complete this action.")
    return row


async def stack_with(
    request: Request, look: Callable[[Tx, StackRow], T], *, deleted: bool = False
) -> tuple[StackRow, T]:
    """Return the stack in the path, and what `look` reads about it, if possible in the same
    transaction. For `deleted`, and the errors, see `stack_of`.
    """
    readings: list[T] = []

    def also(tx: Tx, row: StackRow) -> None:
        readings[:] = [look(tx, row)]

    row = await stack_of(request, deleted=deleted, also=also)
    if not readings:  # the stack belongs to another project
        return row, await services_of(request).store.read(lambda tx: look(tx, row))
    return row, readings[0]
