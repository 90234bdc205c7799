"""Agents in servers of the embedded cloud that boot, in namespaces of this machine."""

import hashlib
import hmac
import io
import re
import secrets
import subprocess
import sys
import tarfile
import time
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from packaging.requirements import Requirement

from hearth.resources.heat.agent_text import agent_text
from tests.clients.dev import Dev, settled
from tests.guests import collector
from tests.guests.guests import HEAT_AGENTS, missing

NEEDED = ("os-collect-config", "python-heatclient", "python-zaqarclient", "requests", "setuptools")
"""The packages of os-collect-config and of heat-agents' way to signal."""

KEY_S = 3600  # that an address of an object holds
_ADDRESSES: dict[str, str] = {}
_STORING = Lock()
LINE = re.compile(r"\b(CREATE|UPDATE|SUSPEND|RESUME|DELETE) ([a-z]+)\s*$", re.MULTILINE)
COLLECT = """#!/bin/sh
set -e
mkdir -p /var/lib/guest
curl --silent --show-error --fail '{url}' | tar -xz --no-same-owner -C /var/lib/guest
setsid python3 /var/lib/guest/collector.py /var/lib/guest \
  < /dev/null >> /var/log/collector.log 2>&1 &
"""
SERVER = """
heat_template_version: 2021-04-16
parameters:
  transport: {type: string}
  boot: {type: string}
resources:
  server:
    type: OS::Nova::Server
    properties:
      image: host
      flavor: m1.tiny
      networks: [{network: private}]
      user_data_format: SOFTWARE_CONFIG
      software_config_transport: {get_param: transport}
      user_data: {get_param: boot}
outputs:
  id: {value: {get_resource: server}}
"""


def missing_in_servers(agent: str) -> str:
    """Return what a server that boots needs for an agent and this machine lacks, or nothing."""
    if agent == "os-collect-config" and not missing(agent):
        found = subprocess.run(
            ["/usr/bin/python3", "-c", "import sys; print(*sys.version_info[:2])"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if found.stdout.split() != [str(one) for one in sys.version_info[:2]]:
            return "a /usr/bin/python3 of the version that runs the tests"
    return missing(agent)


class BootedServer:
    """A server that boots and runs an agent, in a stack of its own: its console outlives the
    deployment.
    """

    def __init__(self, dev: Dev, heat: Any, name: str, agent: str, transport: str) -> None:
        self._heat = heat
        self._dev = dev
        boot = agent_text(user_data=True)
        if agent == "os-collect-config":
            boot = COLLECT.format(url=_address(dev))
        given = {"transport": transport, "boot": boot}
        made = heat.stacks.create(stack_name=f"{name}-server", template=SERVER, parameters=given)
        self._stack = made["stack"]["id"]
        state = settled(heat, self._stack, "CREATE")
        assert state.stack_status == "CREATE_COMPLETE", state.stack_status_reason
        outputs = heat.stacks.get(self._stack).outputs
        self.id = str(outputs[0]["output_value"])

    def painted(self) -> list[str]:
        """Return what the scripts wrote on the console."""
        with self._dev.sdk() as sdk:
            text = sdk.get_server_console(self.id)
        return [" ".join(found) for found in LINE.findall(text)]

    def delete(self) -> None:
        self._heat.stacks.delete(self._stack)
        settled(self._heat, self._stack, "DELETE")


def _address(dev: Dev) -> str:
    """Return an address for a while of an object with os-collect-config and what it needs.

    A cloud has one: a second key of the account would end the first.
    """
    with _STORING:
        if dev.url not in _ADDRESSES:
            _ADDRESSES[dev.url] = _stored(dev)
        return _ADDRESSES[dev.url]


def _stored(dev: Dev) -> str:
    with dev.sdk() as sdk:
        store = sdk.object_store
        base = store.get_endpoint()
        key = secrets.token_urlsafe()
        sdk.session.post(base, headers={"X-Account-Meta-Temp-Url-Key-2": key})
        sdk.session.put(f"{base}/guest")
        sdk.session.put(f"{base}/guest/packages.tar.gz", data=_archive())
    url = f"{base}/guest/packages.tar.gz"
    until = int(time.time()) + KEY_S
    signed = hmac.new(key.encode(), f"GET\n{until}\n{urlsplit(url).path}".encode(), hashlib.sha256)
    return f"{url}?temp_url_sig={signed.hexdigest()}&temp_url_expires={until}"


@cache
def _archive() -> bytes:
    """Return the packages, heat-agents and `collector.py` as one archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        archive.add(HEAT_AGENTS, HEAT_AGENTS.name)
        archive.add(Path(collector.__file__), "collector.py")
        for name in _closure(NEEDED):
            found = distribution(name)
            for file in found.files or ():
                path = Path(str(found.locate_file(file)))
                if ".." not in file.parts and path.suffix != ".pyc" and path.exists():
                    archive.add(path, f"packages/{file}")
    return packed.getvalue()


def _closure(names: tuple[str, ...]) -> set[str]:
    """Return packages with all that they need."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name not in found:
            found.add(name)
            needs = [Requirement(one) for one in distribution(name).requires or ()]
            waiting += [
                one.name
                for one in needs
                if one.marker is None or one.marker.evaluate({"extra": ""})
            ]
    return found
