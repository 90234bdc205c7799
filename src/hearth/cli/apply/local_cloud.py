"""The user's cloud, in which the software configurations are those of the state file.

Resource types create software configurations with the Orchestration API. The cloud may have no such
service, and software deployments look for their configurations in the state file.
"""

from collections.abc import Mapping
from typing import Any

from hearth.cli.apply.in_process import InProcess
from hearth.cloud.contract import Cloud, Response, Whoami
from hearth.cloud.fault import fault_of
from hearth.cloud.listing import ListingCloud
from hearth.resources.heat.software_config import PATH, SERVICE


class LocalCloud(ListingCloud):
    """Makes calls to `cloud`, except those for software configurations, which `api` answers."""

    api: InProcess

    def __init__(self, cloud: Cloud) -> None:
        super().__init__()
        self._cloud = cloud

    async def request(
        self, service: str, method: str, path: str, *, json: Any = None, **arguments: Any
    ) -> Response:
        """Make one call; see `Cloud`."""
        if service != SERVICE or not path.startswith(PATH):
            return await self._cloud.request(service, method, path, json=json, **arguments)
        params: Mapping[str, str] = arguments.get("params") or {}
        answer = await self.api.ask(method, path, json, dict(params))
        if answer.status >= 300:
            raise fault_of(service, answer.status, answer.headers, answer.body)
        return answer

    async def whoami(self) -> Whoami:
        """Return the user, project and roles of the credential; see `Cloud`."""
        return await self._cloud.whoami()

    async def endpoint(self, service: str) -> str:
        """Return the URL of a service; that of the Orchestration API is a path in this process."""
        return self.api.project_path if service == SERVICE else await self._cloud.endpoint(service)

    async def token(self) -> str:
        """Return a valid token of the credential; see `Cloud`."""
        return await self._cloud.token()

    def elsewhere(self, **arguments: Any) -> Cloud:
        """Return another region, or another cloud; see `Cloud`."""
        return self._cloud.elsewhere(**arguments)
