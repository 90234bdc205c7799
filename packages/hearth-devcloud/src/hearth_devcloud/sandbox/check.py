"""The command `python -m hearth_devcloud.sandbox.check`: can this machine run sandbox servers?

If it cannot, the command prints the reason and exits with status 1.
"""

from __future__ import annotations

import asyncio
import sys

from hearth_devcloud.sandbox.client import KeeperFailed, start_keeper


async def _try_keeper() -> None:
    await (await start_keeper(lambda _: None)).close()


if __name__ == "__main__":
    try:
        asyncio.run(_try_keeper())
    except KeeperFailed as problem:
        print(problem)
        sys.exit(1)
