"""Bodies that arrive in pieces."""

import asyncio
from unittest import mock

from aiohttp import StreamReader

from hearth_devcloud.streams import read_up_to


def test_a_body_in_pieces_is_read_to_its_end_or_to_the_limit():
    async def story(limit: int) -> bytes:
        loop = asyncio.get_running_loop()
        protocol = mock.Mock(_reading_paused=False)
        content = StreamReader(protocol, 2**16, loop=loop)

        async def arrive() -> None:
            for _ in range(5):
                content.feed_data(b"piece")
                await asyncio.sleep(0)
            content.feed_eof()

        arriving = asyncio.create_task(arrive())
        found = await read_up_to(content, limit)
        await arriving
        return found

    assert asyncio.run(story(100)) == b"piece" * 5
    assert asyncio.run(story(7)) == b"piecepi"
