"""kill -9 in the middle of a rolling update: it goes on where it was, a batch at a time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.crash.processes import Client, Cloud, Hearth, until

pytestmark = pytest.mark.slow
SIZE, BATCH = 6, 2
KILLS = 2  # a third one in the same operation would fail it
TEMPLATE = """
heat_template_version: 2021-04-16
parameters: {image: {type: string, default: cirros}}
resources:
  servers:
    type: OS::Heat::ResourceGroup
    update_policy: {rolling_update: {max_batch_size: 2, min_in_service: 4}}
    properties:
      count: 6
      resource_def:
        type: OS::Nova::Server
        properties:
          name: member-%index%
          image: {get_param: image}
          flavor: m1.tiny
          networks: [{network: private}]
"""


SLOW = {"match": {"service": "compute", "path_regex": "/action$"}, "effect": {"latency_s": 0.6}}


def test_a_rolling_update_survives_kills_a_batch_at_a_time(tmp_path: Path):
    cloud = Cloud()
    hearth = Hearth(tmp_path / "hearth", cloud)
    try:
        hearth.start()
        client = Client(cloud, hearth.url)
        ident = client.create("roll", TEMPLATE, {})
        until("the end", lambda: client.state("roll", ident)[0] == "CREATE_COMPLETE", 60.0)
        first = images(client)
        cloud.knobs([SLOW])
        client.update("roll", ident, TEMPLATE, {}, parameters={"image": "fedora-20.x86_64"})
        done = 0
        for _ in range(KILLS):  # each in another batch, or in another place of the same
            time.sleep(0.35)
            done += client.state("roll", ident)[0] == "UPDATE_COMPLETE"
            hearth.kill()
            hearth.start()
        until("the end", lambda: client.state("roll", ident)[0] == "UPDATE_COMPLETE", 60.0)
        assert not done, "it was over before it was killed"
        assert at_once(client, ident) == BATCH
        made = [one for one in cloud.objects() if one["collection"] == "servers"]
        assert len(made) == SIZE
        assert images(client).isdisjoint(first)
        assert len(images(client)) == 1
    finally:
        hearth.close()
        cloud.close()


def images(client: Client) -> set[str]:
    """The images that servers are of."""
    headers = {"X-Auth-Token": client.token}
    reply = client.http.get(f"{client.compute}/servers/detail", headers=headers, timeout=30)
    assert reply.ok, reply.text
    return {one["image"]["id"] for one in reply.json()["servers"]}


def at_once(client: Client, ident: str) -> int:
    """How many members at most were worked on at a time, as the events of the update tell."""
    reply = client.call("GET", f"/stacks/roll/{ident}/events?nested_depth=1&limit=1000")
    assert reply is not None
    working: set[str] = set()
    most = 0
    for one in reversed(reply.json()["events"]):
        name, status = one["resource_name"], one["resource_status"]
        if name.isdigit() and status.startswith("UPDATE_"):
            (working.add if status == "UPDATE_IN_PROGRESS" else working.discard)(name)
            most = max(most, len(working))
    assert not working
    return most
