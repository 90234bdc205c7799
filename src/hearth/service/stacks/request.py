"""Requests to create or update a stack, and their checks.

The template is compiled, evaluated, and compared with the cloud before anything is stored. If it
does not compile, the response also has the errors that lint finds. The comparison with the cloud
needs a template without other errors.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.engine.programs.programs import drafted
from hearth.model.problem import (
    HTTPBadRequest,
    Notice,
    Problem,
    Rejected,
    RequestLimitExceeded,
    StackValidationFailed,
    rejection,
)
from hearth.model.span import Span
from hearth.resources.lookup import Names, check_constraints
from hearth.service.caller import Caller
from hearth.service.problems import HTTPServiceUnavailable
from hearth.service.services import Services
from hearth.service.stacks.cloud_checks import (
    lost_references,
    refused_in_cloud,
    too_long,
    wrong_at_addresses,
)
from hearth.service.stacks.outside import missing_outside
from hearth.service.stacks.remote_templates import with_nested
from hearth.service.stacks.types_used import demand_types, unavailable, unavailable_at
from hearth.store.rows import Options, Revision, StackRow, characters_of
from hearth.template import NOWHERE, Environment, Program, World, parameter_types
from hearth.template.check import examine
from hearth.template.compile import PROBLEMS_MAX
from hearth.template.environment import deep_update
from hearth.template.limits import too_many_resources
from hearth.template.program import TreeFindings

STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,254}")


class StackRequest(Struct, frozen=True):
    """The content of a create, update, preview or validate request.

    If `existing` is true, the request only changes the current revision, as in a PATCH request;
    parameters in `clear_parameters` lose the value of the current revision. `environment_files` are
    the names of files that are merged to the environment; then `environment` is not used. A field
    that is None has no value in the request.
    """

    template: str | None = None
    template_url: str | None = None  # the template's URL, if the request has no template
    parameters: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] | str = field(default_factory=dict)
    environment_files: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    files_container: str | None = None  # in the object store, with more files
    timeout_mins: int | None = None
    disable_rollback: bool | None = None
    tags: tuple[str, ...] | None = None
    existing: bool = False
    clear_parameters: tuple[str, ...] = ()
    converge: bool | None = None
    revision: int | None = None  # in place of template, files and environment

    @property
    def options(self) -> Options | None:
        """The options of an update; None if they stay those of the last update."""
        return None if self.converge is None else Options(converge=self.converge)


def revision_of(request: StackRequest, current: Revision | None = None) -> Revision:
    """Return the revision that a request describes.

    `current` is the revision of the stack; None for a new stack. If the request has `existing`, it
    is merged into the current revision. Raises Rejected if there is no template, or if the
    environment is invalid. Source: docs/spec/rest-api.md, 2.2 and 2.5.
    """
    files = dict(request.files)
    template = request.template
    inline: Any = {} if request.environment_files else request.environment
    environment = Environment.parse(inline)
    environment = environment.with_parameters(request.parameters)
    if request.existing and current is not None:
        template = current.template if template is None else template
        files = {**current.files, **files}
    if template is None:
        raise rejection(HTTPBadRequest, "No template specified")
    types = parameter_types(template, files) if request.environment_files else {}
    environment = environment.merge(
        request.environment_files, files, types, firm=request.parameters
    )
    if request.existing and current is not None:
        environment = _laid_over(current, environment, request.clear_parameters, template, files)
    keeps = request.existing and request.template is None
    return Revision(
        template=template,
        files=files,
        environment=environment.as_map(),
        parameters={},
        document=current.document if current and keeps else None,
        exports=current.exports if current else [],
        facade=current.facade if current else {},
    )


async def requested(
    services: Services, caller: Caller, request: StackRequest, current: Revision | None = None
) -> Revision:
    """Return `revision_of` the request, computed without blocking the event loop, with the nested
    templates that it names by URL. Raises Rejected.
    """
    characters = characters_of(request.template or "", request.files)
    if isinstance(request.environment, str):
        characters += len(request.environment)
    if current is not None and request.existing:
        characters += current.characters
    revision = await services.compute.run(
        revision_of, request, current, project=caller.project_id, characters=characters
    )
    return await with_nested(services, caller, revision)


def ignored_parameters(request: StackRequest, revision: Revision) -> list[str]:
    """Return the parameters of a request that are ignored because the template does not declare
    them, each as `parameter 'name'`.

    As in Heat, this applies to requests with `existing` only; other requests are refused.
    """
    if not request.existing or not request.parameters:
        return []
    declared = parameter_types(revision.template, revision.files)
    return [f"parameter {name!r}" for name in sorted(request.parameters.keys() - declared.keys())]


def revision_from(request: StackRequest, source: Revision, current: Revision) -> Revision:
    """Return the older revision `source` as a new one, with the parameters of the request merged
    in.

    Raises Rejected.
    """
    overrides = Environment.parse({}).with_parameters(request.parameters)
    environment = _laid_over(source, overrides, (), source.template, source.files)
    return Revision(
        template=source.template,
        files=source.files,
        environment=environment.as_map(),
        exports=current.exports,
        facade=current.facade,
    )


def _laid_over(
    current: Revision,
    environment: Environment,
    cleared: tuple[str, ...],
    template: str,
    files: Mapping[str, str],
) -> Environment:
    base = Environment.parse(current.environment)
    declared = set(parameter_types(template, files))
    parameters = {
        name: value
        for name, value in {
            **{n: v for n, v in base.parameters.items() if n not in cleared},
            **current.parameters,
            **environment.parameters,
        }.items()
        if name in declared
    }
    registry = dict(base.resource_registry)
    deep_update(registry, environment.resource_registry)
    return Environment.parse(
        {
            **base.as_map(),
            "parameters": parameters,
            "parameter_defaults": {**base.parameter_defaults, **environment.parameter_defaults},
            "resource_registry": registry,
            "event_sinks": list(environment.event_sinks or base.event_sinks),
        }
    )


async def checked(
    services: Services,
    caller: Caller,
    row: StackRow,
    revision: Revision,
    *,
    world: World = NOWHERE,
    before: Program | None = None,
) -> Program:
    """Check a revision as far as possible before the operation begins, and return its program.

    `world` has the recorded values of the stack, and `before` is its current program. Raises
    Rejected. Errors of the compiler are reported with further ones that lint finds. A forbidden
    resource type and too many resources are reported alone. After that, all problems of the values
    are reported together, and the cloud is asked only if there are none.
    """
    try:
        program = await services.programs.of(row, revision)
    except Rejected as rejected:
        further = await _further_problems(services, row, revision, rejected.problems)
        raise Rejected([*rejected.problems, *further]) from None
    findings = await services.compute.evaluated(lambda: program.check_values(world), row.project_id)
    demand_types(services, caller, findings.types)
    limit = services.programs.limits.max_resources_per_stack
    if 0 <= limit < findings.resources:
        message = too_many_resources(findings.resources, limit)
        raise rejection(RequestLimitExceeded, message)
    problems: list[Problem] = list(findings.problems)
    if not problems:
        timeout_s = 60.0 * (row.timeout_mins or 0) or services.store.config.stack_action_timeout_s
        problems += await too_long(services, program, world, timeout_s)
    if not problems:
        problems += await _against_the_cloud(
            services, caller, row, program, findings, world, before
        )
    if problems:
        raise Rejected(problems)
    return program


async def _further_problems(
    services: Services, row: StackRow, revision: Revision, problems: Sequence[Problem]
) -> Sequence[Problem]:
    """Return further problems of a refused template.

    The compiler stops early, so the template may have more problems than `problems`. The
    result contains the errors that lint finds at other places; warnings are left out.
    """
    try:
        findings = await services.compute.run(
            _examined,
            *services.programs.sources(revision),
            project=row.project_id,
            characters=revision.characters,
        )
    except Rejected:  # it is no template at all, or too large
        return ()
    places = {_line_of(problem) for problem in problems}
    room = PROBLEMS_MAX - len(problems)
    further = [
        problem
        for problem in findings
        if not isinstance(problem, Notice) and _line_of(problem) not in places
    ]
    return further[: max(room, 0)]


def _examined(*sources: Any) -> list[Problem]:
    """Return the findings of lint for a template, including warnings."""
    return list(examine(drafted(*sources)))


def _line_of(problem: Problem) -> tuple[str, int] | None:
    return (problem.at.file, problem.at.line) if problem.at is not None else None


async def _against_the_cloud(
    services: Services,
    caller: Caller,
    row: StackRow,
    program: Program,
    findings: TreeFindings,
    world: World,
    before: Program | None,
) -> list[Problem]:
    cloud, used = services.cloud(caller), findings.used
    try:
        problems: list[Problem] = list(
            unavailable_at(used, await unavailable(services, cloud, used))
        )
        lookups = (*program.lookups, *findings.lookups)
        # an own object that somebody has deleted is created again by the update
        own_ids = {
            reference
            for reference in map(world.reference, program.resources)
            if isinstance(reference, str)
        }
        constraints = [
            (look.name, look.value, look.at) for look in lookups if look.value not in own_ids
        ]
        if constraints and not problems:
            problems += await _not_found(services, cloud, constraints, before, world)
        if not problems:
            problems += await missing_outside(services, cloud, row, program, world)
            problems += await refused_in_cloud(services, cloud, program, world)
            problems += await services.compute.evaluated(
                lambda: lost_references(program, world), row.project_id
            )
            problems += await wrong_at_addresses(services, program, world)
    except CloudFault as fault:
        message = f"the template could not be checked against the cloud: {fault}"
        raise rejection(HTTPServiceUnavailable, message) from None
    return problems


async def _not_found(
    services: Services,
    cloud: Cloud,
    constraints: Sequence[tuple[str, Any, Span | None]],
    before: Program | None,
    world: World,
) -> list[Problem]:
    """Return a problem for each object that the caller does not find in the cloud.

    `constraints` are (constraint, value, place). Values that the stack has already are accepted: an
    object can have been deleted since, or belong to the user who created the stack, as a key pair
    does.
    """
    names = Names(cloud)
    problems = await check_constraints(constraints, cloud, names)
    if not problems or before is None:
        return problems
    findings = await services.compute.evaluated(lambda: before.check_values(world))
    known_values = [(lookup.name, lookup.value) for lookup in (*before.lookups, *findings.lookups)]
    return await check_constraints(
        [constraint for constraint in constraints if constraint[:2] not in known_values],
        cloud,
        names,
    )


def check_name(name: str) -> None:
    """Raise Rejected if the stack name is invalid."""
    if not STACK_NAME.fullmatch(name):
        message = (
            f"Invalid stack name {name}: it must begin with a letter, contain only letters, "
            'digits, "_", "." and "-", and have at most 255 characters'
        )
        raise rejection(StackValidationFailed, message)
