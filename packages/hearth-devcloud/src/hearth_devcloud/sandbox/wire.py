"""Messages between the cloud and the keeper: JSON and file descriptors over a Unix socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

MESSAGE_MAX = 131072  # bytes
FILES_MAX = 64

Message = dict[str, Any]


def send(sock: socket.socket, message: Message, files: Sequence[int] = ()) -> None:
    """Send a message and copies of file descriptors."""
    socket.send_fds(sock, [json.dumps(message).encode()], list(files))


def receive(sock: socket.socket) -> tuple[Message | None, list[int]]:
    """Receive a message and its file descriptors.

    The message is None if the other side has closed the socket.
    """
    data, files, _, _ = socket.recv_fds(sock, MESSAGE_MAX, FILES_MAX)
    if not data:
        return None, list(files)
    message: Message = json.loads(data)
    return message, list(files)
