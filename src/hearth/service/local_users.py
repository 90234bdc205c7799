"""The users of a stack whose state is in a file. They are not in Keystone.

The id of a user, which is also its access key, is the id of the record for which it was created.
Its secret key and its token are in the private data of that record. So they are valid as long as
the record has them, and the next command finds them again.
"""

import secrets
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.state import Action
from hearth.resources.base import Users
from hearth.service.caller import Caller
from hearth.store import reads
from hearth.store.database import Store, Tx
from hearth.store.rows import StackRow

NO_ADDRESS = "It needs an address of Hearth, and this command has none; use --serve or a service."
NO_KEYSTONE = "It needs a user in Keystone, which only a service creates; use a service."


class LocalUser(Struct, frozen=True):
    """A user as the caller of requests; `data` is the private data of its record."""

    caller: Caller
    data: Mapping[str, str] = field(default_factory=dict)


def local_user(tx: Tx, user_id: str) -> LocalUser | None:
    """Return a user; None if there is none with this id, or if its resource is suspended."""
    record_and_row = reads.record_with_stack(tx, user_id)
    if record_and_row is None:
        return None
    record, row = record_and_row
    _, data, _ = reads.data_of(tx, user_id)
    if data.get("user_id") != user_id or record.action is Action.SUSPEND:
        return None
    roles = frozenset({STACK_USER_ROLE})
    return LocalUser(Caller(user_id, record.name, row.user_project_id or "", roles), data)


def owner_of_token(token: str) -> str:
    """Return the id of the user to whom a token belongs if it is valid."""
    return token.partition(".")[0]


class LocalUsers(Users):
    """Manages the users of the stack `row`; their project is that of the stack.

    If `reachable` is false, no user is created, because nobody can send a request as that user.
    `on_project` is called with the id of the project when the first user is created.
    """

    def __init__(
        self, store: Store, row: StackRow, on_project: Callable[[str], None], *, reachable: bool
    ) -> None:
        self._store = store
        self._row = row
        self._on_project = on_project
        self._reachable = reachable

    async def make(self, name: str, password: str, *, key: str) -> str:
        if not self._reachable:
            raise CloudFault("identity", 400, "NoAddress", NO_ADDRESS)
        if self._row.user_project_id is None:
            self._on_project(self._row.project_id)
        return key

    async def find(self, name: str, *, key: str) -> str | None:
        return (await self._data(key)).get("user_id")

    async def named(self, name: str) -> str | None:
        return None

    async def key_pair(self, user_id: str, *, key: str) -> tuple[str, str]:
        _demand_own(user_id, key)
        secret = (await self._data(user_id)).get("secret_key")
        return user_id, secret or secrets.token_hex(32)

    async def keep_key_pair(self, user_id: str, access: str, secret: str) -> None:
        raise CloudFault("identity", 400, "NoKeystone", NO_KEYSTONE)

    async def key_pairs(self, user_id: str) -> list[str]:
        return [user_id] if "secret_key" in await self._data(user_id) else []

    async def drop_key_pair(self, user_id: str, access: str) -> None:
        """Do nothing: the record drops the key pair."""

    async def enable(self, user_id: str, *, key: str, enabled: bool) -> None:
        """Do nothing: a user is disabled while its resource is suspended."""
        _demand_own(user_id, key)

    async def drop(self, user_id: str, *, key: str) -> None:
        """Do nothing: the record drops the user."""
        _demand_own(user_id, key)

    async def token(self, user_id: str, password: str) -> str:
        return f"{user_id}.{secrets.token_urlsafe(32)}"

    async def cloud(self, user_id: str, password: str) -> Cloud:
        raise CloudFault("identity", 400, "NoKeystone", NO_KEYSTONE)

    async def _data(self, user_id: str) -> dict[str, str]:
        _, data, _ = await self._store.read(lambda tx: reads.data_of(tx, user_id))
        return data


def _demand_own(user_id: str, key: str) -> None:
    """Raise CloudFault if the user was not created under the intent key `key`."""
    if user_id != key:
        message = f"User {user_id} was not created for this resource."
        raise CloudFault("identity", 403, "Forbidden", message)
