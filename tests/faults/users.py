"""Users who create, update and delete stacks all the time, as their clients would under faults."""

import threading
import time
from typing import Any

import requests

from tests.crash.processes import Client

CHILD = """
heat_template_version: 2021-04-16
parameters: {label: {type: string}}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: label}}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
"""
TEMPLATE = """
heat_template_version: 2021-04-16
parameters: {label: {type: string, default: one}}
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  server:
    type: OS::Nova::Server
    depends_on: subnet
    properties: {image: cirros, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  child:
    type: child.yaml
    properties: {label: {get_param: label}}
"""
BODY = {"template": TEMPLATE, "files": {"child.yaml": CHILD}, "timeout_mins": 5}
AGAIN = frozenset({429, 502, 503, 504})  # a client asks again after these
PAUSE_S = 0.1
LIFE_S = 120.0


class Wrong(Exception):
    """Something happened that a user must not see."""


class Users(threading.Thread):
    """One user, who lives through the lives of stacks until `close`.

    `lives` counts the complete ones, `wrong` are the sentences about the others, `longest_s` is the
    longest life in seconds, and `again` counts the requests that had to be repeated.
    """

    def __init__(self, client: Client, name: str = "life") -> None:
        super().__init__()
        self.client = client
        self.prefix = name
        self.lives = 0
        self.again = 0
        self.longest_s = 0.0
        self.wrong: list[str] = []
        self._ends = threading.Event()

    def run(self) -> None:
        """Live until the end is near; the last life is completed."""
        number = 0
        while not self._ends.is_set():
            number += 1
            began = time.monotonic()
            try:
                self._life(f"{self.prefix}-{number}")
                self.lives += 1
            except Wrong as problem:
                self.wrong.append(f"{self.prefix}-{number}: {problem}")
                self._clear_up(f"{self.prefix}-{number}")
            self.longest_s = max(self.longest_s, time.monotonic() - began)

    def close(self) -> None:
        """Begin no other life, and wait for the end of this one."""
        self._ends.set()
        self.join()

    def _clear_up(self, name: str) -> None:
        """Delete what a life that went wrong has left."""
        try:
            found = self._call("GET", f"/stacks/{name}?resolve_outputs=False")
            if found.status_code == 200:
                ident = found.json()["stack"]["id"]
                self._call("DELETE", f"/stacks/{name}/{ident}")
                self._ended(name, "GONE")
        except Wrong as problem:
            self.wrong.append(f"{name}, the delete after it: {problem}")

    def _life(self, name: str) -> None:
        made = self._call("POST", "/stacks", {"stack_name": name, **BODY})
        if made.status_code not in (201, 409):  # 409: the answer to the first request was lost
            raise Wrong(f"create: {made.status_code} {made.text[:200]}")
        ident = self._ended(name, "CREATE_COMPLETE")
        body = {**BODY, "parameters": {"label": "two"}}
        changed = self._call("PUT", f"/stacks/{name}/{ident}", body)
        if changed.status_code not in (202, 409):
            raise Wrong(f"update: {changed.status_code} {changed.text[:200]}")
        self._ended(name, "UPDATE_COMPLETE")
        gone = self._call("DELETE", f"/stacks/{name}/{ident}")
        if gone.status_code not in (204, 404):
            raise Wrong(f"delete: {gone.status_code} {gone.text[:200]}")
        self._ended(name, "GONE")

    def _ended(self, name: str, wanted: str) -> str:
        """Wait for the end of an operation; return the id of the stack."""
        until = time.monotonic() + LIFE_S
        while time.monotonic() < until:
            found = self._call("GET", f"/stacks/{name}?resolve_outputs=False")
            if found.status_code == 404:
                if wanted == "GONE":
                    return ""
                raise Wrong(f"the stack was lost, instead of {wanted}")
            if found.status_code != 200:
                raise Wrong(f"show: {found.status_code} {found.text[:200]}")
            stack = found.json()["stack"]
            state = stack["stack_status"]
            if state == wanted or (wanted == "GONE" and state == "DELETE_COMPLETE"):
                return str(stack["id"])
            if state.endswith("FAILED"):
                raise Wrong(f"{state}: {stack['stack_status_reason'][:300]}")
            time.sleep(PAUSE_S)
        raise Wrong(f"not {wanted} within {LIFE_S:.0f} s")

    def _call(self, method: str, path: str, body: Any = None) -> requests.Response:
        """A request, repeated while nobody answers or the answer says to come back later."""
        until = time.monotonic() + LIFE_S
        while time.monotonic() < until:
            reply = self.client.call(method, path, body)
            if reply is not None and reply.status_code not in AGAIN:
                if reply.status_code >= 500:
                    raise Wrong(f"{method} {path}: {reply.status_code} {reply.text[:200]}")
                return reply
            self.again += 1
            time.sleep(PAUSE_S)
        raise Wrong(f"{method} {path}: no answer within {LIFE_S:.0f} s")
