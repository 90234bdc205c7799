"""What the cloud has against resources that are to be made, asked by their types beforehand."""

from dataclasses import replace

from hearth.cloud.contract import Cloud
from hearth.model.problem import Problem, StackValidationFailed
from hearth.resources.base import ResourceType
from hearth.template import Program, World


async def refused_in_cloud(cloud: Cloud, program: Program, world: World) -> list[Problem]:
    """Refusals of the template's own resources; those of stacks below come when they are made.

    Programs compare the words from their beginning, so the resource is told by its line alone.
    Raises CloudFault.
    """
    problems: list[Problem] = []
    for definition in program.resources.values():
        kind = definition.type_info
        asks = isinstance(kind, ResourceType) and type(kind).refused is not ResourceType.refused
        if not asks or definition.external_id is not None:
            continue
        assert isinstance(kind, ResourceType)
        at = replace(definition.span, path="")
        refusals = await kind.refused(definition.check(world).properties, cloud)
        problems += [StackValidationFailed(at, words) for words in refusals]
    return problems
