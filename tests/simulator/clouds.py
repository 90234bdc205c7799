"""Cloud connections in the simulator: all credentials lead to the same simulated cloud.

Trusts can be created and deleted.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.store.credentials import StackCredential
from hearth.store.rows import StackRow

Mishap = Callable[[str], str | None]  # what goes wrong at a call: "refused", "lost" or nothing


class Trusts:
    """The trusts that exist: for each id, its key and the user who granted it."""

    def __init__(self) -> None:
        self.living: dict[str, tuple[str, str | None]] = {}
        self._made = 0

    def make(self, key: str, trustor: str | None) -> str:
        """Create a trust with this key, granted by the user `trustor`, and return its id."""
        self._made += 1
        ident = f"trust{self._made}"
        self.living[ident] = (key, trustor)
        return ident

    def under(self, key: str | None) -> list[str]:
        """Return the ids of the trusts with this key."""
        return [ident for ident, (of, _) in self.living.items() if of == key]


class Clouds:
    """The cloud connections for one engine or for the requests of users.

    It has those methods of `StackClouds` that the engine calls. `twin` is the simulated cloud.
    `mishap` returns the fault of a call to the identity service, `trust_ends_s` how long the
    deletion of a trust takes, and `may_write` whether the engine may send write calls. By default
    there are no faults.
    """

    def __init__(
        self,
        twin: Any,
        trusts: Trusts | None = None,
        mishap: Mishap = lambda call: None,
        trust_ends_s: Callable[[], float] = lambda: 0.0,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._twin = twin
        self._trusts = Trusts() if trusts is None else trusts
        self._mishap = mishap
        self._may_write = may_write
        self._trust_ends_s = trust_ends_s  # how long a call takes that ends one

    def of(self, row: StackRow, credential: StackCredential | None) -> Any:
        return self._twin

    def users(self, row: StackRow, noted: Any) -> None:
        return None

    async def trusted(self, credential: StackCredential) -> bool:
        await asyncio.sleep(0)  # it asks identity
        known = self._trusts.living.get(credential.trust_id or "")
        return known is not None and known[1] == credential.user_id

    async def entrust(self, row: StackRow, credential: StackCredential) -> tuple[str, None]:
        key = credential.next_key or credential.trust_key or row.id
        await self._call("entrust")
        found = self._trusts.under(key)
        made = found[0] if found else self._trusts.make(key, credential.user_id)
        if self._mishap("entrusted") == "lost":
            raise NoAnswer("identity", "created, but the answer was lost")
        return made, None

    async def drop_former(self, row: StackRow, credential: StackCredential) -> None:
        for former in credential.former:
            if (seconds := self._trust_ends_s()) > 0:
                await asyncio.sleep(seconds)
            await self._call("drop")
            for one in {former.id, *self._trusts.under(former.key)}:
                self._trusts.living.pop(one, None)

    async def teardown(self, row: StackRow, credential: StackCredential | None) -> None:
        assert credential is not None
        await self.drop_former(row, credential)
        for key in (credential.next_key, row.id, credential.trust_key):
            await self._call("drop")
            for one in self._trusts.under(key):
                del self._trusts.living[one]

    async def _call(self, name: str) -> None:
        await asyncio.sleep(0)
        if not self._may_write():
            raise CloudFault("identity", 0, "LeaseLost", "The lease of this engine has ended.")
        if self._mishap(name) == "refused":
            raise CloudFault("identity", 503, "ServiceUnavailable", "identity is busy")
