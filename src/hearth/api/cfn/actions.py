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
from hearth.api.cfn.arn import parsed_arn, stack_arn
from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import members
from hearth.api.v1.parse import boolean, integer
from hearth.model.problem import (
    EntityNotFound,
    InvalidTemplateSection,
    Rejected,
    StackValidationFailed,
    rejection,
)
from hearth.service.caller import Caller
from hearth.service.problems import ResourceNotFound
from hearth.service.reading.describe_resource import describe_resource
from hearth.service.reading.outputs import outputs
from hearth.service.reading.redact import sight_of, without_hidden_defaults
from hearth.service.reading.resources import masks_all
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


class ActionRequest(Struct, frozen=True):
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
        arn = parsed_arn(identity)
        row = await find_stack(
            self.services,
            self.caller,
            self.caller.project_id,
            identity if arn is None else arn.stack_id,
            deleted=deleted,
        )
        if arn is not None and not arn.fits(row):
            raise rejection(EntityNotFound, "Stack", identity)
        return row

    async def program(self, row: StackRow) -> Program | None:
        """Return the stack's program, or None if it no longer compiles."""
        try:
            return (await self.services.program(row))[1]
        except Rejected:
            return None


async def list_all(request: ActionRequest) -> view.Tree:
    """ListStacks: the stacks of the project, without nested and deleted ones."""
    rows = await _project_stacks(request)
    return {"StackSummaries": [view.summary(row, await request.program(row)) for row in rows]}


async def describe(request: ActionRequest) -> view.Tree:
    """DescribeStacks: the stack in StackName, or all stacks, with parameters and outputs."""
    identity = request.params.get("StackName")
    rows = [await request.stack(deleted=True)] if identity else await _project_stacks(request)
    stacks, size = [], 0
    for row in rows:
        stacks.append(await _stack(request, row))
        size += len(msgspec.json.encode(stacks[-1], enc_hook=str)) if len(rows) > 1 else 0
        if size > DESCRIBED_BYTES_MAX:
            message = (
                f"the stacks have more than {DESCRIBED_BYTES_MAX} bytes; name one in StackName"
            )
            raise CfnError("InvalidParameterValue", message)
    return {"Stacks": stacks}


async def _project_stacks(request: ActionRequest) -> list[StackRow]:
    """Return the stacks of the caller's project, without nested and deleted ones."""
    stacks = StackFilter(project_id=request.caller.project_id)
    return list((await list_stacks(request.services, stacks, count=False))[0])


async def _stack(request: ActionRequest, row: StackRow) -> view.Tree:
    program = await request.program(row)
    sight = sight_of(request.services, request.caller)
    masked = await masks_all(request.services, sight, row)
    has_outputs = program is not None and row.deleted_at is None
    output_values = await outputs(request.services, request.caller, row) if has_outputs else ()
    return view.stack(row, program, output_values, masked=masked)


async def create(request: ActionRequest) -> view.Tree:
    """CreateStack: begin the create of a stack and return its ARN."""
    name, stack_request = request.needed("StackName"), await _stack_request(request)
    return {
        "StackId": stack_arn(
            await create_stack(request.services, request.caller, name, stack_request)
        )
    }


async def update(request: ActionRequest) -> view.Tree:
    """UpdateStack: begin an update of a stack and return its ARN."""
    row, stack_request = await request.stack(), await _stack_request(request)
    await update_stack(request.services, request.caller, row, stack_request)
    return {"StackId": stack_arn(row)}


async def _stack_request(request: ActionRequest) -> StackRequest:
    """Return the template, the parameters and the options of the request. Raises CfnError and
    Rejected.
    """
    params = request.params
    parameters: dict[str, str] = {}
    for member in members(params, "Parameters"):
        if "ParameterKey" not in member or "ParameterValue" not in member:
            raise CfnError(
                "MissingParameter",
                "each member of Parameters needs ParameterKey and ParameterValue",
            )
        if member["ParameterKey"] in parameters:
            message = f"Parameters has {member['ParameterKey']} twice"
            raise CfnError("InvalidParameterValue", message)
        parameters[member["ParameterKey"]] = member["ParameterValue"]
    stack_request = StackRequest(template=await _template(request), parameters=parameters)
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
            message = f"OnFailure: expected one of {', '.join(ROLLBACK_OFF)}, got {failure}"
            raise CfnError("InvalidParameterValue", message)
        return ROLLBACK_OFF[failure]
    return boolean(off, "DisableRollback") if off else None


async def _template(request: ActionRequest) -> str:
    """Return the text of the template, sent in the request or fetched from a URL.

    The URL is in TemplateUrl, or in TemplateURL as AWS spells it.
    """
    params = request.params
    if body := params.get("TemplateBody"):
        return body
    if url := params.get("TemplateUrl") or params.get("TemplateURL"):
        return await template_at(request.services, url)
    raise CfnError("MissingParameter", "TemplateBody or TemplateUrl")


async def cancel(request: ActionRequest) -> view.Tree:
    """CancelUpdateStack: cancel the update and roll back."""
    await cancel_update(request.services, await request.stack(), rollback=True)
    return {}


async def delete(request: ActionRequest) -> str:
    """DeleteStack: begin the delete of a stack."""
    await delete_stack(request.services, request.caller, await request.stack())
    return ""


async def template(request: ActionRequest) -> view.Tree:
    """GetTemplate: the template as JSON, even if it was sent as YAML."""
    row = await request.stack(deleted=True)
    revision = await request.services.store.read(lambda tx: reads.revision_of(tx, row))
    plain = await as_object(request.services, row, revision.template)
    exports = sight_of(request.services, request.caller).secrets
    return {"TemplateBody": plain if exports else without_hidden_defaults(plain)}


async def check(request: ActionRequest) -> view.Tree | str:
    """ValidateTemplate: the declarations of a template.

    As in Heat, failed validations such as an unknown type are the text of the result, with the
    status 200. A text that is no template, an unknown version and a wrong reference are refused.
    """
    stack_request = StackRequest(template=await _template(request))
    try:
        validation = await validate(
            request.services, request.caller, stack_request, show_nested=False
        )
    except Rejected as rejected:
        if not all(isinstance(problem, VALIDATED) for problem in rejected.problems):
            raise
        return "\n".join(problem.message for problem in rejected.problems)
    return view.validated(validation)


async def estimate(request: ActionRequest) -> view.Tree:
    """EstimateTemplateCost: always the same URL, because there is no price list."""
    return {"Url": NO_ESTIMATE}


async def events(request: ActionRequest) -> view.Tree:
    """DescribeStackEvents: the last 1000 events of one stack or of each stack, newest first."""
    identity = request.params.get("StackName")
    rows = [await request.stack(deleted=True)] if identity else await _project_stacks(request)
    pairs = []
    for row in rows:
        newest = partial(reads.list_events, criteria=EventFilter((row.id,), limit=EVENTS_MAX))
        pairs += [(row, numbered.event) for numbered in await request.services.store.read(newest)]
    pairs.sort(key=lambda pair: pair[1].time, reverse=True)
    return {"StackEvents": [view.event(row, event) for row, event in pairs]}


async def resource(request: ActionRequest) -> view.Tree:
    """DescribeStackResource: a resource with its metadata, which servers poll."""
    identity, name = request.needed("StackName"), request.needed("LogicalResourceId")
    arn = parsed_arn(identity)
    key = identity if arn is None else arn.stack_id
    described = await describe_resource(request.services, request.caller, key, name)
    if arn is not None and not arn.fits(described.stack):
        raise rejection(EntityNotFound, "Stack", identity)
    return {"StackResourceDetail": view.detail(described)}


async def resources(request: ActionRequest) -> view.Tree:
    """DescribeStackResources: the resources of the stack in StackName, or of the stack that has the
    object in PhysicalResourceId.

    With LogicalResourceId, only the resource with that name.
    """
    row = await _stack_or_holder(request)
    all_records = await request.services.store.read(lambda tx: reads.records(tx, row.id))
    records = reads.in_charge(all_records)
    if name := request.params.get("LogicalResourceId"):
        if name not in records:
            raise rejection(ResourceNotFound, name, row.name)
        records = {name: records[name]}
    bodies = [
        view.described(row, record, await request.services.description(row, record.name))
        for record in records.values()
    ]
    return {"StackResources": bodies}


async def _stack_or_holder(request: ActionRequest) -> StackRow:
    """Return the stack in StackName, or the only stack with the object in PhysicalResourceId.

    Raises CfnError and Rejected.
    """
    physical_id = request.params.get("PhysicalResourceId")
    if not physical_id:
        return await request.stack(deleted=True)
    if request.params.get("StackName"):
        raise CfnError("InvalidParameterCombination", "StackName and PhysicalResourceId")
    project_id = request.caller.project_id
    holders = await request.services.store.read(
        lambda tx: reads.stacks_with_physical_id(tx, project_id, physical_id)
    )
    if not holders:
        raise rejection(EntityNotFound, "Resource", physical_id)
    if len(holders) > 1:
        message = f"several stacks have a resource with the physical id {physical_id}"
        raise CfnError("InvalidParameterValue", message)
    return holders[0]


async def resource_list(request: ActionRequest) -> view.Tree:
    """ListStackResources: the resources of a stack, in short form."""
    row = await request.stack(deleted=True)
    all_records = await request.services.store.read(lambda tx: reads.records(tx, row.id))
    bodies = [view.resource_summary(record) for record in reads.in_charge(all_records).values()]
    return {"StackResourceSummaries": bodies}


class QueryAction(Struct, frozen=True):
    """An action of the query API; `rule` is the policy rule that it needs."""

    name: str
    act: Callable[[ActionRequest], Awaitable[Any]]

    @property
    def rule(self) -> str:
        return f"cloudformation:{self.name}"


ACTIONS: Mapping[str, QueryAction] = {
    action.name: action
    for action in (
        QueryAction("CancelUpdateStack", cancel),
        QueryAction("CreateStack", create),
        QueryAction("DeleteStack", delete),
        QueryAction("DescribeStackEvents", events),
        QueryAction("DescribeStackResource", resource),
        QueryAction("DescribeStackResources", resources),
        QueryAction("DescribeStacks", describe),
        QueryAction("EstimateTemplateCost", estimate),
        QueryAction("GetTemplate", template),
        QueryAction("ListStackResources", resource_list),
        QueryAction("ListStacks", list_all),
        QueryAction("UpdateStack", update),
        QueryAction("ValidateTemplate", check),
    )
}
