"""How many software configurations and deployments a project may have."""

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa
from benchmarks.inside import inside

from hearth.model.problem import Rejected
from hearth.service.limits import RequestLimits
from hearth.service.software.configs import ConfigRequest, create_config, delete_config
from hearth.service.software.deployments import DeploymentRequest, create_deployment
from hearth.store.tables import stack

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {n: {type: OS::Heat::None}}"
LIMITS = RequestLimits(max_software_configs_per_tenant=2, max_software_deployments_per_tenant=1)


def test_a_project_has_so_many_and_no_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with inside(tmp_path / "hearth.db", LIMITS) as running:
            services = running.services
            first = await create_config(services, "p", ConfigRequest())
            second = await create_config(services, "p", ConfigRequest())
            with pytest.raises(Rejected) as refused:
                await create_config(services, "p", ConfigRequest())
            (problem,) = refused.value.problems
            assert (problem.kind, "2 software configs" in problem.message) == (
                "RequestLimitExceeded",
                True,
            )
            await create_config(services, "other", ConfigRequest())
            await delete_config(services, "p", second.id)
            await create_config(services, "p", ConfigRequest())
            wanted = DeploymentRequest(first.id, "server")
            await create_deployment(services, "p", wanted)
            with pytest.raises(Rejected) as refused:
                await create_deployment(services, "p", wanted)
            assert "1 software deployments" in refused.value.problems[0].message

    asyncio.run(story())


def test_deployments_are_for_the_users_of_own_stacks(tmp_path: Path) -> None:
    async def story() -> None:
        async with inside(tmp_path / "hearth.db", RequestLimits()) as running:
            services = running.services
            row, _ = await running.create("web", TEMPLATE)
            its = sa.update(stack).where(stack.c.id == row.id).values(user_project_id="users")
            await services.store.run(lambda tx: tx.execute(its))
            config = await create_config(services, row.project_id, ConfigRequest())
            theirs = await create_config(services, "other", ConfigRequest())
            for users in ("users", row.project_id, None):
                wanted = DeploymentRequest(config.id, "server", user_project_id=users)
                await create_deployment(services, row.project_id, wanted)
            for project, of, users in [
                ("other", theirs, "users"),
                ("other", theirs, row.project_id),
                (row.project_id, config, "other"),
                (row.project_id, config, ""),
            ]:
                wanted = DeploymentRequest(of.id, "server", user_project_id=users)
                with pytest.raises(Rejected) as refused:
                    await create_deployment(services, project, wanted)
                assert (
                    "is not the domain project of a stack of this project"
                    in refused.value.problems[0].message
                )

    asyncio.run(story())
