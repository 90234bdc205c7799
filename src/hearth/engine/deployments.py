"""The software deployments of the resources of stacks: their rows, and the results that servers
report.

Storing a deployment and storing its results are one transaction each. Both can be repeated safely:
a stored deployment is not overwritten, and only a deployment in progress accepts results.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.engine.clock import Clock
from hearth.engine.core.record import Record
from hearth.engine.server_metadata import CloudLookup, deliver
from hearth.model.json_text import parse_json
from hearth.model.state import Status
from hearth.resources.deployments import Deployments, DeploymentState, Run
from hearth.resources.heat.deployment_results import ALWAYS, Results, results_of
from hearth.store import accept, events, server_metadata, software_configs
from hearth.store import software_deployments as deployments
from hearth.store.database import Store, Tx
from hearth.store.messages import Signalled
from hearth.store.rows import Event, StackRow
from hearth.store.server_metadata import ServerResource
from hearth.store.software_configs import Config
from hearth.store.software_deployments import IN_PROGRESS, Deployment

CANCELLED = "Deployment cancelled."
IGNORED = "Unknown"  # the reason in the event of a signal for which no deployment waits


class StackDeployments(Deployments):
    """The software deployments of one resource of a stack, given by its record."""

    def __init__(
        self,
        store: Store,
        clouds: CloudLookup,
        clock: Clock,
        new_id: Callable[[], str],
        row: StackRow,
        record: Record,
    ) -> None:
        self._store = store
        self._clouds = clouds
        self._clock = clock
        self._new_id = new_id
        self._row = row
        self._record = record

    async def config(self, config_id: str) -> Body | None:
        project_id = self._row.project_id
        config = await self._store.read(lambda tx: software_configs.find(tx, project_id, config_id))
        return None if config is None else config.document()

    async def find(self, deployment_id: str) -> DeploymentState | None:
        def look(tx: Tx) -> tuple[Deployment, Config | None] | None:
            deployment = deployments.find(tx, self._row.project_id, deployment_id)
            if deployment is None:
                return None
            return deployment, software_configs.find(
                tx, deployment.project_id, deployment.config_id
            )

        loaded = await self._store.read(look)
        return None if loaded is None else _state(*loaded)

    async def run(self, run: Run) -> None:
        await self._deliver(lambda tx: _run(tx, self._row.project_id, run, self._clock.now()))

    async def take(self, deployment_id: str, results: Any) -> None:
        now, event_id = self._clock.now(), self._new_id()
        await self._store.run(
            lambda tx: take(tx, self._row, self._record, deployment_id, results, event_id, now)
        )

    async def cancel(self, deployment_id: str) -> None:
        def transaction(tx: Tx) -> None:
            deployment = deployments.find(tx, self._row.project_id, deployment_id, lock=True)
            if deployment is not None and deployment.status == IN_PROGRESS:
                after = replace(deployment, status=Status.FAILED.value, reason=CANCELLED)
                deployments.change(tx, replace(after, updated_at=self._clock.now()))

        await self._store.run(transaction)

    async def drop(self, deployment_id: str, config_id: str | None) -> None:
        stack_id = f"{self._row.name}/{self._row.id}"

        def transaction(tx: Tx) -> list[ServerResource]:
            project_id = self._row.project_id
            deployment = deployments.find(tx, project_id, deployment_id, lock=True)
            if deployment is None:
                return []
            deployments.forget(tx, deployment_id)
            used = software_configs.find(tx, project_id, deployment.config_id)
            if used is not None and used.input("deploy_stack_id") == stack_id:
                software_configs.forget(tx, used.id)
            # differs from deployment.config_id if a user has changed the deployment
            if config_id is not None:
                software_configs.forget(tx, config_id)
            return server_metadata.push(tx, project_id, deployment.server_id)

        await self._deliver(transaction)

    async def stands_for(self, server_id: str) -> str | None:
        project_id = self._row.project_id
        return await self._store.read(lambda tx: server_metadata.type_of(tx, project_id, server_id))

    async def _deliver(self, transaction: Callable[[Tx], list[ServerResource]]) -> None:
        await deliver(self._store, self._clouds, await self._store.run(transaction))


def take(
    tx: Tx,
    row: StackRow,
    record: Record,
    deployment_id: str,
    details: Any,
    event_id: str,
    now: float,
) -> None:
    """Store the results that a server sent, add an event, and wake the engine that owns the stack.

    `record` is the resource that the event is about. If `details` is neither a map nor a JSON map
    as text, the deployment counts as successful and its outputs are null. If the deployment is not
    in progress, the results are ignored, and the event has the reason `IGNORED`.
    """
    reason = IGNORED
    deployment = deployments.find(tx, row.project_id, deployment_id, lock=True)
    if deployment is not None and deployment.status == IN_PROGRESS:
        config = software_configs.find(tx, deployment.project_id, deployment.config_id)
        results = results_of(as_map(details), config.outputs if config else ())
        deployments.change(tx, taking(deployment, results, now))
        reason = f"Signal: {results.event_text(deployment_id)}"
    event = Event(
        event_id,
        row.id,
        row.root_id,
        now,
        record.name,
        record.type,
        record.physical_id,
        "SIGNAL",
        record.status.value,
        reason,
    )
    events.append(tx, [event])
    accept.send(tx, row.id, Signalled(record.id), now)


def taking(deployment: Deployment, results: Results, now: float) -> Deployment:
    """Return the deployment with the results; if it is not in progress, return it unchanged."""
    if deployment.status != IN_PROGRESS:
        return deployment
    return replace(
        deployment,
        status=results.status.value,
        reason=results.reason,
        output_values=dict(results.output_values),
        updated_at=now,
    )


def as_map(details: Any) -> Mapping[str, Any]:
    """Return the results that a server sent as a map or as JSON text; return an empty map if they
    are neither.
    """
    if isinstance(details, str):
        try:
            details = parse_json(details)
        except ValueError:
            return {}
    return details if isinstance(details, Mapping) else {}


def _run(tx: Tx, project_id: str, run: Run, now: float) -> list[ServerResource]:
    """Store a deployment and its configuration, and add it to the metadata of its server.

    Return the servers to which the new metadata must be delivered.
    """
    existing = deployments.find(tx, project_id, run.deployment_id, lock=True)
    if existing is not None and existing.config_id == run.config_id:  # stored by an earlier attempt
        return server_metadata.push(tx, project_id, run.server_id)
    config = Config(id=run.config_id, project_id=project_id, created_at=now, **run.config)
    software_configs.put(tx, config)
    fresh = existing or Deployment(
        run.deployment_id, project_id, run.config_id, run.server_id, now, run.user_project_id
    )
    deployment = replace(
        fresh,
        config_id=run.config_id,
        action=run.action,
        status=run.status,
        reason=run.reason,
        input_values=dict(run.input_values),
        user_project_id=run.user_project_id,
    )
    if existing is None:
        deployments.put(tx, deployment)
    else:
        deployments.change(tx, replace(deployment, updated_at=now))
    if run.former_config_id is not None:
        software_configs.forget(tx, run.former_config_id)
    return server_metadata.push(tx, project_id, run.server_id)


def _state(deployment: Deployment, config: Config | None) -> DeploymentState:
    """Return a deployment in the form that resource types use; a declared output without a value is
    None.
    """
    declared = [output["name"] for output in config.outputs] if config else []
    values = {**dict.fromkeys((*ALWAYS, *declared)), **(deployment.output_values or {})}
    return DeploymentState(
        status=deployment.status or "",
        reason=deployment.reason or "",
        updated_at=deployment.updated_at or deployment.created_at,
        values=values,
        body=deployment.document(),
    )
