"""Base class of types that receive signals at a signed URL and have their own user."""

from typing import ClassVar

from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import Signalled
from hearth.resources.heat.signed_url import signed_url
from hearth.resources.heat.stack_user import StackUser


class SignedSignal(Signalled, StackUser):
    """Base class of types whose private data contains a signed URL.

    `signed_for` is the kind of URL: "signal" or "waitcondition".
    """

    signed_for: ClassVar[str]

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (*self.user_steps(ctx, keys=True), Step("url", self.sign))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.drop_user_steps(ctx)

    async def sign(self, ctx: ResourceContext) -> Made:
        """Create the signed URL; it never changes and never expires."""
        data = ctx.data
        url = signed_url(ctx, data["access_key"], data["secret_key"], self.signed_for)
        return Made(physical_id=ctx.physical_name, data={"ec2_signed_url": url})
