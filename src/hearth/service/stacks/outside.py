"""Check of resources with an external id: the object must exist before anything is stored."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault, NotFound
from hearth.engine.context import resource_context
from hearth.engine.core.record import Record
from hearth.model.problem import Problem, StackValidationFailed
from hearth.model.state import Action
from hearth.model.unknown import Unknown
from hearth.resources.capabilities import NestedType
from hearth.service.reading.real_objects import UNREADABLE
from hearth.service.services import Services
from hearth.store.rows import StackRow
from hearth.template import Program, ResourceDefinition, World


async def missing_outside(
    services: Services, cloud: Cloud, row: StackRow, program: Program, world: World
) -> list[Problem]:
    """Return a problem for each resource with a new external id whose object does not exist.

    A nested stack with an external id is a problem, too, and so is a missing property that is a
    part of the address of the object. Types whose objects cannot be read are not checked. Raises
    CloudFault.
    """
    problems: list[Problem] = []
    for definition in program.resources.values():
        external_id = definition.external_id
        is_known = not isinstance(world.reference(definition.name), Unknown)
        if external_id is None or is_known:
            continue
        if isinstance(services.programs.rtype_of(definition), NestedType):
            message = "a nested stack cannot have an external_id"
            problems.append(StackValidationFailed(definition.span.under("external_id"), message))
            continue
        checked = await services.compute.evaluated(partial(definition.check, world), row.project_id)
        try:
            await _show(services, cloud, row, definition, external_id, checked.properties)
        except CloudFault as fault:
            if not isinstance(fault, NotFound):
                raise
            message = f'there is no {definition.type} "{external_id}": {fault.message}'
            at = definition.span.under("external_id")
            problems.append(StackValidationFailed(at, message, "Invalid external resource"))
        except UNREADABLE as error:
            message = f'{definition.type} "{external_id}" cannot be read with these properties'
            suffix = f": {error} is missing" if isinstance(error, KeyError) else ""
            at = definition.span.under("properties")
            wrong = StackValidationFailed(at, message + suffix, "Invalid external resource")
            problems.append(wrong)
    return problems


async def _show(
    services: Services,
    cloud: Cloud,
    row: StackRow,
    definition: ResourceDefinition,
    external_id: str,
    properties: Mapping[str, Any],
) -> None:
    rtype = services.programs.rtype_of(definition)
    new_id = services.new_id()
    record = Record(new_id, definition.name, definition.type, 0, 0.0, physical_id=external_id)
    ctx = resource_context(services, row, record, rtype, cloud, Action.CHECK, properties=properties)
    await rtype.show(ctx)
