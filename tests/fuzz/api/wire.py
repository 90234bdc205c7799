"""Requests as the bytes that go over the wire, also those that no library would send."""

import contextlib
import http.client
import socket
import time
from dataclasses import dataclass
from email.message import Message

TIMEOUT_S = 60.0
READ_MAX = 32 << 20


@dataclass(frozen=True)
class Sent:
    """A request. `path` includes the query, `why` are the words about what is wrong with it.

    Characters that no request line may contain are percent-encoded, unless `raw` is true.
    """

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    why: str = ""
    raw: bool = False
    chunked: bool = False

    def octets(self, host: str) -> bytes:
        """Return the whole request."""
        line = f"{self.method} ".encode("utf-8", "replace") + self._path() + b" HTTP/1.1\r\n"
        head = [line, f"Host: {host}\r\nConnection: close\r\n".encode()]
        for name, value in self.headers:
            head.append(f"{name}: ".encode() + _octets(value) + b"\r\n")
        body = self.body
        if self.chunked:
            head.append(b"Transfer-Encoding: chunked\r\n")
            chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b""
            body = chunk + b"0\r\n\r\n"
        elif body or self.method in ("POST", "PUT", "PATCH"):
            head.append(f"Content-Length: {len(body)}\r\n".encode())
        return b"".join(head) + b"\r\n" + body

    def _path(self) -> bytes:
        octets = self.path.encode("utf-8", "surrogatepass")
        if self.raw:
            return octets
        return b"".join(
            bytes([one]) if 0x21 <= one <= 0x7E else f"%{one:02X}".encode() for one in octets
        )


def _octets(value: str) -> bytes:
    """A value of a header, in which a line cannot end."""
    return value.encode("utf-8", "surrogatepass").replace(b"\r", b"%0D").replace(b"\n", b"%0A")


@dataclass(frozen=True)
class Answer:
    """An answer. If there is none, the status is 0 and `text` says why."""

    status: int
    headers: Message
    text: str
    seconds: float


def exchange(address: tuple[str, int], sent: Sent) -> Answer:
    """Send a request on a connection of its own; return the answer."""
    begun = time.monotonic()
    try:
        with socket.create_connection(address, TIMEOUT_S) as link:
            _send(link, sent.octets(f"{address[0]}:{address[1]}"))
            reply = http.client.HTTPResponse(link, method=sent.method)
            try:
                reply.begin()
                text = reply.read(READ_MAX).decode("utf-8", "replace")
            finally:
                reply.close()
    except (http.client.HTTPException, OSError, ValueError) as error:
        words = f"no answer: {error!r}"
        return Answer(0, Message(), words, time.monotonic() - begun)
    return Answer(reply.status, reply.headers, text, time.monotonic() - begun)


def _send(link: socket.socket, octets: bytes) -> None:
    """Send all of it, unless the other end refuses it before."""
    with contextlib.suppress(ConnectionError):
        link.sendall(octets)
