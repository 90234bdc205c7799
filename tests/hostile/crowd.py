"""Crowds: hostile clients of one or of eight projects, in a process of their own.

Each sends the same requests again and again. Those of a crowd that `reads` take the answers, the
others read nothing and connect again when they are cut off.
"""

import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Event, Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit

NICENESS = 10  # they would run elsewhere
HELD_MAX = 5  # connections of a client that reads nothing
SMALL_BUFFER = 4096
TIMEOUT_S = 60


class Asked(NamedTuple):
    """A request of a hostile client."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    new_connection: bool = False


def asked(method: str, path: str, token: str, body: Any = None, **more: Any) -> Asked:
    """A request with a token, and with a body as JSON."""
    headers = {"X-Auth-Token": token, "Content-Type": "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    return Asked(method, path, headers, data, **more)


@contextmanager
def crowd(url: str, clients: list[list[Asked]], *, reads: bool) -> Iterator[Counter[str]]:
    """Clients that each repeat their requests for as long as the block lasts.

    Yields a counter that has their answers by status after the block.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(url, clients, reads, theirs), daemon=True)
    process.start()
    counts: Counter[str] = Counter()
    try:
        assert ours.recv() == "ready"
        yield counts
    finally:
        ours.send("stop")
        if ours.poll(TIMEOUT_S):
            counts.update(ours.recv())
        process.kill()
        process.join()
        process.close()
        ours.close()
        theirs.close()


def _run(url: str, clients: list[list[Asked]], reads: bool, parent: Connection) -> None:
    os.nice(NICENESS)
    over = Event()
    counts: Counter[str] = Counter()
    act = _reading if reads else _holding
    threads = [
        Thread(target=act, args=(url, requests, over, counts), daemon=True) for requests in clients
    ]
    for one in threads:
        one.start()
    parent.send("ready")
    parent.recv()
    over.set()
    for one in threads:
        one.join(5)
    parent.send(dict(counts))


def _reading(url: str, requests: list[Asked], over: Event, counts: Counter[str]) -> None:
    place = urlsplit(url)
    line: HTTPConnection | None = None
    while not over.is_set():
        for one in requests:
            try:
                line = line or HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_S)
                line.request(one.method, one.path, one.body, one.headers)
                answer = line.getresponse()
                answer.read()
                counts[str(answer.status)] += 1
            except (OSError, HTTPException) as problem:
                counts[type(problem).__name__] += 1
                time.sleep(0.05)
                line = _closed(line)
            if one.new_connection:
                line = _closed(line)
            if over.is_set():
                break
    _closed(line)


def _closed(line: HTTPConnection | None) -> None:
    if line is not None:
        line.close()


def _holding(url: str, requests: list[Asked], over: Event, counts: Counter[str]) -> None:
    place = urlsplit(url)
    held: list[socket.socket] = []
    while not over.is_set():
        for one in requests:
            if len(held) < HELD_MAX:
                with suppress(OSError):
                    held.append(_sent(place.hostname or "", place.port or 80, one))
                    counts["sent"] += 1
        for sock in list(held):
            if _cut_off(sock):
                counts["cut off"] += 1
                held.remove(sock)
                sock.close()
        over.wait(0.1)
    for sock in held:
        sock.close()


def _sent(host: str, port: int, one: Asked) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    sock.settimeout(TIMEOUT_S)
    sock.connect((host, port))
    fields = {"Host": "x", "Content-Length": str(len(one.body)), **one.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    sock.sendall(f"{one.method} {one.path} HTTP/1.1\r\n{head}\r\n".encode() + one.body)
    return sock


def _cut_off(sock: socket.socket) -> bool:
    """Whether the server has reset the connection."""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0 or _state(sock) != ESTABLISHED


ESTABLISHED = 1


def _state(sock: socket.socket) -> int:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
