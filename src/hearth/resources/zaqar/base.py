"""Common parts of all types of the messaging service."""

from typing import Any

from hearth.cloud.contract import Response
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import Made, Progress, Ready, ResourceContext, ResourceType, Step

SERVICE = "messaging"
CLIENT = {"Client-ID": "f0a0c9a4-9a0c-5b57-8a0e-3f1f5a4f6b1d"}  # Zaqar wants to know each client


class ZaqarResource(ResourceType):
    """Base class of the types of the messaging service."""

    service = SERVICE

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        """Return an empty result without a write call."""
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        """Report ready if the object exists. Raises CloudFault if it does not."""
        return Ready(await self.show(ctx))

    async def call(
        self, ctx: ResourceContext, method: str, queue: str, path: str = "", **options: Any
    ) -> Response:
        """Send a request to a queue's URL, extended by `path`.

        The request is marked as safe to repeat unless it is a POST.
        """
        headers = {**CLIENT, **options.pop("headers", {})}
        options.setdefault("idempotent", method != "POST")
        full_path = f"/v2/queues/{segment(queue)}{path}"
        return await ctx.cloud.request(SERVICE, method, full_path, headers=headers, **options)

    async def gone_is_done(
        self, ctx: ResourceContext, method: str, queue: str, path: str = ""
    ) -> Response | None:
        """Send a request to a queue's URL, extended by `path`; return None if the answer is "not
        found".
        """
        try:
            return await self.call(ctx, method, queue, path)
        except NotFound:
            return None
