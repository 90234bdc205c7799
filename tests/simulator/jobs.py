"""Software deployments in the simulator: a server, deployments on it, and the agent in the
server.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from hearth.model.problem import Rejected
from hearth.resources.base import Made, ResourceContext
from hearth.resources.heat.software_deployment import SoftwareDeployment
from hearth.store import reads
from hearth.store.database import Unanswered
from tests.simulator.types import Value
from tests.simulator.world import World

POLL_S = 2.0
PASSWORD = {"user_id": "user", "password": "secret"}


class Box(Value):
    """A server. Its metadata contains the configurations that its agent must apply."""

    type_name = "Test::Box"


class Job(SoftwareDeployment):
    """A software deployment without its own stack domain user, because the identity service is not
    simulated.
    """

    type_name = "Test::Job"

    async def make_user(self, ctx: ResourceContext) -> Made:
        return Made(data=dict(PASSWORD))

    async def drop_user(self, ctx: ResourceContext) -> Made:
        return Made(data=dict.fromkeys(PASSWORD))

    async def shut_out(self, ctx: ResourceContext) -> None:
        return None

    async def let_in(self, ctx: ResourceContext) -> None:
        return None

    async def orphans(self, ctx: ResourceContext) -> tuple[str, ...]:
        return ()

    async def _without_guest(self, ctx: ResourceContext) -> None:
        return None


class Agent:
    """The agent in the server `box` of a stack: it applies each configuration once and reports
    success.

    It polls until the world ends. `ran` lists the actions that it has run, each with the value of
    the input `colour`.
    """

    def __init__(self, world: World, stack_id: str) -> None:
        self.ran: list[str] = []
        self._world = world
        self._stack_id = stack_id
        self._applied: set[str] = set()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            for one in self._listed():
                if one["id"] not in self._applied:
                    self._applied.add(one["id"])
                    await self._apply({each["name"]: each["value"] for each in one["inputs"]})

    def _listed(self) -> list[Mapping[str, Any]]:
        """Return the configurations in the metadata of the server."""
        there = reads.in_charge(self._world.records(self._stack_id)).get("box")
        if there is None:
            return []
        _, _, metadata = self._world.store.transact(
            lambda tx: reads.data_of(tx, there.id), write=False
        )
        return list((metadata or {}).get("deployments") or ())

    async def _apply(self, inputs: Mapping[str, Any]) -> None:
        """Run a configuration with these inputs, and repeat its report until Hearth has accepted
        it.
        """
        self.ran.append(f"{inputs['deploy_action']} {inputs['colour']}")
        name = str(inputs["deploy_resource_name"])
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await self._world.tell(self._stack_id, name, {"deploy_status_code": 0})
            except Unanswered:
                continue
            except (KeyError, Rejected):  # a deployment that has ended needs no report
                return
            return
