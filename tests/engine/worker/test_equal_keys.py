"""The search for the object of a lost create call leaves out what another resource has."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hearth.store.rows import Revision
from tests.engine.worker.test_after_failed_update import at_site, gone
from tests.engine.worker.test_old_object import Site

pytestmark = pytest.mark.slow

RULE: dict[str, Any] = {
    "type": "OS::Neutron::SecurityGroupRule",
    "properties": {
        "security_group": {"get_resource": "group"},
        "protocol": "tcp",
        "port_range_min": 22,
        "port_range_max": 22,
        "description": "ssh",
    },
}
LOST = {"service": "network", "method": "POST", "path_regex": "/security-group-rules"}


def group(**rules: Any) -> Revision:
    resources = {"group": {"type": "OS::Neutron::SecurityGroup"}, **rules}
    return Revision(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}))


def rules(site: Site) -> list[str]:
    table = site.town.running.cloud.store.all("network.security_group_rules")
    return [one.id for one in table if one.body.get("description") == "ssh"]


@pytest.mark.parametrize("next_name", ["rule", "other"])
@pytest.mark.parametrize("status", [500, 502])
@pytest.mark.parametrize("after", [True, False])
def test_a_rule_that_another_record_has_stays(next_name: str, status: int, after: bool) -> None:
    async def story(site: Site) -> None:
        await site.create(group())
        site.town.knob(LOST, {"status": status, "after": after})
        await site.update(group(rule=RULE))
        site.town.running.cloud.knobs.clear()
        assert await site.update(group(**{next_name: RULE})) == "UPDATE_COMPLETE"
        await asyncio.sleep(0.5)
        assert rules(site) == [site.id_of(next_name)]
        assert await site.update(group()) == "UPDATE_COMPLETE"
        assert rules(site) == []
        await gone(site)

    at_site(story)
