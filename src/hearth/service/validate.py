"""Validate a template: parameters may be missing, nothing is stored."""

from typing import Any

from hearth.service.caller import Caller
from hearth.service.house import House
from hearth.service.wanted import Wanted, revision_of
from hearth.template import Environment
from hearth.template.describe import validated


async def validate(
    house: House, caller: Caller, wanted: Wanted, *, show_nested: bool
) -> dict[str, Any]:
    """What the template declares. Raises Rejected with everything that is wrong."""
    revision = revision_of(wanted)
    environment = Environment.parse(revision.environment)
    module = await house.programs.module(revision.template, revision.files, environment)
    program = module.specialise(
        environment.parameters,
        stack_name="",
        project_id=caller.project_id,
        strict=False,
    )
    return validated(program, environment.parameters, show_nested=show_nested)
