"""The software deployments of a stack, as resource types see them."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Body


class Run(Struct, frozen=True):
    """One run of a deployment on a server, with the configuration that was derived for it.

    `config` has the format of the API, without `id` and `creation_time`. `former_config_id` is the
    configuration of the previous run.
    """

    deployment_id: str
    server_id: str
    config_id: str
    config: Body
    action: str
    status: str
    reason: str
    input_values: Mapping[str, Any]
    user_project_id: str | None
    former_config_id: str | None = None


class DeploymentState(Struct, frozen=True):
    """The current state of a deployment. `values` maps each output name to its value or None.

    `body` is the deployment in the format of the API.
    """

    status: str
    reason: str
    updated_at: float
    values: Mapping[str, Any]
    body: Body


class Deployments:
    """Access to the deployments and configurations that are stored for the stack's project."""

    async def config(self, config_id: str) -> Body | None:
        """Return a configuration in the format of the API, or None if it does not exist."""
        raise NotImplementedError

    async def find(self, deployment_id: str) -> DeploymentState | None:
        """Return a deployment, or None if it does not exist."""
        raise NotImplementedError

    async def run(self, run: Run) -> None:
        """Store a run and send the server its new metadata; do nothing if the run is already
        stored.
        """
        raise NotImplementedError

    async def take(self, deployment_id: str, results: Any) -> None:
        """Store the results that a server reported, unless the deployment has already ended."""
        raise NotImplementedError

    async def cancel(self, deployment_id: str) -> None:
        """Set a deployment to FAILED because no stack waits for it any more, unless it has
        ended.
        """
        raise NotImplementedError

    async def drop(self, deployment_id: str, config_id: str | None) -> None:
        """Delete a deployment and its configuration, and send the server its new metadata."""
        raise NotImplementedError

    async def stands_for(self, server_id: str) -> str | None:
        """Return the type of the resource whose physical id is `server_id`, or None if there is
        none.
        """
        raise NotImplementedError
