"""The users in the domain project of a stack."""

from collections.abc import Callable

from hearth.cloud.contract import Cloud, Clouds
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.fault import NotFound
from hearth.cloud.identity import KeyPair, StackDomain
from hearth.resources.base import Users
from hearth.store.rows import StackRow


class StackUsers(Users):
    """Manages users for software in servers; they belong to the domain project of the root stack.

    `on_project` is called with the project's id when the project is created.
    """

    def __init__(
        self,
        pool: Clouds,
        domain: StackDomain,
        row: StackRow,
        on_project: Callable[[str], None],
    ) -> None:
        self._pool = pool
        self._domain = domain
        self._root_id = row.root_id
        self._project_id = row.user_project_id
        self._is_own = row.user_project_id == row.project_id  # that of the stack itself
        self._on_project = on_project

    @property
    def domain_id(self) -> str | None:
        return self._domain.domain_id

    async def project(self) -> str:
        """Return the id of the domain project, which is created if necessary."""
        if self._project_id is None:
            self._project_id = await self._domain.make_project(self._root_id, key=self._root_id)
            self._on_project(self._project_id)
        return self._project_id

    async def make(self, name: str, password: str, *, key: str) -> str:
        try:
            return await self._domain.make_user(name, await self.project(), password, key=key)
        except NotFound:
            if not await self._lost_project():
                raise
        return await self._domain.make_user(name, await self.project(), password, key=key)

    async def _lost_project(self) -> bool:
        """Return whether somebody else deleted the domain project; then the next call of `project`
        creates it again.
        """
        project_id = self._project_id
        if self._is_own or project_id is None or await self._domain.has_project(project_id):
            return False
        self._project_id = None
        return True

    async def find(self, name: str, *, key: str) -> str | None:
        return await self._domain.find_user(name, key=key)

    async def named(self, name: str) -> str | None:
        return await self._domain.user_of_project(name, await self.project())

    async def key_pair(self, user_id: str, *, key: str) -> tuple[str, str]:
        if not await self._has(user_id, key):
            raise NotFound("identity", f"There is no user {user_id}.")
        pair = await self._domain.make_key_pair(user_id, await self.project())
        return pair.access, pair.secret

    async def keep_key_pair(self, user_id: str, access: str, secret: str) -> None:
        pair = KeyPair(access, secret)
        await self._domain.keep_key_pair(user_id, await self.project(), pair)

    async def key_pairs(self, user_id: str) -> list[str]:
        pairs = await self._domain.key_pairs(user_id, await self.project())
        return [pair.access for pair in pairs]

    async def drop_key_pair(self, user_id: str, access: str) -> None:
        if access in await self.key_pairs(user_id):
            await self._domain.drop_key_pair(user_id, access)

    async def enable(self, user_id: str, *, key: str, enabled: bool) -> None:
        if not await self._has(user_id, key):
            raise NotFound("identity", f"There is no user {user_id}.")
        await self._domain.enable_user(user_id, enabled=enabled)

    async def drop(self, user_id: str, *, key: str) -> None:
        if await self._has(user_id, key):
            await self._domain.drop_user(user_id)

    async def token(self, user_id: str, password: str) -> str:
        return await (await self.cloud(user_id, password)).token()

    async def cloud(self, user_id: str, password: str) -> Cloud:
        service = self._pool.config.domain_admin or self._pool.config.service_user
        assert service is not None
        credential = PasswordCredential(
            service.auth_url,
            "",
            password,
            user_id=user_id,
            project_id=await self.project(),
        )
        return self._pool.cloud(credential)

    async def _has(self, user_id: str, key: str) -> bool:
        """Return whether the user with this id exists and was created for the record with the id
        `key`.

        Raises CloudFault if the user was created for another record.
        """
        project_id = self._project_id
        if project_id is None:  # created by an attempt whose answer was lost, or never
            project_id = await self._domain.find_project(self._root_id, key=self._root_id)
        return await self._domain.has_user(user_id, project_id, key=key)
