"""Software deployments: create, list, show, change, delete; and the deployments of a server.

If `project_id` is None, objects of all projects are found; this is for administrators. A change of
a server's deployments also changes the metadata that the server reads.
"""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from hearth.engine.server_metadata import deliver
from hearth.model.problem import Invalid, NotFound, Rejected, RequestLimitExceeded, rejection
from hearth.model.span import Span
from hearth.service.caller import Caller
from hearth.service.problems import Forbidden
from hearth.service.services import Services
from hearth.service.software.deployment_signals import fetched
from hearth.store import accept, reads, server_metadata, software_configs
from hearth.store import software_deployments as deployments
from hearth.store.database import Tx
from hearth.store.messages import Signalled
from hearth.store.server_metadata import ServerResource
from hearth.store.software_configs import Config
from hearth.store.software_deployments import IN_PROGRESS, Deployment

AT_ONCE_FIRST, AT_ONCE_MAX = 4, 100
AT_ONCE_BYTES = 1024 * 1024
"""How many deployments of a list are read at once: at first, at most, and as long as those before
had so many bytes.
"""


class DeploymentRequest(Struct, frozen=True):
    """A checked request to create a software deployment."""

    config_id: str
    server_id: str
    input_values: dict[str, Any] = field(default_factory=dict)
    action: str | None = None
    status: str | None = None
    reason: str | None = None
    user_project_id: str | None = None


async def create_deployment(
    services: Services, project_id: str, request: DeploymentRequest
) -> Deployment:
    """Store a software deployment and return it.

    Raises Rejected if the quota is used up, or if the request names an unknown configuration or a
    domain project that belongs to no stack of the project.
    """
    new = Deployment(
        id=services.new_id(),
        project_id=project_id,
        created_at=services.clock.now(),
        **asdict(request),
    )
    limit = services.limits.max_software_deployments_per_tenant

    def transaction(tx: Tx) -> list[ServerResource]:
        if 0 <= limit <= deployments.count(tx, project_id):
            message = f"a project may have {limit} software deployments at most."
            raise rejection(RequestLimitExceeded, f"Request limit exceeded: {message}")
        _hold_config(tx, project_id, new.config_id)
        users = new.user_project_id
        if users is not None and not deployments.has_users(tx, project_id, users):
            message = f"project {users} is not the domain project of a stack of this project"
            raise Rejected([Invalid(Span(path="stack_user_project_id"), message)])
        deployments.put(tx, new)
        return server_metadata.push(tx, project_id, new.server_id)

    await deliver(services.store, services.clouds, await services.store.run_once(transaction))
    return new


async def list_deployments(
    services: Services, project_id: str, server_id: str | None = None
) -> AsyncIterator[list[Deployment]]:
    """Yield the software deployments that a project can see, oldest first, some at a time.

    If `server_id` is given, only those of this server are listed. A deployment can have a megabyte
    of values, and a project thousands of deployments, so never all of them are in memory.
    """
    read_store = services.store.read
    ids = await read_store(lambda tx: deployments.ids_of_project(tx, project_id, server_id))
    begin, count = 0, AT_ONCE_FIRST
    while begin < len(ids):
        batch = await read_store(partial(deployments.some, ids=ids[begin : begin + count]))
        yield batch
        begin += count
        size = sum(len(msgspec.json.encode(deployment, enc_hook=str)) for deployment in batch)
        count = max(1, min(AT_ONCE_MAX, count * AT_ONCE_BYTES // max(1, size)))


async def show_deployment(
    services: Services, caller: Caller, project_id: str | None, deployment_id: str
) -> Deployment:
    """Return a software deployment. Raises Rejected with NotFound.

    If it is in progress, results that the server has left in the cloud are fetched first.
    """

    def look(tx: Tx) -> tuple[Deployment, Config | None]:
        deployment = _deployment(tx, project_id, deployment_id)
        waits = deployment.status == IN_PROGRESS
        config_key = (deployment.project_id, deployment.config_id)
        return deployment, software_configs.find(tx, *config_key) if waits else None

    deployment, config = await services.store.read(look)
    return deployment if config is None else await fetched(services, caller, deployment, config)


async def update_deployment(
    services: Services, project_id: str | None, deployment_id: str, changes: Mapping[str, Any]
) -> Deployment:
    """Change fields of a software deployment, and return it.

    `changes` maps names of fields of `Deployment` to new values. Raises Rejected if the deployment
    or the new configuration does not exist.
    """
    now = services.clock.now()

    def transaction(tx: Tx) -> tuple[Deployment, list[ServerResource]]:
        current = _deployment(tx, project_id, deployment_id, lock=True)
        if "config_id" in changes:
            _hold_config(tx, current.project_id, changes["config_id"])
        after = replace(current, updated_at=now, **changes)
        deployments.change(tx, after)
        _wake(tx, current.id, now)
        if "config_id" not in changes:
            return after, []
        return after, server_metadata.push(tx, current.project_id, current.server_id)

    after, pushed = await services.store.run_once(transaction)
    services.bus.tell()
    await deliver(services.store, services.clouds, pushed)
    return after


async def delete_deployment(services: Services, project_id: str | None, deployment_id: str) -> None:
    """Delete a software deployment, but not its configuration. Raises Rejected with NotFound."""

    now = services.clock.now()

    def transaction(tx: Tx) -> list[ServerResource]:
        deployment = _deployment(tx, project_id, deployment_id, lock=True)
        deployments.forget(tx, deployment_id)
        _wake(tx, deployment_id, now)
        return server_metadata.push(tx, deployment.project_id, deployment.server_id)

    pushed = await services.store.run_once(transaction)
    services.bus.tell()
    await deliver(services.store, services.clouds, pushed)


async def server_configs(
    services: Services, caller: Caller, project_id: str, server_id: str
) -> list[Config]:
    """Return the software configurations that a server must apply.

    Raises Rejected with Forbidden if the caller is a stack domain user that was not created for
    this server.
    """

    def look(tx: Tx) -> list[Config] | None:
        may_read = not caller.guest or reads.is_user_of(tx, server_id, project_id, caller.user_id)
        if not may_read:
            return None
        return deployments.configs_of(tx, project_id, server_id, users_only=caller.guest)

    configs = await services.store.read(look)
    if configs is None:
        message = f"You are not authorized to use the deployments of server {server_id}."
        raise rejection(Forbidden, message)
    return configs


def _deployment(
    tx: Tx, project_id: str | None, deployment_id: str, *, lock: bool = False
) -> Deployment:
    deployment = deployments.find(tx, project_id, deployment_id, lock=lock)
    if deployment is None:
        message = f"The Software Deployment ({deployment_id}) could not be found."
        raise rejection(NotFound, message)
    return deployment


def _wake(tx: Tx, deployment_id: str, now: float) -> None:
    """Send the owner of the deployment's stack a message to check the deployment.

    Do nothing if no stack contains the deployment.
    """
    stack_id = deployments.stack_of(tx, deployment_id)
    if stack_id is not None:
        accept.send(tx, stack_id, Signalled(deployment_id), now)


def _hold_config(tx: Tx, project_id: str, config_id: str) -> None:
    """Lock the row of a software configuration, so that it cannot be deleted during the
    transaction.

    Raises Rejected if it does not exist.
    """
    if software_configs.find(tx, project_id, config_id, lock=True) is None:
        message = f"there is no software config {config_id} in this project"
        raise Rejected([Invalid(Span(path="config_id"), message)])
