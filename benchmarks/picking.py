"""Pick-up: how soon an engine begins what an API process has accepted.

An API process and three engines are separate processes on a server's database.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.served import Client
from benchmarks.several import several

ENGINES = 3
STACKS = 100
BUSY = 50
PICK_UP_MAX_MS = 100.0
LOOK_S = 0.004
BROKER = os.environ.get("HEARTH_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/")
TRIVIAL = """
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Heat::Value, properties: {value: 1}}
"""
SLOW = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  condition:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 3600}
"""
ENDED = ("CREATE_COMPLETE", "CREATE_FAILED")


def picking(quick: bool) -> Iterator[Figure]:
    """Time from the answer to a create until the stack is complete, idle and beside 50 others."""
    for kind, broker in (("PostgreSQL", ""), ("MariaDB", BROKER), ("MariaDB", "")):
        name = f"{kind} {'with' if broker else 'without'} a broker"
        limit = PICK_UP_MAX_MS if broker or kind == "PostgreSQL" else None
        with (
            tempfile.TemporaryDirectory() as folder,
            several(Path(folder), kind, ENGINES, broker) as found,
        ):
            client = found.client
            for others in (0, BUSY):
                for number in range(others):
                    _create(client, f"slow{number}", SLOW)
                waits = sorted(
                    _picked(client, f"{others}-{n}") for n in range(20 if quick else STACKS)
                )
                middle, late = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
                what = f"{name}, {others} other stacks in progress: create of a trivial stack"
                yield Figure(f"{what}, median", middle * 1000, "ms", note="")
                yield Figure(f"{what}, 99th percentile", late * 1000, "ms", limit)


def _create(client: Client, name: str, template: str) -> str:
    body = {"stack_name": name, "template": template, "timeout_mins": 30}
    status, answer = client.call("POST", "/stacks", body)
    assert status == 201, answer
    return f"/stacks/{name}/{answer['stack']['id']}"


def _picked(client: Client, name: str) -> float:
    path = _create(client, f"trivial{name}", TRIVIAL)
    begun = time.perf_counter()
    while True:
        _, answer = client.call("GET", f"{path}?resolve_outputs=False")
        if answer["stack"]["stack_status"] in ENDED:
            assert answer["stack"]["stack_status"] == ENDED[0], answer
            return time.perf_counter() - begun
        time.sleep(LOOK_S)
