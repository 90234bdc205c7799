"""Base class of resources with their own user in the stack's domain project.

Source: docs/spec/software-config.md, section 16.
"""

from collections.abc import Sequence
from typing import ClassVar

from hearth.cloud.fault import CloudFault
from hearth.resources.base import Made, ResourceContext, Step, Users
from hearth.resources.capabilities import IntentKey, MakesObject, Suspends, UsesUsers
from hearth.resources.heat.objects import ORPHAN, drop_orphan
from hearth.resources.heat.password import password_of

USER = "user:"  # before the id of an orphan user, which is not the resource's object
PAIR = "pair:"  # before the access key of an orphan key pair, which is no user


class StackUser(MakesObject, Suspends, UsesUsers):
    """Base class of resources that can have their own user.

    The private data of such a resource contains the user's id and password and, if the user has a
    key pair, its access key and secret key.
    """

    orphan_prefixes: ClassVar[tuple[str, ...]] = (USER, PAIR, ORPHAN)
    identified_by = IntentKey.NATURAL_KEY
    known_by = (
        "the name and description of its user in the stack's domain project; "
        "the user has one key pair"
    )

    def user_steps(self, ctx: ResourceContext, *, keys: bool = False) -> tuple[Step, ...]:
        """Return the steps that create the user and, if `keys` is true, its key pair."""
        pair = (Step("key-pair", self.make_keys, self.find_keys),) if keys else ()
        return (Step("user", self.make_user, self.find_user), *pair)

    def drop_user_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that delete the user with its key pairs."""
        return (Step("drop-user", self.drop_user),) if ctx.data.get("user_id") else ()

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("shut-out", self.shut_out),) if ctx.data.get("user_id") else ()

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("let-in", self.let_in),) if ctx.data.get("user_id") else ()

    def password(self, ctx: ResourceContext) -> str:
        """Return the user's password, which is the same for each attempt."""
        return password_of(ctx)

    async def make_user(self, ctx: ResourceContext) -> Made:
        """Create the user."""
        password = self.password(ctx)
        user_id = await users_of(ctx).make(ctx.physical_name, password, key=ctx.key)
        return Made(data={"user_id": user_id, "password": password})

    async def find_user(self, ctx: ResourceContext) -> Made | None:
        """Return the user that an earlier attempt created, or None.

        If that attempt created the user but did not finish its setup, finish it.
        """
        user_id = await users_of(ctx).find(ctx.physical_name, key=ctx.key)
        return None if user_id is None else await self.make_user(ctx)

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        return [*await self._orphan_users(ctx), *await self.orphan_objects(ctx)]

    async def orphan_objects(self, ctx: ResourceContext) -> Sequence[str]:
        """Return the Swift object that a lost call left, as `objects.orphan_objects` does."""
        return ()

    async def _orphan_users(self, ctx: ResourceContext) -> Sequence[str]:
        if ctx.users is None:
            return ()
        user_id = await ctx.users.find(ctx.physical_name, key=ctx.key)
        if user_id is None:
            return ()
        if user_id != ctx.data.get("user_id"):
            return (f"{USER}{user_id}",)
        ours = ctx.data.get("access_key")
        pairs = await ctx.users.key_pairs(user_id) if ours else []
        return [f"{PAIR}{access}" for access in pairs if access != ours]

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        if physical_id.startswith(ORPHAN):
            await drop_orphan(ctx, physical_id)
        elif physical_id.startswith(PAIR):
            access = physical_id.removeprefix(PAIR)
            await users_of(ctx).drop_key_pair(ctx.data["user_id"], access)
        else:
            await users_of(ctx).drop(physical_id.removeprefix(USER), key=ctx.key)

    async def make_keys(self, ctx: ResourceContext) -> Made:
        """Return the user's key pair; create it if there is none."""
        access, secret = await users_of(ctx).key_pair(ctx.data["user_id"], key=ctx.key)
        return Made(data={"access_key": access, "secret_key": secret})

    async def find_keys(self, ctx: ResourceContext) -> Made | None:
        """Return the key pair that an earlier attempt created, or None."""
        pairs = await users_of(ctx).key_pairs(ctx.data["user_id"])
        return await self.make_keys(ctx) if pairs else None

    async def drop_user(self, ctx: ResourceContext) -> Made:
        """Delete the user with its key pairs."""
        await users_of(ctx).drop(ctx.data["user_id"], key=ctx.key)
        keys = {"access_key": None, "secret_key": None}
        return Made(data={"user_id": None, "password": None, **keys})

    async def shut_out(self, ctx: ResourceContext) -> Made | None:
        """Disable the user."""
        await users_of(ctx).enable(ctx.data["user_id"], key=ctx.key, enabled=False)
        return None

    async def let_in(self, ctx: ResourceContext) -> Made | None:
        """Enable the user."""
        await users_of(ctx).enable(ctx.data["user_id"], key=ctx.key, enabled=True)
        return None


def users_of(ctx: ResourceContext) -> Users:
    """Return the access to the stack's users. Raises CloudFault if no stack user domain is
    configured.
    """
    if ctx.users is None:
        message = "No domain for the users of stacks is configured (stack_user_domain_name)."
        raise CloudFault("identity", 400, "StackDomainMissing", message)
    return ctx.users
