"""The actions of the query API.

Each action gets the request and returns the content of the result element. The table ACTIONS lists
all actions.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hearth.api.cfn import view
from hearth.api.cfn.arn import named, stack_arn
from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import members
from hearth.api.v1.parse import boolean, integer
from hearth.model.problem import (
    EntityNotFound,
    InvalidTemplateSection,
    Rejected,
    StackValidationFailed,
)
from hearth.service.caller import Caller
from hearth.service.problems import ResourceNotFound
from hearth.service.reading.describe_resource import describe_resource
from hearth.service.reading.outputs import outputs
from hearth.service.reading.redact import sight_of, without_hidden_defaults
from hearth.service.services import Services
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.find import find_stack, list_stacks
from hearth.service.stacks.remote_templates import template_at
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.template_text import as_object
from hearth.service.stacks.update import cancel_update, delete_stack, update_stack
from hearth.service.stacks.validate import validate
from hearth.store import reads
from hearth.store.reads import EventFilter, StackFilter
from hearth.store.rows import StackRow
from hearth.template import Program

NO_ESTIMATE = "about:blank"
"""The URL in responses to EstimateTemplateCost, because there is no price list."""
EVENTS_MAX = 1000
"""The maximum number of events per stack in a response; these are the newest, as there are no
pages.
"""
DESCRIBED_BYTES_MAX = 32 * 1024 * 1024  # of all stacks in a response, with their outputs
VALIDATED = (StackValidationFailed, InvalidTemplateSection, EntityNotFound)
"""The problems that ValidateTemplate reports in its result."""
ROLLBACK_OFF = {"DO_NOTHING": True, "ROLLBACK": False, "DELETE": False}
"""The value of `disable_rollback` for each value of OnFailure. No failed stack is deleted."""


class Request(Struct, frozen=True):
    """The caller and the parameters of a request to the query API."""

    services: Services
    caller: Caller
    params: Mapping[str, str]

    def needed(self, name: str) -> str:
        """Return the value of a parameter. Raises CfnError if it is missing or empty."""
        value = self.params.get(name)
        if not value:
            raise CfnError("MissingParameter", name)
        return value

    async def stack(self, *, deleted: bool = False) -> StackRow:
        """Return the stack in the parameter StackName, which is a name, an id or an ARN.

        If `deleted` is true, a deleted stack is also found. Raises CfnError if the parameter is
        missing, and Rejected if there is no such stack.
        """
        identity = self.needed("StackName")
        name = named(identity)
        found = await find_stack(
            self.services,
            self.caller,
            self.caller.project_id,
            identity if name is None else name.stack_id,
            deleted=deleted,
        )
        if name is not None and not name.fits(found):
            raise Rejected([EntityNotFound(None, "Stack", identity)])
        return found

    async def program(self, row: StackRow) -> Program | None:
        """Return the stack's program, or None if it no longer compiles."""
        try:
            return (await self.services.program(row))[1]
        except Rejected:
            return None


async def list_all(asked: Request) -> view.Tree:
    """ListStacks: the stacks of the project, without nested and deleted ones."""
    rows = await _own(asked)
    return {"StackSummaries": [view.summary(row, await asked.program(row)) for row in rows]}


async def describe(asked: Request) -> view.Tree:
    """DescribeStacks: the stack in StackName, or all stacks, with parameters and outputs."""
    one = asked.params.get("StackName")
    rows = [await asked.stack(deleted=True)] if one else await _own(asked)
    found, size = [], 0
    for row in rows:
        found.append(await _stack(asked, row))
        size += len(msgspec.json.encode(found[-1], enc_hook=str)) if len(rows) > 1 else 0
        if size > DESCRIBED_BYTES_MAX:
            words = f"the stacks have more than {DESCRIBED_BYTES_MAX} bytes; name one in StackName"
            raise CfnError("InvalidParameterValue", words)
    return {"Stacks": found}


async def _own(asked: Request) -> list[StackRow]:
    """Return the stacks of the caller's project, without nested and deleted ones."""
    stacks = StackFilter(project_id=asked.caller.project_id)
    return list((await list_stacks(asked.services, stacks, count=False))[0])


async def _stack(asked: Request, row: StackRow) -> view.Tree:
    program = await asked.program(row)
    sees = sight_of(asked.services, asked.caller).hidden
    there = program is not None and row.deleted_at is None
    found = await outputs(asked.services, asked.caller, row) if there else ()
    return view.stack(row, program, found, sees_hidden=sees)


async def create(asked: Request) -> view.Tree:
    """CreateStack: begin the create of a stack and return its ARN."""
    name, stack_request = asked.needed("StackName"), await _stack_request(asked)
    return {
        "StackId": stack_arn(await create_stack(asked.services, asked.caller, name, stack_request))
    }


async def update(asked: Request) -> view.Tree:
    """UpdateStack: begin an update of a stack and return its ARN."""
    row, stack_request = await asked.stack(), await _stack_request(asked)
    await update_stack(asked.services, asked.caller, row, stack_request)
    return {"StackId": stack_arn(row)}


async def _stack_request(asked: Request) -> StackRequest:
    """Return the template, the parameters and the options of the request. Raises CfnError and
    Rejected.
    """
    params = asked.params
    parameters: dict[str, str] = {}
    for one in members(params, "Parameters"):
        if "ParameterKey" not in one or "ParameterValue" not in one:
            raise CfnError(
                "MissingParameter",
                "each member of Parameters needs ParameterKey and ParameterValue",
            )
        if one["ParameterKey"] in parameters:
            words = f"Parameters has {one['ParameterKey']} twice"
            raise CfnError("InvalidParameterValue", words)
        parameters[one["ParameterKey"]] = one["ParameterValue"]
    stack_request = StackRequest(template=await _template(asked), parameters=parameters)
    if timeout := params.get("TimeoutInMinutes"):
        stack_request = replace(
            stack_request, timeout_mins=integer(timeout, "TimeoutInMinutes") or None
        )
    return replace(stack_request, disable_rollback=_rollback_off(params))


def _rollback_off(params: Mapping[str, str]) -> bool | None:
    """Return the setting in DisableRollback or OnFailure; None if neither is given. Raises
    CfnError.
    """
    off, failure = params.get("DisableRollback"), params.get("OnFailure")
    if off and failure:
        raise CfnError("InvalidParameterCombination", "DisableRollback and OnFailure")
    if failure:
        if failure not in ROLLBACK_OFF:
            words = f"OnFailure: expected one of {', '.join(ROLLBACK_OFF)}, got {failure}"
            raise CfnError("InvalidParameterValue", words)
        return ROLLBACK_OFF[failure]
    return boolean(off, "DisableRollback") if off else None


async def _template(asked: Request) -> str:
    """Return the text of the template, sent in the request or fetched from a URL.

    The URL is in TemplateUrl, or in TemplateURL as AWS spells it.
    """
    params = asked.params
    if body := params.get("TemplateBody"):
        return body
    if url := params.get("TemplateUrl") or params.get("TemplateURL"):
        return await template_at(asked.services, url)
    raise CfnError("MissingParameter", "TemplateBody or TemplateUrl")


async def cancel(asked: Request) -> view.Tree:
    """CancelUpdateStack: cancel the update and roll back."""
    await cancel_update(asked.services, await asked.stack(), rollback=True)
    return {}


async def delete(asked: Request) -> str:
    """DeleteStack: begin the delete of a stack."""
    await delete_stack(asked.services, asked.caller, await asked.stack())
    return ""


async def template(asked: Request) -> view.Tree:
    """GetTemplate: the template as JSON, even if it was sent as YAML."""
    row = await asked.stack(deleted=True)
    revision = await asked.services.store.read(lambda tx: reads.revision_of(tx, row))
    plain = await as_object(asked.services, row, revision.template)
    exports = sight_of(asked.services, asked.caller).secrets
    return {"TemplateBody": plain if exports else without_hidden_defaults(plain)}


async def check(asked: Request) -> view.Tree | str:
    """ValidateTemplate: the declarations of a template.

    As in Heat, failed validations such as an unknown type are the text of the result, with the
    status 200. A text that is no template, an unknown version and a wrong reference are refused.
    """
    stack_request = StackRequest(template=await _template(asked))
    try:
        found = await validate(asked.services, asked.caller, stack_request, show_nested=False)
    except Rejected as rejected:
        if not all(isinstance(problem, VALIDATED) for problem in rejected.problems):
            raise
        return "\n".join(problem.message for problem in rejected.problems)
    return view.validated(found)


async def estimate(asked: Request) -> view.Tree:
    """EstimateTemplateCost: always the same URL, because there is no price list."""
    return {"Url": NO_ESTIMATE}


async def events(asked: Request) -> view.Tree:
    """DescribeStackEvents: the last 1000 events of one stack or of each stack, newest first."""
    one = asked.params.get("StackName")
    rows = [await asked.stack(deleted=True)] if one else await _own(asked)
    shown = []
    for row in rows:
        newest = partial(reads.list_events, criteria=EventFilter((row.id,), limit=EVENTS_MAX))
        shown += [(row, found.event) for found in await asked.services.store.read(newest)]
    shown.sort(key=lambda pair: pair[1].time, reverse=True)
    return {"StackEvents": [view.event(row, event) for row, event in shown]}


async def resource(asked: Request) -> view.Tree:
    """DescribeStackResource: a resource with its metadata, which servers poll."""
    identity, name = asked.needed("StackName"), asked.needed("LogicalResourceId")
    arn = named(identity)
    key = identity if arn is None else arn.stack_id
    found = await describe_resource(asked.services, asked.caller, key, name)
    if arn is not None and not arn.fits(found.stack):
        raise Rejected([EntityNotFound(None, "Stack", identity)])
    return {"StackResourceDetail": view.detail(found)}


async def resources(asked: Request) -> view.Tree:
    """DescribeStackResources: the resources of the stack in StackName, or of the stack that has the
    object in PhysicalResourceId.

    With LogicalResourceId, only the resource with that name.
    """
    row = await _stack_or_holder(asked)
    found = await asked.services.store.read(lambda tx: reads.records(tx, row.id))
    records = reads.in_charge(found)
    if name := asked.params.get("LogicalResourceId"):
        if name not in records:
            raise Rejected([ResourceNotFound(None, name, row.name)])
        records = {name: records[name]}
    shown = [
        view.described(row, record, await asked.services.description(row, record.name))
        for record in records.values()
    ]
    return {"StackResources": shown}


async def _stack_or_holder(asked: Request) -> StackRow:
    """Return the stack in StackName, or the only stack with the object in PhysicalResourceId.

    Raises CfnError and Rejected.
    """
    physical_id = asked.params.get("PhysicalResourceId")
    if not physical_id:
        return await asked.stack(deleted=True)
    if asked.params.get("StackName"):
        raise CfnError("InvalidParameterCombination", "StackName and PhysicalResourceId")
    project_id = asked.caller.project_id
    found = await asked.services.store.read(
        lambda tx: reads.stacks_with_physical_id(tx, project_id, physical_id)
    )
    if not found:
        raise Rejected([EntityNotFound(None, "Resource", physical_id)])
    if len(found) > 1:
        words = f"several stacks have a resource with the physical id {physical_id}"
        raise CfnError("InvalidParameterValue", words)
    return found[0]


async def resource_list(asked: Request) -> view.Tree:
    """ListStackResources: the resources of a stack, in short form."""
    row = await asked.stack(deleted=True)
    found = await asked.services.store.read(lambda tx: reads.records(tx, row.id))
    shown = [view.resource_summary(record) for record in reads.in_charge(found).values()]
    return {"StackResourceSummaries": shown}


class Action(Struct, frozen=True):
    """An action of the query API; `rule` is the policy rule that it needs."""

    name: str
    act: Callable[[Request], Awaitable[Any]]

    @property
    def rule(self) -> str:
        return f"cloudformation:{self.name}"


ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action("CancelUpdateStack", cancel),
        Action("CreateStack", create),
        Action("DeleteStack", delete),
        Action("DescribeStackEvents", events),
        Action("DescribeStackResource", resource),
        Action("DescribeStackResources", resources),
        Action("DescribeStacks", describe),
        Action("EstimateTemplateCost", estimate),
        Action("GetTemplate", template),
        Action("ListStackResources", resource_list),
        Action("ListStacks", list_all),
        Action("UpdateStack", update),
        Action("ValidateTemplate", check),
    )
}
