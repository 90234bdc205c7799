"""Software configurations: create, list, show, delete."""

from typing import Any

from msgspec import Struct, field

from hearth.model.problem import NotFound, Rejected, RequestLimitExceeded, rejection
from hearth.service.problems import ConfigInUse
from hearth.service.services import Services
from hearth.store import software_configs as configs
from hearth.store.database import Tx
from hearth.store.software_configs import Config


class ConfigRequest(Struct, frozen=True):
    """A checked request to create a software configuration."""

    name: str | None = None
    group: str | None = None
    config: Any = None
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


async def create_config(services: Services, project_id: str, request: ConfigRequest) -> Config:
    """Store a software configuration and return it. Raises Rejected with RequestLimitExceeded."""
    new = Config(
        services.new_id(),
        project_id,
        request.name,
        services.clock.now(),
        request.group,
        request.config,
        request.inputs,
        request.outputs,
        request.options,
    )
    limit = services.limits.max_software_configs_per_tenant

    def transaction(tx: Tx) -> None:
        if 0 <= limit <= configs.count(tx, project_id):
            message = (
                f"Request limit exceeded: a project may have {limit} software configs at most."
            )
            raise rejection(RequestLimitExceeded, message)
        configs.put(tx, new)

    await services.store.run_once(transaction)
    return new


async def list_configs(
    services: Services,
    project_id: str | None,
    *,
    limit: int | None = None,
    marker: str | None = None,
) -> list[Config]:
    """Return a page of the software configurations of a project, newest first.

    If `project_id` is None, those of all projects are listed. The page follows the configuration
    with the id `marker`, which is ignored if it is unknown.
    """
    return await services.store.read(
        lambda tx: configs.of_project(tx, project_id, limit=limit, marker=marker)
    )


async def show_config(services: Services, project_id: str | None, config_id: str) -> Config:
    """Return a software configuration. Raises Rejected with NotFound.

    It must belong to the project, unless `project_id` is None.
    """
    config = await services.store.read(lambda tx: configs.find(tx, project_id, config_id))
    if config is None:
        raise _not_found(config_id)
    return config


async def delete_config(services: Services, project_id: str | None, config_id: str) -> None:
    """Delete a software configuration. Raises Rejected with NotFound or ConfigInUse.

    It must belong to the project, unless `project_id` is None.
    """

    def transaction(tx: Tx) -> None:
        if configs.find(tx, project_id, config_id, lock=True) is None:
            raise _not_found(config_id)
        if (user := configs.user_of(tx, config_id)) is not None:
            raise rejection(ConfigInUse, config_id, user)
        configs.forget(tx, config_id)

    await services.store.run_once(transaction)


def _not_found(config_id: str) -> Rejected:
    return rejection(NotFound, f"The Software Config ({config_id}) could not be found.")
