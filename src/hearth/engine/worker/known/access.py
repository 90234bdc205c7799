"""Access of an owned stack to its cloud: credential, trust, users, and ids found by name."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.engine.endpoints import stack_facts
from hearth.engine.worker.known.memory import Memory
from hearth.engine.worker.ports import Tools
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceType, StackFacts, Users
from hearth.resources.lookup import Names
from hearth.resources.translate import resolve
from hearth.store import credentials
from hearth.store.credentials import FormerTrust, StackCredential
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)


class Access:
    """The stack's cloud, used with the credential of the operation.

    `wake` makes the loop of the stack's worker commit changes.
    """

    def __init__(self, tools: Tools, memory: Memory, wake: Callable[[], None]) -> None:
        self.credential: StackCredential | None = None
        self._tools = tools
        self._memory = memory
        self._wake = wake
        self._facts: tuple[StackRow, StackFacts] | None = None
        self._cloud: tuple[StackRow, StackCredential | None, Cloud] | None = None
        self._names: Names | None = None  # ids by name, shared by the nodes that begin together
        self._kept_former = False  # deleting them failed

    def cloud(self) -> Cloud:
        """Return the cloud; it is looked up again only if the stack's row or credential changes."""
        stack, cached = self._memory.stack, self._cloud
        if cached is None or cached[0] is not stack or cached[1] is not self.credential:
            cloud = self._tools.clouds.of(stack, self.credential)
            cached = self._cloud = (stack, self.credential, cloud)
        return cached[2]

    def users(self) -> Users | None:
        """Return the users in the stack's domain project, or None if neither a stack domain nor a
        service user is configured.
        """
        return self._tools.clouds.users(self._memory.stack, self._memory.note_user_project)

    def facts(self) -> StackFacts:
        """Return the facts about the stack; they are computed once for all its resources."""
        stack, cached = self._memory.stack, self._facts
        if cached is None or cached[0] is not stack:
            cached = self._facts = (stack, stack_facts(stack, self._tools.endpoints))
        return cached[1]

    # -- names -----------------------------------------------------------------------------

    async def resolve(
        self, rtype: ResourceType, properties: Mapping[str, Any], *, strict: bool = True
    ) -> Mapping[str, Any]:
        """Return the properties after the type's translation rules, which also replace names by
        ids.

        Raises Rejected if a name is not found; unless `strict` is true, the name stays as it is.
        """
        if not rtype.translation:
            return properties
        if self._names is None:
            self._names = Names(self.cloud())
        resolved = await resolve(properties, rtype.translation, self._names)
        if strict and resolved.problems:
            raise Rejected(resolved.problems)
        return resolved.properties

    def forget_names(self) -> None:
        """Clear the cache of ids by name, because completed nodes may have created or deleted
        objects.
        """
        self._names = None

    # -- the trust -------------------------------------------------------------------------

    async def entrust(self) -> None:
        """Create a trust for a root stack, with the last requester as trustor, unless the stack has
        a valid one.

        The trust remains valid after the requester's token expires; an application credential may
        take its place. A delete of a stack without a trust needs none. If the trust replaces
        another one, the key that finds it again is new and is stored before the call. The replaced
        trust is deleted when no node runs any more. Raises CloudFault.
        """
        stack = self._memory.stack
        if self.credential is None or stack.parent_id is not None:
            return
        clouds, delete = self._tools.clouds, stack.action is Action.DELETE
        old = self.credential.trust_id
        if (delete and not old) or await clouds.trusted(self.credential):
            return
        if old and not self.credential.next_key:
            id_, new = str(stack.credential_id), self._tools.new_id()
            key = await self._tools.store.run(lambda tx: credentials.next_key(tx, id_, new))
            self.credential = structs.replace(self.credential, next_key=key)
        trust_id, secret = await clouds.entrust(self._memory.stack, self.credential)
        now = self.credential
        former = now.former
        if old:
            owner = now.trustor if now.app_secret else None
            former = (*former, FormerTrust(old, now.trust_key or stack.id, owner))
        self._note_credential(
            {
                "trust_id": trust_id,
                "app_secret": secret,
                "trustor": now.user_id,
                "trust_key": now.next_key or stack.id,
                "next_key": None,
                "former": former,
            }
        )

    def has_former(self) -> bool:
        """Return whether replaced trusts must be deleted now, because the root stack is idle."""
        stack = self._memory.stack
        ended = stack.status is not Status.IN_PROGRESS and stack.deleted_at is None
        ended = ended and stack.parent_id is None
        former = self.credential is not None and self.credential.former
        return bool(ended and former and not self._kept_former)

    async def drop_former(self) -> None:
        """Delete the replaced trusts. Call this only while no node runs, because nodes may use
        them.
        """
        assert self.credential is not None
        dropped = self.credential.former
        try:
            await self._tools.clouds.drop_former(self._memory.stack, self.credential)
        except CloudFault as fault:
            message = "stack %s: a replaced trust remains for now: %s"
            log.warning(message, self._memory.stack_id, fault)
            self._kept_former = True
            return
        former = self.credential.former  # another trust may have been replaced meanwhile
        self._note_credential({"former": tuple(trust for trust in former if trust not in dropped)})

    def reload(self, credential: StackCredential | None) -> None:
        """Replace the credential by its row, updated with the changes that are not committed
        yet.
        """
        uncommitted = self._memory.always.credential
        if uncommitted is not None and credential is not None:
            credential = structs.replace(credential, **uncommitted[1])
        self.credential = credential

    def _note_credential(self, changes: Mapping[str, Any]) -> None:
        credential_id = self._memory.stack.credential_id
        assert credential_id is not None
        assert self.credential is not None
        self.credential = structs.replace(self.credential, **changes)
        always = self._memory.always
        before = always.credential[1] if always.credential else {}
        always.credential = (credential_id, {**before, **changes})
        self._wake()
