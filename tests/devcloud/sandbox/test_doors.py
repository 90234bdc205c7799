"""Connections that pass from a server to the outside: each ends with the other."""

import asyncio
import gc
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from hearth_devcloud.sandbox.doors import forward

LIMIT_S = 5.0
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
RESET = struct.pack("ii", 1, 0)


def ends_cleanly(near: Callable[[socket.socket], Awaitable[None]], far: Handler) -> None:
    """Run a client and a far end with a forwarder between them; nothing else may go wrong."""
    problems: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
        outside = await asyncio.start_server(far, "127.0.0.1", 0)
        target = outside.sockets[0].getsockname()
        door = await asyncio.start_server(
            forward(lambda: asyncio.open_connection(*target)), "127.0.0.1", 0
        )
        with socket.create_connection(door.sockets[0].getsockname()) as sock:
            sock.setblocking(False)
            async with asyncio.timeout(LIMIT_S):
                await near(sock)
        outside.close()
        door.close()

    asyncio.run(main())
    gc.collect()
    assert problems == []


def test_a_reset_closes_the_far_connection():
    ended = asyncio.Event()

    async def far(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(5))
        await reader.read()
        writer.close()
        ended.set()

    async def near(sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, b"hello")
        assert await loop.sock_recv(sock, 5) == b"hello"
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        sock.close()
        await ended.wait()

    ends_cleanly(near, far)


def test_an_answer_comes_after_the_end_of_the_request():
    async def far(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.read()
        gc.collect()  # streams of asyncio hold only weak references to the tasks that wait for them
        await asyncio.sleep(0.05)
        gc.collect()
        writer.write(asked.upper())
        writer.close()

    async def near(sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, b"hello")
        sock.shutdown(socket.SHUT_WR)
        assert await loop.sock_recv(sock, 5) == b"HELLO"

    ends_cleanly(near, far)


def test_a_far_end_that_is_not_there_ends_the_connection():
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            target = free.getsockname()
        door = await asyncio.start_server(
            forward(lambda: asyncio.open_connection(*target)), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*door.sockets[0].getsockname())
        async with asyncio.timeout(LIMIT_S):
            assert await reader.read() == b""
        writer.close()
        door.close()

    asyncio.run(main())
