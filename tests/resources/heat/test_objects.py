"""The key of a Swift account for temporary URLs, set by several resources at once."""

import asyncio
from typing import Any

from hearth.cloud.contract import Response
from hearth.resources.heat.objects import KEY, temporary_url_key
from tests.resources.test_nulls import context_of
from tests.types.case import kinds


class Account:
    """A Swift account: a read sees what was there when it began."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    async def request(self, service: str, method: str, path: str, **more: Any) -> Response:
        await asyncio.sleep(0)
        seen = dict(self.headers)
        await asyncio.sleep(0)
        if method == "POST":
            (key,) = more["headers"].values()
            self.headers[KEY] = key
        return Response(204, seen, None)


def test_all_who_set_the_key_at_once_set_the_same():
    async def story() -> list[str]:
        account = Account()

        async def late(number: int) -> str:
            ctx = context_of(
                kinds()["OS::Heat::SwiftSignalHandle"], {}, secret=lambda: str(number),
                account_secret=lambda: "of the project",
            )  # fmt: skip
            ctx.cloud = account
            for _ in range(number):
                await asyncio.sleep(0)
            return await temporary_url_key(ctx)

        return [*await asyncio.gather(*map(late, range(6))), account.headers[KEY]]

    assert set(asyncio.run(story())) == {"of the project"}
