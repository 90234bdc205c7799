"""Resources that have a user of their own in the stack's project.

Source: spec/software-config.md, section 16.
"""

import hashlib
import hmac
from collections.abc import Sequence

from hearth.cloud.fault import CloudFault
from hearth.resources.base import IntentKey, Live, Made, ResourceType, Step, Users

PASSWORD_CHARACTERS = 32
PAIR = "pair:"  # before the access key of a stray key pair, which is no user


class StackUser(ResourceType):
    """A resource with a user of its own; private data holds its id and its keys."""

    needs_users = True
    identified_by = IntentKey.NATURAL_KEY
    known_by = (
        "the name and description of its user in the stack's own project; the user has one key pair"
    )

    def user_steps(self, live: Live, *, keys: bool = False) -> tuple[Step, ...]:
        """Make the user, and its key pair if it needs one."""
        pair = (Step("key-pair", self.make_keys, self.find_keys),) if keys else ()
        return (Step("user", self.make_user, self.find_user), *pair)

    def drop_user_steps(self, live: Live) -> tuple[Step, ...]:
        """Delete the user with its keys."""
        return (Step("drop-user", self.drop_user),) if live.data.get("user_id") else ()

    def suspend_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("shut-out", self.shut_out),) if live.data.get("user_id") else ()

    def resume_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("let-in", self.let_in),) if live.data.get("user_id") else ()

    def password(self, live: Live) -> str:
        """The user's password, the same at every attempt."""
        return password_of(live)

    async def make_user(self, live: Live) -> Made:
        """Make the user."""
        password = self.password(live)
        user_id = await users_of(live).make(live.physical_name, password, key=live.key)
        return Made(data={"user_id": user_id, "password": password})

    async def find_user(self, live: Live) -> Made | None:
        """The user of an earlier attempt, given what that one may not have come to give it."""
        found = await users_of(live).find(live.physical_name, key=live.key)
        return None if found is None else await self.make_user(live)

    async def strays(self, live: Live) -> Sequence[str]:
        if live.users is None:
            return ()
        found = await live.users.find(live.physical_name, key=live.key)
        if found is None:
            return ()
        if found != live.data.get("user_id"):
            return (found,)
        ours = live.data.get("access_key")
        pairs = await live.users.key_pairs(found) if ours else []
        return [f"{PAIR}{access}" for access in pairs if access != ours]

    async def drop_stray(self, live: Live, physical_id: str) -> None:
        if physical_id.startswith(PAIR):
            access = physical_id.removeprefix(PAIR)
            await users_of(live).drop_key_pair(live.data["user_id"], access)
        else:
            await users_of(live).drop(physical_id, key=live.key)

    async def make_keys(self, live: Live) -> Made:
        """Make the key pair, or find the one there is."""
        access, secret = await users_of(live).key_pair(live.data["user_id"], key=live.key)
        return Made(data={"access_key": access, "secret_key": secret})

    async def find_keys(self, live: Live) -> Made | None:
        """The key pair of an earlier attempt."""
        there = await users_of(live).key_pairs(live.data["user_id"])
        return await self.make_keys(live) if there else None

    async def drop_user(self, live: Live) -> Made:
        """Delete the user."""
        await users_of(live).drop(live.data["user_id"], key=live.key)
        return Made(data={"user_id": None, "password": None, "access_key": None})

    async def shut_out(self, live: Live) -> Made | None:
        """Disable the user."""
        await users_of(live).enable(live.data["user_id"], key=live.key, enabled=False)
        return None

    async def let_in(self, live: Live) -> Made | None:
        """Enable the user."""
        await users_of(live).enable(live.data["user_id"], key=live.key, enabled=True)
        return None


def users_of(live: Live) -> Users:
    """The stack's users; without a domain for them the resource fails and says so."""
    if live.users is None:
        words = "This installation has no domain for the users of stacks."
        raise CloudFault("identity", 400, "StackDomainMissing", words)
    return live.users


def password_of(live: Live) -> str:
    """A password that follows from the record's secret."""
    seed = (live.secret() or live.key).encode()
    digest = hmac.new(seed, b"password", hashlib.sha256).hexdigest()
    return f"{digest[: PASSWORD_CHARACTERS - 2]}Aa"
