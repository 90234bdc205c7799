"""Checks of a template against the cloud before anything is created."""

from functools import partial

from msgspec.structs import replace

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import NotFetched
from hearth.model.problem import Problem, Rejected, StackValidationFailed
from hearth.resources.capabilities import AsksCloud, NestedType, TakesTime
from hearth.service.services import Services
from hearth.template import Program, World
from hearth.template.child import inside


def lost_references(program: Program, world: World) -> list[Problem]:
    """Return a problem for each property whose value must be a reference to a resource but is not
    one.

    An example is a property with the name of a resource instead of get_resource.
    """
    problems: list[Problem] = []
    for definition in program.resources.values():
        rtype = definition.type_info
        if not isinstance(rtype, NestedType) or not rtype.refers_to:
            continue
        evaluated = definition.check(world)
        fixed_names = evaluated.properties.keys() - evaluated.open_properties
        for name in [name for name in rtype.refers_to if name in fixed_names]:
            value = evaluated.properties[name]
            if value is None or value in map(world.reference, program.resources):
                continue
            at = definition.span.under("properties").under(name)
            message = (
                f'"{value}" is not a resource of this stack; refer to one with get_resource or Ref'
            )
            problems.append(StackValidationFailed(at, message))
    return problems


async def too_long(
    services: Services, program: Program, world: World, timeout_s: float
) -> list[Problem]:
    """Return a problem for each resource that may take longer than the timeout of the stack."""
    problems: list[Problem] = []
    for definition in program.resources.values():
        rtype = definition.type_info
        if not isinstance(rtype, TakesTime):
            continue
        evaluated = await services.compute.evaluated(partial(definition.check, world))
        longest_s = rtype.longest_s(evaluated.properties)
        if longest_s > timeout_s:
            message = (
                f"it may take {longest_s:g} seconds, and the timeout of the stack is {timeout_s:g}"
            )
            problems.append(StackValidationFailed(definition.span.under("properties"), message))
    return problems


async def wrong_at_addresses(services: Services, program: Program, world: World) -> list[Problem]:
    """Return the problems of nested templates whose URLs are properties of resources.

    Such a template may be unreachable or invalid.
    """
    problems: list[Problem] = []
    module = program.module
    for definition in program.resources.values():
        rtype = definition.type_info
        if not isinstance(rtype, NestedType) or definition.external_id is not None:
            continue
        evaluated = await services.compute.evaluated(partial(definition.check, world))
        for url in rtype.addresses(evaluated.properties):
            try:
                text = module.files.get(url) or await services.fetch(url)
                await services.programs.module(text, module.files, module.environment)
            except NotFetched as error:
                message = f"Failed to fetch the template at {url}: {error}."
                problems.append(StackValidationFailed(definition.span, message))
            except Rejected as rejected:
                path = f"{definition.span.path}<{url}>"
                problems += [inside(problem, path) for problem in rejected.problems]
    return problems


async def refused_in_cloud(
    services: Services, cloud: Cloud, program: Program, world: World
) -> list[Problem]:
    """Return the problems that the resource types find in the cloud for the template's own
    resources.

    Resources of nested stacks are checked when the nested stacks are created. Clients compare the
    beginning of a message, so only the line number in the message shows which resource it is about.
    Raises CloudFault.
    """
    problems: list[Problem] = []
    for definition in program.resources.values():
        rtype = definition.type_info
        if not isinstance(rtype, AsksCloud) or definition.external_id is not None:
            continue
        at = replace(definition.span, path="")
        evaluated = await services.compute.evaluated(partial(definition.check, world))
        properties = {**evaluated.properties, **dict.fromkeys(evaluated.open_properties)}
        refusals = await rtype.refused(properties, cloud)
        problems += [StackValidationFailed(at, message) for message in refusals]
    return problems
