"""Resources that need an address of Hearth, in a process that serves none.

Such a process is a command that works on a state file: nobody can send it a signal, and no agent in
a server can ask it for work.
"""

from collections.abc import Iterator

from hearth.engine.core.predict import PlannedAction
from hearth.model.problem import Rejected, StackValidationFailed
from hearth.model.span import Span
from hearth.resources.nova.defaults import ServerDefaults
from hearth.service.prediction import StackPrediction
from hearth.template import ResourceDefinition, World

BEGUN = (PlannedAction.CREATE, PlannedAction.REPLACE, PlannedAction.MAY_REPLACE)
ELSEWHERE = ("NO_SIGNAL", "TEMP_URL_SIGNAL")  # signals that Hearth looks for in Swift, or none
POLLED = ("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "ZAQAR_MESSAGE")
SERVER = "OS::Nova::Server"
SIGNAL = (
    "it takes signals at an address of a service, and this command has none; use a service, or the "
    "signal_transport TEMP_URL_SIGNAL"
)
POLL = (
    "its agent asks an address of a service for work, and this command has none; use a service, or "
    "the software_config_transport POLL_TEMP_URL"
)


def demand_reachable(found: StackPrediction) -> None:
    """Raise Rejected if the plan creates resources that need an address of Hearth."""
    problems = [StackValidationFailed(at, words) for at, words in _needy(found)]
    if problems:
        raise Rejected(problems)


def _needy(found: StackPrediction) -> Iterator[tuple[Span, str]]:
    """Yield the place of each resource that needs an address, and the reason."""
    world = found.plan.world
    assert world is not None
    for entry in found.plan.entries:
        definition = found.aim.program.resources.get(entry.name)
        if definition is not None and entry.planned in BEGUN:
            why = _why(definition, world)
            if why is not None:
                yield definition.span, f"{entry.type}: {why}"
        if entry.name in found.below:
            yield from _needy(found.below[entry.name])


def _why(definition: ResourceDefinition, world: World) -> str | None:
    if definition.type == SERVER:
        usual = ServerDefaults()
        given = definition.evaluate(world).properties
        form = given.get("user_data_format") or usual.user_data_format
        transport = given.get("software_config_transport") or usual.software_config_transport
        return POLL if form == "SOFTWARE_CONFIG" and transport in POLLED else None
    if not getattr(definition.type_info, "needs_users", False):
        return None
    given = definition.evaluate(world).properties
    return None if given.get("signal_transport") in ELSEWHERE else SIGNAL
