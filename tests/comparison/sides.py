"""A server that requests are sent to, and its answers with all that is its own masked."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import requests

MASKS = (
    (re.compile(r"\b[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?"), "<time>"),
    (re.compile(r"(?<=-)[a-z0-9]{12}\b"), "<random>"),
)
SETTLED_S = 60
TIMEOUT_S = 90


@dataclass(frozen=True)
class Request:
    """A request. `{name}`, in its path or as a value of its body, stands for what was kept of an
    earlier answer.

    `keep` maps such names to the way to a value in the answer, as `stack.id`.
    """

    method: str
    path: str
    body: Any = None
    admin: bool = False
    keep: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        given = "" if self.body is None else f" {json.dumps(self.body)[:160]}"
        return f"{self.method} {self.path}{given}"


@dataclass(frozen=True)
class Settled:
    """Wait until nothing goes on in the stack of that name; it may be gone."""

    stack: str


@dataclass(frozen=True)
class Shown:
    """Wait until a path answers with a status, and has a text in its body."""

    path: str
    status: int
    text: str = ""


@dataclass(frozen=True)
class Answer:
    """The status and the masked body; None where there is no JSON."""

    status: int
    body: Any


@dataclass
class Side:
    """A server, with tokens of a member and an administrator; `base` ends with the project."""

    base: str
    token: str
    admin_token: str
    kept: dict[str, str] = field(default_factory=dict)

    def ask(self, request: Request) -> Answer:
        """Send it; keep of the answer what is asked for."""
        body = request.body
        if isinstance(body, dict):
            body = {name: self._filled(value) for name, value in body.items()}
        reply = self._send(request.method, self._path(request.path), body, admin=request.admin)
        found = _json(reply.text)
        for name, way in request.keep.items():
            value = _at(found, way)
            if value is not None:
                self.kept[name] = str(value)
        return Answer(reply.status_code, self.masked(found))

    def _filled(self, value: Any) -> Any:
        """What was kept, for a value that is its name in braces."""
        kept = self.kept.get(value[1:-1]) if isinstance(value, str) and value[:1] == "{" else None
        return value if kept is None else kept

    def settle(self, name: str) -> None:
        """Wait until the stack is at rest. Raises TimeoutError."""
        deadline = time.monotonic() + SETTLED_S
        query = f"/stacks?show_nested=true&show_hidden=true&stack_name={name}"
        while time.monotonic() < deadline:
            found = _json(self._send("GET", query, None).text)["stacks"]
            if not any(one["stack_status"].endswith("_IN_PROGRESS") for one in found):
                return
            time.sleep(0.1)
        raise TimeoutError(f"{name} at {self.base}")

    def wait(self, shown: Shown) -> None:
        """Wait until it is shown. Raises TimeoutError."""
        deadline = time.monotonic() + SETTLED_S
        while time.monotonic() < deadline:
            reply = self._send("GET", self._path(shown.path), None)
            if reply.status_code == shown.status and shown.text in reply.text:
                return
            time.sleep(0.1)
        raise TimeoutError(f"{shown} at {self.base}")

    def _path(self, path: str) -> str:
        return re.sub(r"{(\w+)}", lambda found: self.kept.get(found[1], "none"), path)

    def masked(self, value: Any) -> Any:
        """The same without ids, times, addresses and random parts of names."""
        if isinstance(value, Mapping):
            return {self._text(name): self.masked(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.masked(one) for one in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        root, _, project = self.base.rpartition("/")
        text = (
            text.replace(self.base, "<url>").replace(root, "<root>").replace(project, "<project>")
        )
        for pattern, word in MASKS:
            text = pattern.sub(word, text)
        return text

    def _send(self, method: str, path: str, body: Any, *, admin: bool = False) -> requests.Response:
        headers = {"X-Auth-Token": self.admin_token if admin else self.token}
        if body is not None:
            headers["Content-Type"] = "application/json"
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        return requests.request(
            method, self.base + path, data=text, headers=headers, allow_redirects=False,
            timeout=TIMEOUT_S,
        )  # fmt: skip


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _at(value: Any, way: str) -> Any:
    for step in way.split("."):
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, Mapping):
            value = value.get(step)
        else:
            return None
    return value
