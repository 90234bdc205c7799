"""openstacksdk's own way through a stack's life, and heatclient without a session."""

import warnings
from pathlib import Path

import pytest

from tests.clients.dev import Dev

pytestmark = pytest.mark.slow
TEMPLATE = Path(__file__).with_name("templates") / "web.yaml"


def test_the_sdk_creates_updates_and_deletes_with_waiting(dev: Dev):
    dev.mark()
    with dev.sdk() as cloud:
        made = cloud.create_stack("sdk", template_file=str(TEMPLATE), wait=True, greeting="hello")
        assert made.status == "CREATE_COMPLETE"
        updated = cloud.update_stack("sdk", template_file=str(TEMPLATE), wait=True, greeting="bye")
        assert updated.status == "UPDATE_COMPLETE"
        outputs = {one["output_key"]: one["output_value"] for one in updated.outputs}
        assert outputs["said"] == "bye"
        names = {r.name for r in cloud.orchestration.resources(cloud.get_stack("sdk"))}
        assert "server" in names
        assert cloud.delete_stack("sdk", wait=True)
        assert cloud.get_stack("sdk") is None
    assert dev.left_over() == []


def test_heatclient_with_an_endpoint_and_a_token_follows_to_the_stack(dev: Dev):
    with dev.sdk() as cloud, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from heatclient.client import Client

        made = cloud.orchestration.post(
            "/stacks",
            json={
                "stack_name": "plain",
                "template": "heat_template_version: 2021-04-16\noutputs: {a: {value: 1}}\n",
            },
        ).json()["stack"]
        endpoint = cloud.orchestration.get_endpoint()
        heat = Client("1", endpoint=endpoint, token=cloud.auth_token)
        stack = heat.stacks.get("plain", resolve_outputs=False)
        assert stack.id == made["id"]
        assert "outputs" not in stack.to_dict()
        heat.stacks.delete("plain")
