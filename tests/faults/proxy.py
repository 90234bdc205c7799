"""A proxy in front of a database server that loses answers of COMMITs, or all bytes, on request.

It stands for what a fail-over, a pooler or a load balancer does to a connection: the server has the
COMMIT, or does not, and the client never hears.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import sqlalchemy as sa

SERVER_S = 10.0  # how long the answer that is thrown away is waited for
BLOCK = 1 << 16


@dataclass
class Loss:
    """One COMMIT to lose: after the server carried it out, or before it came there.

    `of` is a text that the transaction must have sent; `spared` COMMITs go through before.
    """

    carried_out: bool = True
    of: bytes = b""
    spared: int = 0


class LossyProxy:
    """Listens on a port of its own, at the address `here`, and forwards to `host:port`."""

    def __init__(self, host: str, port: int, here: str = "127.0.0.1") -> None:
        self._target = host, port
        self._lock = threading.Lock()
        self._losses: list[Loss] = []
        self._flows = threading.Event()
        self._flows.set()
        self.lost = 0
        self._listener = socket.create_server((here, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, *losses: Loss) -> None:
        """Lose these, one after the other."""
        with self._lock:
            self._losses += losses

    def lose_no_more(self) -> None:
        """Forget what is still to be lost."""
        with self._lock:
            self._losses.clear()

    def hold(self) -> None:
        """Let no byte through, in no direction, and close nothing: what a network does in which a
        route is lost."""
        self._flows.clear()

    def let_go(self) -> None:
        """Let everything through again, also what was held back."""
        self._flows.set()

    def close(self) -> None:
        self.let_go()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self._target) as server:
            back_cut = threading.Event()
            back = threading.Thread(target=self._copy, args=(server, client, back_cut), daemon=True)
            back.start()
            sent = bytearray()  # in this transaction
            while block := client.recv(BLOCK):
                self._flows.wait()
                sent += block
                if not _is_commit(block):
                    server.sendall(block)
                    continue
                loss = self._due(bytes(sent))
                sent.clear()
                if loss is None:
                    server.sendall(block)
                    continue
                back_cut.set()
                if loss.carried_out:
                    server.sendall(block)
                    back.join(SERVER_S)  # the answer arrives, and nobody gets it
                server.shutdown(socket.SHUT_RDWR)
                return
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)

    def _copy(self, source: socket.socket, target: socket.socket, cut: threading.Event) -> None:
        with suppress(OSError):
            while block := source.recv(BLOCK):
                self._flows.wait()
                if cut.is_set():
                    return
                target.sendall(block)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _due(self, sent: bytes) -> Loss | None:
        with self._lock:
            opened = b"SET SESSION" in sent  # by the pool, for a new connection
            if opened or not self._losses or self._losses[0].of not in sent:
                return None
            if self._losses[0].spared > 0:
                self._losses[0].spared -= 1
                return None
            self.lost += 1
            return self._losses.pop(0)


def _is_commit(block: bytes) -> bool:
    return b"COMMIT" in block[-8:]


@contextmanager
def in_front_of(url: str, here: str = "127.0.0.1") -> Iterator[tuple[str, LossyProxy]]:
    """The URL of a database by way of a proxy, and the proxy, which listens at `here`."""
    parsed = sa.make_url(url)
    default = 5432 if parsed.get_backend_name() == "postgresql" else 3306
    proxy = LossyProxy(parsed.host or "127.0.0.1", parsed.port or default, here)
    plain = parsed.set(host=here, port=proxy.port)
    if parsed.get_backend_name() == "postgresql":
        plain = plain.update_query_dict({"sslmode": "disable", "gssencmode": "disable"})
    try:
        yield plain.render_as_string(hide_password=False), proxy
    finally:
        proxy.close()
