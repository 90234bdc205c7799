"""Clients that mean harm: each repeats one thing against a running Hearth until it is told to stop.

What they do is small to send and dear to answer. They count their answers by status; a status of
500 and above that is no "try later" is a finding.
"""

import gzip
import json
import random
import secrets
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import SplitResult, urlsplit

import requests

TIMEOUT_S = 60
IP_BIND_ADDRESS_NO_PORT = 24  # of Linux; the socket module has no name for it
PATTERN = "{type: string, default: '%s!', constraints: [{allowed_pattern: '(a|aa)+$'}]}" % (
    "a" * 40
)
DEAR = "range(200).select(range(200).select($ * 2).sum()).sum()"
HOT = "heat_template_version: 2018-08-31\n"


def patterns(count: int) -> str:
    """A template of parameters whose patterns take for ever."""
    return HOT + "parameters:\n" + "".join(f"  p{n}: {PATTERN}\n" for n in range(count))


def expressions(count: int) -> str:
    """A template of YAQL expressions that each take as long as they may."""
    lines = (f"  o{n}: {{value: {{yaql: {{expression: '{DEAR}'}}}}}}\n" for n in range(count))
    return HOT + "outputs:\n" + "".join(lines)


def laughs() -> str:
    """A small text that stands for a million values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return HOT + "x:\n  " + "\n  ".join(lines)


def large() -> str:
    """An honest template of half a megabyte."""
    line = "  r{0}: {{type: OS::Heat::Value, properties: {{value: {{get_param: p}}}}}}\n"
    return (
        HOT
        + "parameters: {p: {type: string, default: x}}\nresources:\n"
        + "".join(line.format(n) for n in range(900))
        + "".join(f"  # {n} {'x' * 90}\n" for n in range(4000))
    )


TEMPLATES: dict[str, Callable[[], str]] = {
    "one pattern": lambda: patterns(1),
    "60 patterns": lambda: patterns(60),
    "200 patterns": lambda: patterns(200),
    "one expression": lambda: expressions(1),
    "60 expressions": lambda: expressions(60),
    "laughs": laughs,
    "large": large,
}


class Client(threading.Thread):
    """Repeats `act` until `stop`; `counts` are its answers by status, or by exception."""

    def __init__(self, name: str, act: Callable[[], Any], stop: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self.counts: Counter[str] = Counter()
        self._act = act
        self._stop_event = stop

    def run(self) -> None:
        while not self._stop_event.is_set():
            try:
                self.counts[str(self._act())] += 1
            except (OSError, requests.RequestException) as problem:
                self.counts[type(problem).__name__] += 1
                self._stop_event.wait(0.05)
        getattr(self._act, "close", lambda: None)()


class Api:
    """One user's calls; a new connection for each, so that nobody else's end cuts them."""

    def __init__(self, url: str, auth_url: str, user: str, password: str) -> None:
        self.url, self.auth_url = url, auth_url
        who = {"name": user, "domain": {"id": "default"}, "password": password}
        scope = {"project": {"name": user, "domain": {"id": "default"}}}
        identity = {"methods": ["password"], "password": {"user": who}}
        reply = requests.post(
            f"{auth_url}/auth/tokens",
            json={"auth": {"identity": identity, "scope": scope}},
            timeout=TIMEOUT_S,
        )
        reply.raise_for_status()
        self.token = reply.headers["X-Subject-Token"]
        self.project = reply.json()["token"]["project"]["id"]
        catalog = reply.json()["token"]["catalog"]
        self.endpoints = {one["type"]: one["endpoints"][0]["url"] for one in catalog}

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Auth-Token": self.token}

    def call(self, method: str, path: str, **more: Any) -> requests.Response:
        """One call below the project."""
        url = f"{self.url}/v1/{self.project}{path}"
        options = {"timeout": TIMEOUT_S, "headers": self.headers, **more}
        return requests.request(method, url, **options)


def of_templates(api: Api, names: list[str], path: str = "/validate") -> Callable[[], int]:
    """Sends hostile templates, one after the other."""
    bodies = [{"template": TEMPLATES[name](), "stack_name": "hostile"} for name in names]
    turns = iter(range(10**9))

    def act() -> int:
        return api.call("POST", path, json=bodies[next(turns) % len(bodies)]).status_code

    return act


def deserter(api: Api) -> Callable[[], str]:
    """Asks for something dear and leaves."""
    body = json.dumps({"template": patterns(60)}).encode()
    place = urlsplit(api.url)

    def act() -> str:
        with dialled(place) as sock:
            sock.sendall(
                f"POST /v1/{api.project}/validate HTTP/1.1\r\nHost: x\r\n"
                f"X-Auth-Token: {api.token}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            with suppress(TimeoutError):
                sock.settimeout(0.2)
                sock.recv(10)
        return "left"

    return act


def dialled(place: SplitResult) -> socket.socket:
    """A connection from an address of its own: bounds of one address are not everybody's."""
    at = place.hostname or "", place.port or 80
    sock = socket.socket()
    sock.settimeout(10)
    sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)  # else it takes others' ports
    try:
        sock.bind(("127.0.0.2", 0))
        sock.connect(at)
    except OSError:
        sock.close()
        raise
    return sock


def dawdler(url: str, many: int = 300) -> Callable[[], str]:
    """Opens connections with a head that never ends."""
    place = urlsplit(url)
    held: list[socket.socket] = []

    def act() -> str:
        sock = dialled(place)
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-a: ")
        held.append(sock)
        if len(held) >= many:
            held.pop(0).close()
        return "held"

    def close() -> None:
        for sock in held:
            sock.close()
        held.clear()

    act.close = close  # type: ignore[attr-defined]
    return act


def endless(url: str) -> Callable[[], str]:
    """Sends a body without end, to an address that reads none."""
    place = urlsplit(url)
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"

    def act() -> str:
        with dialled(place) as sock:
            sock.sendall(
                b"POST /v1/x/stacks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            sent = 0
            with suppress(OSError):
                while sent < 64 * 1024 * 1024:
                    sock.sendall(chunk)
                    sent += len(chunk)
            return "cut" if sent < 64 * 1024 * 1024 else "read to the end"

    return act


def large_json(api: Api) -> Callable[[], int]:
    """Bodies of a megabyte that are nested, flat or broken."""
    bodies = (
        b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":[' + b"[]," * 340_000 + b"[]]}",
        b'{"a":"' + b"x" * 1_000_000,
        b'{"environment": {"parameters": {' + b'"a": 1,' * 100_000 + b'"b": 1}}}',
    )
    turns = iter(range(10**9))

    def act() -> int:
        headers = {**api.headers, "Content-Type": "application/json"}
        body = bodies[next(turns) % len(bodies)]
        return api.call("POST", "/validate", data=body, headers=headers).status_code

    return act


def signaller(api: Api) -> Callable[[], int]:
    """Large signals with ever new ids to one handle."""
    template = HOT + "resources:\n  h: {type: OS::Heat::WaitConditionHandle}\n"
    name = f"signalled-{secrets.token_hex(4)}"
    made = api.call("POST", "/stacks", json={"stack_name": name, "template": template})
    path = f"/stacks/{name}/{made.json()['stack']['id']}/resources/h/signal"
    turns = iter(range(10**9))

    def act() -> int:
        body = {"id": str(next(turns)), "reason": "x" * 60_000, "data": "y" * 100_000}
        return api.call("POST", path, json=body).status_code

    return act


# -- a cloud that somebody names ------------------------------------------------------------------


@cache
def _bomb() -> bytes:
    """A quarter of a GiB in a few hundred KiB; made when it is needed, for it takes a second."""
    return gzip.compress(b"[" * (1 << 28))


class _Foreign(BaseHTTPRequestHandler):
    """A Keystone whose catalogue leads to answers without measure."""

    bomb: ClassVar[bytes]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path.endswith("/auth/tokens"):
            self._token()
        elif random.random() < 0.5:
            self._head(200, {"Content-Encoding": "gzip", "Content-Length": str(len(self.bomb))})
            self.wfile.write(self.bomb)
        else:
            self._head(200, {"Transfer-Encoding": "chunked"})
            with suppress(OSError):
                for _ in range(3000):
                    self.wfile.write(b"10000\r\n" + b"[" * 65536 + b"\r\n")

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _token(self) -> None:
        url = f"http://{self.headers['Host']}/heat"
        entry = {"interface": "public", "region": "r", "region_id": "r", "id": "e", "url": url}
        domain = {"id": "default", "name": "Default"}
        token = {
            "user": {"id": "u", "name": "u", "domain": domain},
            "project": {"id": "p", "name": "p", "domain": domain},
            "roles": [{"id": "r", "name": "member"}],
            "methods": ["password"],
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "catalog": [{"type": "orchestration", "id": "o", "name": "heat", "endpoints": [entry]}],
        }
        body = json.dumps({"token": token}).encode()
        self._head(201, {"X-Subject-Token": "t", "Content-Length": str(len(body))})
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def foreign_cloud() -> Iterator[str]:
    """The address of such a Keystone, for as long as it is wanted."""
    _Foreign.bomb = _bomb()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Foreign)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v3"
    finally:
        server.shutdown()
        server.server_close()


def traveller(api: Api, auth_url: str) -> Callable[[], int]:
    """Previews a stack in a cloud of its own."""
    auth = {"auth_url": auth_url, "user_id": "u", "password": "p", "project_id": "p"}
    payload = json.dumps({"auth_type": "v3password", "auth": auth})
    keeper = api.endpoints["key-manager"].rstrip("/")
    keeper = keeper if keeper.endswith("/v1") else f"{keeper}/v1"
    made = requests.post(
        f"{keeper}/secrets",
        json={"payload": payload, "payload_content_type": "text/plain"},
        headers=api.headers,
        timeout=TIMEOUT_S,
    )
    made.raise_for_status()
    secret = made.json()["secret_ref"].rpartition("/")[2]
    context = {"credential_secret_id": secret, "region_name": "r"}
    inner = HOT + "resources: {}\n"
    stack = {"type": "OS::Heat::Stack", "properties": {"context": context, "template": inner}}
    template = {"heat_template_version": "2018-08-31", "resources": {"far": stack}}

    def act() -> int:
        body = {"stack_name": "far", "template": template}
        return api.call("POST", "/stacks/preview", json=body).status_code

    return act
