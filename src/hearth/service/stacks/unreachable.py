"""Resources that need an address of Hearth, in a process that does not serve the whole cloud.

Such a process is a command that works on a state file. Either it serves no address, or one at which
users without an account in Keystone are known (`Audience`).
"""

from collections.abc import Iterator, Mapping

from hearth.engine.core.predict import PlannedAction
from hearth.model.problem import Rejected, StackValidationFailed
from hearth.model.span import Span
from hearth.resources.capabilities import UsesUsers
from hearth.resources.nova.defaults import ServerDefaults
from hearth.service.services import Audience
from hearth.service.stacks.prediction import StackPrediction
from hearth.template import ResourceDefinition, World

BEGUN = (PlannedAction.CREATE, PlannedAction.REPLACE, PlannedAction.MAY_REPLACE)
SERVER, DEPLOYED_SERVER = "OS::Nova::Server", "OS::Heat::DeployedServer"
PEOPLE = ("AWS::IAM::User", "AWS::IAM::AccessKey")

BY_SWIFT = ("NO_SIGNAL", "TEMP_URL_SIGNAL")  # signals that Hearth looks for in Swift, or none
SIGNALS: Mapping[Audience, tuple[str | None, ...]] = {
    Audience.NOBODY: BY_SWIFT,
    Audience.STACK_USERS: (*BY_SWIFT, "CFN_SIGNAL", "TOKEN_SIGNAL", None),
}
POLLS: Mapping[Audience, tuple[str, ...]] = {
    Audience.NOBODY: ("POLL_TEMP_URL",),
    Audience.STACK_USERS: ("POLL_TEMP_URL", "POLL_SERVER_CFN"),
}
"""The transports of signals and of servers' metadata that work, by who reaches this process. None
is the transport of a type that has no property for it.
"""

SIGNAL: Mapping[Audience, str] = {
    Audience.NOBODY: "it takes signals at an address of Hearth, and this command has none; use "
    "--serve, a service, or the signal_transport TEMP_URL_SIGNAL",
    Audience.STACK_USERS: "its signals need a user in Keystone, which only a service creates; use "
    "a service, or the signal_transport CFN_SIGNAL",
}
POLL: Mapping[Audience, str] = {
    Audience.NOBODY: "its agent asks an address of Hearth for work, and this command has none; use "
    "--serve, a service, or the software_config_transport POLL_TEMP_URL",
    Audience.STACK_USERS: "its agent needs a user in Keystone, which only a service creates; use a "
    "service, or the software_config_transport POLL_SERVER_CFN",
}
PERSON = "it needs a user in Keystone, which only a service creates; use a service"


def demand_reachable(prediction: StackPrediction, audience: Audience) -> None:
    """Raise Rejected if the plan creates resources for which `audience` does not suffice."""
    if audience is Audience.ALL:
        return
    problems = [StackValidationFailed(at, message) for at, message in _needy(prediction, audience)]
    if problems:
        raise Rejected(problems)


def _needy(prediction: StackPrediction, audience: Audience) -> Iterator[tuple[Span, str]]:
    """Yield the place of each resource for which `audience` does not suffice, and the reason."""
    world = prediction.plan.world
    assert world is not None
    for entry in prediction.plan.entries:
        definition = prediction.desired.program.resources.get(entry.name)
        if definition is not None and entry.planned in BEGUN:
            reason = _unreachable_reason(definition, world, audience)
            if reason is not None:
                yield definition.span, f"{entry.type}: {reason}"
        if entry.name in prediction.below:
            yield from _needy(prediction.below[entry.name], audience)


def _unreachable_reason(
    definition: ResourceDefinition, world: World, audience: Audience
) -> str | None:
    if definition.type in PEOPLE:
        return PERSON
    if definition.type in (SERVER, DEPLOYED_SERVER):
        usual = ServerDefaults()
        properties = definition.evaluate(world).properties
        form = properties.get("user_data_format") or usual.default_user_data_format
        transport = properties.get("software_config_transport")
        transport = transport or usual.default_software_config_transport
        polls = form == "SOFTWARE_CONFIG" or definition.type == DEPLOYED_SERVER
        return POLL[audience] if polls and transport not in POLLS[audience] else None
    if not isinstance(definition.type_info, UsesUsers):
        return None
    properties = definition.evaluate(world).properties
    return None if properties.get("signal_transport") in SIGNALS[audience] else SIGNAL[audience]
