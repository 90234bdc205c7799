"""The end of the connections of a test's own servers."""

import asyncio
from typing import Any


async def abort_connections() -> None:
    """Close all connections of the running loop at once.

    Closing a server leaves those that it has just accepted, and those whose other side must still
    answer the end of TLS; the loop would be gone before they are.
    """
    loop: Any = asyncio.get_running_loop()
    await asyncio.sleep(0.01)  # what was accepted last has its connection from the next tick on
    for transport in list(loop._transports.values()):
        if transport._sock is not None:  # else it is closed
            transport.abort()
    await asyncio.sleep(0.01)
