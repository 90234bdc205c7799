"""What a pool keeps: a Cloud while its credential is used, and nothing for ever."""

import asyncio
from collections.abc import Callable

import pytest

from hearth.cloud import recent
from hearth.cloud.config import CloudLocation
from hearth.cloud.credential import Credential, PasswordCredential, TokenCredential, TrustCredential
from hearth.cloud.pool import CloudPool

SERVICE = PasswordCredential("http://keystone", "hearth", "secret")
KINDS: dict[str, Callable[[int], Credential]] = {
    "trusts": lambda n: TrustCredential(SERVICE, f"trust-{n}"),
    "tokens": lambda n: TokenCredential("http://keystone", f"token-{n}"),
    "tokens of a project": lambda n: TokenCredential("http://keystone", f"token-{n}", "project"),
}


class Clock:
    """Replaces the module time of the cache."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(recent, "time", found)
    return found


def sizes(pool: CloudPool) -> dict[str, int]:
    """The lengths of everything in a pool that has a length."""
    return {n: len(one) for n, one in vars(pool).items() if hasattr(one, "__len__")}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_kept_of_credentials_that_nobody_uses_any_more(clock: Clock, kind: str) -> None:
    async def story() -> None:
        pool = CloudPool()
        used = pool.cloud(SERVICE)
        before: dict[str, int] = {}
        for number in range(200):
            clock.now += recent.KEPT_S / 20
            pool.cloud(KINDS[kind](number), CloudLocation("other" if number % 2 else None))
            assert pool.cloud(SERVICE) is used  # in use all the time
            if number == 60:
                before = sizes(pool)
        assert sizes(pool) == before
        assert before["_clouds"] <= 22
        await pool.aclose()

    asyncio.run(story())


def test_there_is_a_maximum_of_credentials_in_use(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "MOST", 10)

    async def story() -> None:
        pool = CloudPool()
        first = pool.cloud(KINDS["trusts"](0))
        for number in range(50):
            pool.cloud(KINDS["trusts"](number))
        assert sizes(pool)["_clouds"] == sizes(pool)["_per_project"] == 10
        assert pool.cloud(KINDS["trusts"](0)) is not first
        assert pool.cloud(KINDS["trusts"](49)) is pool.cloud(KINDS["trusts"](49))
        await pool.aclose()

    asyncio.run(story())
