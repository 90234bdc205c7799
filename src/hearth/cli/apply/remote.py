"""The Orchestration API of a service, with a credential from clouds.yaml."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hearth.cli.apply.api import UserError
from hearth.cli.apply.named_cloud import pool_of
from hearth.cloud.contract import Cloud
from hearth.cloud.credential import NamedCredential
from hearth.cloud.fault import CloudFault


class ServiceApi:
    """Sends requests to the service that the catalogue of a cloud names."""

    def __init__(self, cloud: Cloud, name: str) -> None:
        self.location = f"the cloud {name}"
        self._cloud = cloud

    async def call(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Any:
        """Make a request; see `Api`."""
        try:
            answer = await self._cloud.request(
                "orchestration", method, path, json=body, params=query
            )
        except CloudFault as fault:
            raise UserError(str(fault.message or fault).splitlines(), fault.status) from None
        return answer.body

    def demand_working(self) -> None:
        """A service takes care of itself; see `Api`."""


@asynccontextmanager
async def service_api(name: str) -> AsyncIterator[ServiceApi]:
    """Connect to the service of a cloud of clouds.yaml. Raises UserError."""
    pool = pool_of(name)
    try:
        yield ServiceApi(pool.cloud(NamedCredential(name)), name)
    finally:
        await pool.aclose()
