"""What a replaced resource had given up is its own again when a rollback returns to it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hearth.model.state import Action
from hearth.store import accept, reads
from hearth.store.rows import Revision
from tests.engine.worker.test_faults import Town, state, told
from tests.resources.test_in_engine import new_id

pytestmark = pytest.mark.slow

ADDRESS = "10.0.0.77"
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: net}}, cidr: 10.0.0.0/24}}
  port:
    type: OS::Neutron::Port
    properties:
      network: {{get_resource: net}}
      fixed_ips: [{{subnet: {{get_resource: subnet}}, ip_address: {address}}}]
      replacement_policy: {policy}
  box:
    type: OS::Nova::Server
    properties: {{image: cirros, flavor: m1.tiny, networks: [{{port: {{get_resource: port}}}}]}}
"""


def test_a_port_has_its_address_again_after_a_rollback() -> None:
    async def story(town: Town) -> None:
        row = await town.make(TEMPLATE.format(address=ADDRESS, policy="AUTO"), {})
        assert state(row) == "CREATE_COMPLETE", row.reason
        first = port_of(town, row)
        refused = {"status": 400, "body": {"badRequest": {"code": 400, "message": "not now"}}}
        plug = {"service": "compute", "method": "POST", "path_regex": "os-interface$", "nth": 1}
        town.knob(plug, refused)
        after = Revision(TEMPLATE.format(address=ADDRESS, policy="REPLACE_ALWAYS"))
        operation = accept.OperationRequest(Action.UPDATE, after, disable_rollback=False)
        ident = row.id
        await town.store.run(lambda tx: accept.operate(tx, ident, operation, time.time(), new_id))
        row = await town.rest(row.id)
        assert state(row) == "ROLLBACK_COMPLETE", row.reason
        assert port_of(town, row) == first
        shown = await town.clouds_of("demo").request("network", "GET", f"/v2.0/ports/{first}")
        assert [one["ip_address"] for one in shown.body["port"]["fixed_ips"]] == [ADDRESS]
        made = [one for one in town.objects() if one["collection"] == "ports"]
        assert len([one for one in made if one["name"].startswith("web-port")]) == 2  # it was tried
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)


def port_of(town: Town, row: Any) -> str:
    records = town.store.transact(lambda tx: reads.records(tx, row.id), write=False)
    return str(reads.in_charge(records)["port"].physical_id)
