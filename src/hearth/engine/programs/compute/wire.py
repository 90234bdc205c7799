"""Messages between this process and its computing processes: a length, then a pickle.

Unpickling is safe because both ends are processes of Hearth. User-supplied code is only text inside
a message.
"""

import pickle
import socket
import struct
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

HEAD = struct.Struct("!Q")
FRAME_MAX = 1 << 30
CHUNK = 1 << 20
KEPT_MIN = 16 * 1024  # bytes; shorter values are pickled quickly


class Closed(Exception):
    """The process at the other end has closed the connection, or its message is too long."""


def pack(value: Any) -> bytes:
    """Return a value as the bytes of a message."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes | bytearray) -> Any:
    """Return the value in the bytes of a message."""
    return pickle.loads(data)  # noqa: S301 - it comes from a process of our own


class Packed(Struct, frozen=True):
    """A value inside a message, as a message of its own."""

    data: bytes


class Packs:
    """The messages of values that came from computing processes, for as long as the values exist.

    Pickling a large template takes tens of milliseconds, in which no other thread runs.
    """

    def __init__(self) -> None:
        self._known = WeakKeyDictionary[Any, Packed]()
        self._lock = Lock()

    def unpacked(self, packed: Packed) -> Any:
        """Return the value of a message, which is kept if it is long."""
        value = unpack(packed.data)
        if len(packed.data) >= KEPT_MIN and _weakly_referable(value):
            with self._lock:
                self._known[value] = packed
        return value

    def packed(self, value: Any) -> Any:
        """Return the message of a value if it is known, otherwise the value."""
        if not _weakly_referable(value):
            return value
        with self._lock:
            return self._known.get(value, value)

    def share(self, value: Any, copy: Any) -> None:
        """Use the message of `value`, if it is known, for an equal `copy`, too."""
        with self._lock:
            if (packed := self._known.get(value)) is not None:
                self._known.setdefault(copy, packed)


def _weakly_referable(value: Any) -> bool:
    return type(value).__weakrefoffset__ != 0


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
