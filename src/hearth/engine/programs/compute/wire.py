"""Messages between this process and its computing processes: a length, then a pickle.

Unpickling is safe because both ends are processes of Hearth. User-supplied code is only text inside
a message.
"""

import pickle
import socket
import struct
from typing import Any

HEAD = struct.Struct("!Q")
FRAME_MAX = 1 << 30
CHUNK = 1 << 20


class Closed(Exception):
    """The process at the other end has closed the connection, or its message is too long."""


def pack(value: Any) -> bytes:
    """Return a value as the bytes of a message."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes | bytearray) -> Any:
    """Return the value in the bytes of a message."""
    return pickle.loads(data)  # noqa: S301 - it comes from a process of our own


def send(sock: socket.socket, data: bytes) -> None:
    """Send a message. Raises Closed, TimeoutError."""
    try:
        sock.sendall(HEAD.pack(len(data)))
        sock.sendall(data)
    except (BrokenPipeError, ConnectionError):
        raise Closed from None


def receive(sock: socket.socket) -> bytearray:
    """Return the next message. Raises Closed, TimeoutError."""
    (length,) = HEAD.unpack(_exactly(sock, HEAD.size))
    if length > FRAME_MAX:
        raise Closed
    return _exactly(sock, length)


def _exactly(sock: socket.socket, count: int) -> bytearray:
    data = bytearray(count)
    view, at = memoryview(data), 0
    while at < count:
        try:
            got = sock.recv_into(view[at : at + CHUNK])
        except ConnectionError:
            raise Closed from None
        if not got:
            raise Closed
        at += got
    return data
