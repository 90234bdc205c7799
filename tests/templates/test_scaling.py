"""Templates of others that scale and heal: alarms fire, groups change, servers are replaced."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, hearth_dev, settled, wait_for
from tests.conftest import lacking
from tests.templates.test_heat_templates import FOLDER, complete, contents

pytestmark = pytest.mark.slow
PASSING_COOLDOWN = 1


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    if not FOLDER.is_dir():
        lacking("the shared templates beside the repository")
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        with running.sdk() as cloud:
            for image in ("F17-x86_64-cfntools",):
                cloud.image.create_image(
                    name=image, disk_format="raw", container_format="bare", data=b"bytes"
                )
        yield running


def tell(dev: Dev, **news: Any) -> list[dict[str, Any]]:
    """Have the cloud's alarms hear something; those whose state changed, with whom they told."""
    answer = requests.post(f"{dev.cloud_url}/devcloud/alarms", json=news, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()["alarms"]


def outputs(heat: Any, stack_id: str) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in heat.stacks.get(stack_id).outputs}


def members(heat: Any, stack_id: str, kind: str) -> set[str]:
    """The physical ids of the resources of a type, at any depth."""
    return {
        one.physical_resource_id
        for one in heat.resources.list(stack_id, nested_depth=3)
        if one.resource_type.endswith(kind) and one.resource_status.endswith("COMPLETE")
    }


def test_an_alarm_makes_a_group_grow_and_another_makes_it_shrink(dev: Dev):
    """hot/autoscaling: signals with a token that the alarm gets by its trust."""
    body = contents("autoscaling")
    for name in ("web_server_scaleup_policy", "web_server_scaledown_policy"):
        body["template"]["resources"][name]["properties"]["cooldown"] = PASSING_COOLDOWN
    with dev.heat() as heat, dev.sdk() as cloud:
        dev.mark()
        given = {
            "image": "cirros", "flavor": "m1.tiny", "database_flavor": "m1.tiny",
            "key": "stack_key", "network": "private", "subnet_id": "private-subnet",
            "external_network_id": cloud.network.find_network("public").id,
        }  # fmt: skip
        made = heat.stacks.create(stack_name="t-web", parameters=given, **body)
        stack_id = made["stack"]["id"]
        complete(heat, stack_id, "CREATE")
        (pool,) = [one.id for one in cloud.load_balancer.pools()]
        assert len(members(heat, stack_id, "lb_server.yaml")) == 1

        high = heat.resources.get(stack_id, "cpu_alarm_high").physical_resource_id
        (alarm,) = tell(dev, metric="cpu_util", values=[95], alarm=high)
        assert [notice["status"] for notice in alarm["notices"]] == [200]
        wait_for(lambda: len(members(heat, stack_id, "lb_server.yaml")) == 2 or None, "the change")
        assert len(list(cloud.load_balancer.members(pool))) == 2
        events = heat.events.list(stack_id, "web_server_scaleup_policy")
        (signal,) = [one for one in events if one.resource_status == "SIGNAL_COMPLETE"]
        assert signal.resource_status_reason.startswith("alarm state changed from ")

        time.sleep(PASSING_COOLDOWN)
        low = heat.resources.get(stack_id, "cpu_alarm_low").physical_resource_id
        tell(dev, metric="cpu_util", values=[3], alarm=low)
        wait_for(lambda: len(list(cloud.load_balancer.members(pool))) == 1 or None, "the change")
        assert heat.stacks.get(stack_id).stack_status == "CREATE_COMPLETE"
        heat.stacks.delete(stack_id)
        complete(heat, stack_id, "DELETE")
        assert dev.left_over() == []


def test_servers_behind_a_load_balancer_are_scaled_in_the_older_format(dev: Dev):
    """cfn/F17/AutoScalingCeilometer, in a cloud that has alarms of their kind."""
    body = contents("cfn/F17/AutoScalingCeilometer.yaml")
    old = {"threshold_alarms": True}
    requests.post(f"{dev.cloud_url}/devcloud/knobs", json=old, timeout=10)
    with dev.heat() as heat, dev.sdk() as cloud:
        dev.mark()
        given = {"KeyName": "stack_key"}
        made = heat.stacks.create(stack_name="t-old", parameters=given, **body)
        stack_id = made["stack"]["id"]
        complete(heat, stack_id, "CREATE")
        (pool,) = [one.id for one in cloud.load_balancer.pools()]
        addresses = {one.address for one in cloud.load_balancer.members(pool)}
        assert len(addresses) == 1
        high = heat.resources.get(stack_id, "CPUAlarmHigh").physical_resource_id
        (alarm,) = tell(dev, metric="cpu_util", values=[51], alarm=high)
        assert [notice["status"] for notice in alarm["notices"]] == [200]
        wait_for(lambda: len(list(cloud.load_balancer.members(pool))) == 2 or None, "the change")
        servers = list(cloud.compute.servers())
        assert all("metering.AutoScalingGroupName" in one.metadata for one in servers)
        heat.stacks.delete(stack_id)
        complete(heat, stack_id, "DELETE")
        assert dev.left_over() == []


@pytest.mark.parametrize(
    "template", ["autohealing/autohealing_server", "autohealing/autohealing_group"]
)
def test_a_server_that_is_stopped_is_replaced(dev: Dev, template: str):
    """An event alarm, a queue, a workflow, mark-unhealthy and an update, without anybody's help."""
    body = contents(template)
    for name, text in body["files"].items():
        body["files"][name] = text.replace('"create": 60, "update": 60', '"create": 0, "update": 0')
    inner = body["template"]["resources"].get("alarm_cache_wait")
    if inner is not None:
        inner["properties"]["action_wait_secs"] = {"create": 0, "update": 0}
    with dev.heat() as heat, dev.sdk() as cloud:
        dev.mark()
        given = {"image": "cirros", "flavor": "m1.tiny"}
        made = heat.stacks.create(stack_name="t-heal", parameters=given, **body)
        stack_id = made["stack"]["id"]
        complete(heat, stack_id, "CREATE")
        before = members(heat, stack_id, "OS::Nova::Server")
        requests.post(f"{dev.cloud_url}/devcloud/knobs", json={"events": True}, timeout=10)
        doomed = sorted(before)[0]
        cloud.compute.stop_server(doomed)
        wait_for(
            lambda: doomed not in members(heat, stack_id, "OS::Nova::Server") or None, "the change"
        )
        settled(heat, stack_id, "UPDATE")
        wait_for(
            lambda: len(members(heat, stack_id, "OS::Nova::Server")) == len(before) or None,
            "the change",
        )
        after = members(heat, stack_id, "OS::Nova::Server")
        assert before - {doomed} == after & before
        requests.delete(f"{dev.cloud_url}/devcloud/knobs", timeout=10)
        complete(heat, stack_id, "UPDATE")
        heat.stacks.delete(stack_id)
        complete(heat, stack_id, "DELETE")
        assert dev.left_over() == []
