"""How many software configurations and deployments a project may have."""

import asyncio
from pathlib import Path

import pytest
from benchmarks.inside import inside

from hearth.model.problem import Rejected
from hearth.service.house import Limits
from hearth.service.software_configs import WantedConfig, create_config, delete_config
from hearth.service.software_deployments import WantedDeployment, create_deployment

LIMITS = Limits(software_configs_per_project=2, software_deployments_per_project=1)


def test_a_project_has_so_many_and_no_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with inside(tmp_path / "hearth.db", LIMITS) as running:
            house = running.house
            first = await create_config(house, "p", WantedConfig())
            second = await create_config(house, "p", WantedConfig())
            with pytest.raises(Rejected) as refused:
                await create_config(house, "p", WantedConfig())
            (problem,) = refused.value.problems
            assert (problem.kind, "2 software configs" in problem.message) == (
                "RequestLimitExceeded",
                True,
            )
            await create_config(house, "other", WantedConfig())
            await delete_config(house, "p", second.id)
            await create_config(house, "p", WantedConfig())
            wanted = WantedDeployment(first.id, "server")
            await create_deployment(house, "p", wanted)
            with pytest.raises(Rejected) as refused:
                await create_deployment(house, "p", wanted)
            assert "1 software deployments" in refused.value.problems[0].message

    asyncio.run(story())
