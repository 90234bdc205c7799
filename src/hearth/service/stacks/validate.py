"""Validate a template without storing anything; parameter values may be missing."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

from hearth.engine.programs.programs import compiled, drafted
from hearth.model.problem import Problem, Rejected
from hearth.model.span import Span
from hearth.service.caller import Caller
from hearth.service.reading.revisions import masked_environment
from hearth.service.services import Services
from hearth.service.stacks.request import StackRequest, requested
from hearth.service.stacks.types_used import unavailable_at, unavailable_to
from hearth.store.rows import Revision
from hearth.template import Environment, Limits, Module, Program, TypeCatalog
from hearth.template.check import examine
from hearth.template.check.codes import as_finding
from hearth.template.check.examine import modules
from hearth.template.check.unused import unused_files
from hearth.template.compile import LEFT_TO_CREATE
from hearth.template.describe import validated

STACK = "dummy"  # the name of the stack, which does not exist
SECTIONS = ("parameters", "parameter_defaults", "resource_registry", "event_sinks")


async def validate(
    services: Services,
    caller: Caller,
    request: StackRequest,
    *,
    show_nested: bool,
    any_service: bool = False,
) -> dict[str, Any]:
    """Return what a template declares, in the API's format.

    Parameters need no values, and values are not checked against constraints. Raises Rejected with
    the errors that the compiler finds before it stops, or with the types that the cloud cannot
    serve. If `any_service` is true, the services of the cloud are not checked.
    """
    revision = await requested(services, caller, request)
    declarations, used = await services.compute.run(
        _validated,
        *(*services.programs.sources(revision), revision, caller.project_id, show_nested),
        project=caller.project_id,
        characters=revision.characters,
    )
    lacking = {} if any_service else await unavailable_to(services, caller, used)
    if lacking:
        raise Rejected(unavailable_at(used, lacking))
    return declarations


def _validated(
    template: str,
    files: Mapping[str, str],
    environment: Environment,
    catalog: TypeCatalog,
    limits: Limits,
    revision: Revision,
    project_id: str,
    show_nested: bool,
) -> tuple[dict[str, Any], dict[str, Span]]:
    """Return what the template declares, and for each type that it uses the place of a resource."""
    module = _module(template, files, environment, catalog, limits)
    program = module.specialise(
        environment.parameters,
        stack_name=STACK,
        project_id=project_id,
        strict=False,
        check=False,
    )
    declarations = validated(program, environment.parameters, show_nested=show_nested)
    used: dict[str, Span] = {}
    for definition in program.resources.values():
        nested = definition.child.types if definition.child is not None else ()
        for name in (definition.type_info.name, *nested):
            used.setdefault(name, definition.span)
    return {**declarations, "Environment": _environment(revision, program)}, used


def _module(*made_of: Any) -> Module:
    """Compile a template and return its module. Raises Rejected.

    Properties that a nested template does not declare, and invalid defaults of a nested template,
    are accepted here; they are checked when the nested stack is created.
    """
    try:
        return compiled(*made_of)
    except Rejected as rejected:
        if not all(map(_passed_below, rejected.problems)):
            raise
    return drafted(*made_of)


def _passed_below(problem: Problem) -> bool:
    """Return whether the problem is in a nested template, and a create reports it."""
    at = problem.at
    return problem.code in LEFT_TO_CREATE and at is not None and "<" in at.path


async def findings(
    services: Services, caller: Caller, request: StackRequest
) -> list[dict[str, Any]]:
    """Return the errors and warnings that `hearth lint` would report for a template.

    Nested templates are included. Raises Rejected if the request has no template or an invalid
    environment.
    """
    revision = await requested(services, caller, request)
    sent_names = frozenset(request.files) - frozenset(request.environment_files or ())
    return await services.compute.run(
        _findings,
        *(*services.programs.sources(revision), sent_names),
        project=caller.project_id,
        characters=revision.characters,
    )


def _findings(
    template: str,
    files: Mapping[str, str],
    environment: Environment,
    catalog: TypeCatalog,
    limits: Limits,
    sent_names: Set[str],
) -> list[dict[str, Any]]:
    try:
        module = drafted(template, files, environment, catalog, limits)
        problems = examined(module, sent_names)
    except Rejected as rejected:
        problems = list(rejected.problems)
    return [as_finding(problem) for problem in problems]


def examined(module: Module, files: Iterable[str]) -> list[Problem]:
    """Return the findings of lint for a module; `files` are the names of the request's files, so
    that lint can report those that the template does not use.
    """
    return [*examine(module), *unused_files(modules(module), sorted(files))]


def _environment(revision: Revision, program: Program) -> dict[str, Any]:
    masked = masked_environment(revision, program)
    return {name: masked[name] for name in SECTIONS}
