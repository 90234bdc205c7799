"""The Linux networks of all sandbox servers.

Each network has a bridge, and each router, load balancer and server has a network namespace. A
document describes the desired networks; `apply` creates, changes and removes what differs. Bridges
have no addresses, so networks are connected only by routers. This module uses `ip` of iproute2 and,
if it is installed, `nft` for security groups and NAT.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth_devcloud.sandbox import kernel, loopback

ROUTER = "router-"
BALANCER = "balancer-"
_MADE_HERE = (ROUTER, BALANCER)  # prefixes of namespaces that the fabric creates itself
METADATA = "169.254.169.254"
_SYSCTL = Path("/proc/sys/net")

Document = dict[str, Any]


def programs() -> tuple[str | None, str | None]:
    """Return the paths of the programs `ip` and `nft`, or None for a missing one.

    They are also found in /usr/sbin and /sbin, which the PATH of ordinary users may not contain.
    """
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return shutil.which("ip", path=path), shutil.which("nft", path=path)


@dataclass
class _Place:
    """A network namespace with its current ports, routes and nft rules."""

    netns: int
    ports: dict[str, Document] = field(default_factory=dict)
    routes: list[list[str]] = field(default_factory=list)
    rules: str = ""


class Fabric:
    """The bridges and network namespaces of all networks, routers, load balancers and servers."""

    def __init__(self) -> None:
        self._ip, self._nft = programs()
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._bridges: set[str] = set()
        self._places: dict[str, _Place] = {}
        for kind in ("default", "all"):
            with contextlib.suppress(OSError):  # a kernel without IPv6
                (_SYSCTL / f"ipv6/conf/{kind}/disable_ipv6").write_text("1")

    @property
    def notes(self) -> list[str]:
        """Messages for the user about programs that are missing on this machine."""
        notes = []
        if self._ip is None:
            notes.append("ip (iproute2) is not installed: servers have no network")
        if self._nft is None:
            notes.append("nft is not installed: security groups and NAT of routers have no effect")
        return notes

    def join(self, name: str, netns: int) -> None:
        """Add the network namespace of a server under a name; `netns` is its file descriptor.

        At first, the server reaches only itself and the address of the metadata service.
        """
        self._places[name] = _Place(netns)
        with self._inside(netns):
            loopback.bring_up(METADATA)

    def leave(self, name: str) -> None:
        """Remove a network namespace and its ports."""
        place = self._places.pop(name, None)
        if place is not None:
            self._run([f"link del {_outer(port)}" for port in place.ports], force=True)

    def listen(self, name: str, addresses: Iterable[tuple[str, int]]) -> list[int]:
        """Return descriptors of sockets that listen on addresses inside a network namespace."""
        opened = []
        with self._inside(self._places[name].netns):
            for host, port in addresses:
                sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((host, port))
                sock.listen(128)
                opened.append(sock.detach())
        return opened

    def socket(self, name: str) -> int:
        """Return the descriptor of a new TCP socket inside a network namespace."""
        with self._inside(self._places[name].netns):
            return socket.socket(socket.AF_INET, socket.SOCK_STREAM).detach()

    def apply(self, document: Document) -> None:
        """Change bridges, namespaces and ports to the state that a document describes.

        Raises OSError.
        """
        networks: set[str] = set(document["networks"])
        self._run(
            [
                command
                for network in sorted(networks - self._bridges)
                for command in (
                    f"link add {_bridge(network)} type bridge stp_state 0 forward_delay 0",
                    f"link set {_bridge(network)} up",
                )
            ]
        )
        self._bridges |= networks
        places: Mapping[str, Document] = document["places"]
        for name in places:
            if name.startswith(_MADE_HERE) and name not in self._places:
                self._places[name] = _Place(self._new(forwards=name.startswith(ROUTER)))
        for name in [name for name in self._places if name not in places]:
            if name.startswith(_MADE_HERE):
                netns = self._places[name].netns
                self.leave(name)
                os.close(netns)
        for name, place_document in places.items():
            if name in self._places:
                self._settle(self._places[name], place_document)
        old_bridges = self._bridges - networks
        self._run([f"link del {_bridge(network)}" for network in sorted(old_bridges)], force=True)
        self._bridges -= old_bridges

    def inside(self, name: str) -> AbstractContextManager[None]:
        """Return a context manager that runs its block inside a network namespace."""
        return self._inside(self._places[name].netns)

    def _new(self, *, forwards: bool) -> int:
        """Create a network namespace and return its descriptor.

        If `forwards` is true, it forwards packets, as a router does.
        """
        kernel.unshare(kernel.NEWNET)
        netns = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if forwards:
            (_SYSCTL / "ipv4/ip_forward").write_text("1")
            with contextlib.suppress(OSError):
                (_SYSCTL / "ipv6/conf/all/forwarding").write_text("1")
        loopback.bring_up()
        kernel.setns(self._home, kernel.NEWNET)
        return netns

    def _settle(self, place: _Place, document: Document) -> None:
        """Change the ports, routes and rules of a network namespace to those in `document`."""
        ports: dict[str, Document] = document["ports"] if self._ip is not None else {}
        for port in [name for name, had in place.ports.items() if ports.get(name) != had]:
            self._run([f"link del {_outer(port)}"], force=True)
            del place.ports[port]
        for port, settings in ports.items():
            if port not in place.ports:
                self._plug(place.netns, port, settings)
                place.ports[port] = settings
                place.routes = []  # the routes were removed together with the old interface
        if place.routes != document["routes"]:
            old = [f"route del {_route(*route)}" for route in place.routes]
            self._run(old, place.netns, force=True)
            self._run(
                [f"route replace {_route(*r)}" for r in document["routes"]], place.netns, True
            )
            place.routes = document["routes"]
        if place.rules != document["rules"] and self._nft is not None:
            self._program([self._nft, "-f", "-"], document["rules"], place.netns)
            place.rules = document["rules"]

    def _plug(self, netns: int, port: str, settings: Document) -> None:
        outer, inner, name = _outer(port), f"p{port[:11]}", settings["name"]
        self._run(
            [
                f"link add {outer} mtu {settings['mtu']} type veth peer name {inner}",
                f"link set {inner} netns /proc/self/fd/{netns}",
                f"link set {outer} master {_bridge(settings['network'])} up",
            ],
            files=[netns],
        )
        commands = [f"link set {inner} name {name} address {settings['mac']} mtu {settings['mtu']}"]
        for address in settings["addresses"]:
            flags = " nodad" if ":" in address else ""
            commands.append(f"addr add {address} dev {name}{flags}")
        self._run([*commands, f"link set {name} up"], netns)

    def _run(
        self,
        commands: list[str],
        netns: int | None = None,
        force: bool = False,
        files: Iterable[int] = (),
    ) -> None:
        """Run commands of `ip` in a network namespace (None: that of the keeper).

        If `force` is true, errors are ignored; otherwise OSError is raised.
        """
        if not commands or self._ip is None:
            return
        options = ["-force"] if force else []
        text = "".join(f"{command}\n" for command in commands)
        with contextlib.suppress(OSError) if force else contextlib.nullcontext():
            self._program([self._ip, *options, "-batch", "-"], text, netns, files)

    def _program(
        self, command: list[str], text: str, netns: int | None = None, files: Iterable[int] = ()
    ) -> None:
        with self._inside(netns if netns is not None else self._home):
            done = subprocess.run(
                command, input=text, capture_output=True, text=True, check=False, pass_fds=[*files]
            )
        if done.returncode:
            raise OSError(f"{Path(command[0]).name}: {' '.join(done.stderr.split())}")

    @contextlib.contextmanager
    def _inside(self, netns: int) -> Iterator[None]:
        kernel.setns(netns, kernel.NEWNET)
        try:
            yield
        finally:
            kernel.setns(self._home, kernel.NEWNET)


def _bridge(network: str) -> str:
    return f"b{network[:11]}"


def _outer(port: str) -> str:
    return f"t{port[:11]}"


def _route(destination: str, gateway: str) -> str:
    return f"{destination} via {gateway}"
