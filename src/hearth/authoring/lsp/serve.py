"""`hearth lsp`: the server on standard input and output, or on a port."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading

from pygls.io_ import run_async

from hearth.authoring.lsp.completion_items import types_of
from hearth.authoring.lsp.server import HearthServer
from hearth.model import collector

HOST = "127.0.0.1"

COLLECT_AFTER = (100_000, 50, 50)
"""The thresholds of garbage collection. It runs rarely, because it delays all responses and texts
leave almost no garbage.
"""


def serve(port: int | None) -> int:
    """Serve one editor until it disconnects; return the exit status of the process.

    If `port` is None, standard input and output are used. The status is 0 if the editor has sent
    `shutdown`, 130 after Ctrl-C, and 1 otherwise.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)
    server = HearthServer()
    types_of(server.schemas.catalog)  # the first to ask should not wait for them
    collector.server(COLLECT_AFTER)
    try:
        if port is None:
            _standard(server)
        else:
            asyncio.run(_port(server, port))
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        sys.stderr.write(f"hearth lsp: {error}\n")
        return 1
    return 0 if server.protocol.was_shut_down else 1


def _standard(server: HearthServer) -> None:
    """Serve the editor on standard input and output.

    Everything else that is printed is redirected to standard error.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server.start_io(sys.stdin.buffer, answers)


async def _port(server: HearthServer, port: int) -> None:
    """Serve the first client that connects to the port."""
    connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    connected = asyncio.get_running_loop().create_future()

    def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result((reader, writer))

    listener = await asyncio.start_server(connect, HOST, port)
    address = listener.sockets[0].getsockname()
    sys.stderr.write(f"hearth lsp: listening on {address[0]}:{address[1]}\n")
    sys.stderr.flush()
    reader, writer = await connected
    server.protocol.set_writer(writer)
    stop = threading.Event()
    await run_async(stop, reader, server.protocol, None, server.report_server_error)
