"""Software configurations and deployments by the unmodified clients."""

import json
import uuid
from pathlib import Path

import pytest
import requests
import yaml

from tests.clients.covered import runs
from tests.clients.dev import CommandFailed, Dev

pytestmark = pytest.mark.slow

DEFINED = {
    "inputs": [{"name": "colour", "type": "String", "default": "blue"}],
    "outputs": [{"name": "result"}],
    "options": {"a": 1},
}


@runs("software config create", "software config delete")
def test_the_command_creates_a_configuration(dev: Dev, tmp_path: Path):
    script, defined = tmp_path / "run.sh", tmp_path / "defined.yaml"
    script.write_text("#!/bin/sh\n")
    defined.write_text(yaml.safe_dump(DEFINED))
    files = ("--config-file", str(script), "--definition-file", str(defined))
    made = dev.json("software", "config", "create", "--group", "script", *files, "made")
    assert (made["name"], made["group"]) == ("made", "script")
    dev.shell("software", "config", "delete", made["id"])


@runs(
    "software config list",
    "software config show",
    "software deployment create",
    "software deployment delete",
    "software deployment list",
    "software deployment metadata show",
    "software deployment output show",
    "software deployment show",
)
def test_the_commands_of_configurations_and_deployments(dev: Dev):
    server = str(uuid.uuid4())
    with dev.heat() as heat:
        source = heat.software_configs.create(name="src", group="script", config="run", **DEFINED)
    shown = yaml.safe_load(dev.shell("software", "config", "show", source.id))
    assert shown["inputs"] == DEFINED["inputs"]
    assert dev.shell("software", "config", "show", "--config-only", source.id).strip() == "run"
    listed = dev.json("software", "config", "list", "--limit", "1")
    assert [one["id"] for one in listed] == [source.id]

    made = yaml.safe_load(
        dev.shell(
            "software", "deployment", "create", "010-it", "--config", source.id, "--server", server,
            "--signal-transport", "NO_SIGNAL", "--input-value", "colour=red", "--action", "CREATE",
        )
    )  # fmt: skip
    assert (made["action"], made["status"]) == ("CREATE", "IN_PROGRESS")
    (one,) = json.loads(dev.shell("software", "deployment", "metadata", "show", server))
    assert (one["id"], one["name"], one["config"]) == (made["config_id"], "010-it", "run")
    values = {given["name"]: given["value"] for given in one["inputs"]}
    assert values == {
        "colour": "red", "deploy_server_id": server, "deploy_action": "CREATE",
        "deploy_signal_transport": "NO_SIGNAL",
    }  # fmt: skip

    listed = dev.json("software", "deployment", "list", "--server", server, "--long")
    assert [(d["id"], d["config_id"], d["status"]) for d in listed] == [
        (made["id"], made["config_id"], "IN_PROGRESS")
    ]
    with dev.heat() as heat:
        outputs = {"result": "fine", "deploy_stdout": "out\n", "deploy_status_code": 0}
        heat.software_deployments.update(made["id"], status="COMPLETE", output_values=outputs)
    shown = dev.json("software", "deployment", "show", made["id"], "--long")
    assert (shown["status"], shown["output_values"]) == ("COMPLETE", outputs)
    with pytest.raises(CommandFailed, match="Output nothing does not exist"):
        dev.shell("software", "deployment", "output", "show", made["id"], "nothing")
    # it writes past what `shell` reads
    told = dev.openstack("software", "deployment", "output", "show", made["id"], "--all")
    assert "fine" in told
    assert "out" in told

    with pytest.raises(CommandFailed, match="Unable to delete 1 of the 1"):
        dev.shell("software", "config", "delete", made["config_id"])  # it is in use
    dev.shell("software", "deployment", "delete", made["id"])
    assert json.loads(dev.shell("software", "deployment", "metadata", "show", server)) == []
    with pytest.raises(CommandFailed, match="Configuration not found"):
        dev.shell("software", "config", "show", made["config_id"])  # it went with its deployment
    dev.shell("software", "config", "delete", source.id)
    assert dev.json("software", "config", "list") == []


def test_a_server_signals_by_the_temporary_url_that_the_client_made(dev: Dev):
    from heatclient.common import deployment_utils
    from swiftclient.client import Connection

    server = str(uuid.uuid4())
    with dev.heat() as heat, dev.sdk() as cloud:
        account = cloud.session.get_endpoint(service_type="object-store")
        swift = Connection(preauthurl=account, preauthtoken=cloud.auth_token, auth_version="3")
        url = deployment_utils.create_temp_url(swift, "dep", 60)
        given = deployment_utils.build_derived_config_params(
            "CREATE", DEFINED, "dep", {}, server, "TEMP_URL_SIGNAL", signal_id=url
        )
        config = heat.software_configs.create(**given)
        made = heat.software_deployments.create(
            config_id=config.id, server_id=server, action="CREATE", status="IN_PROGRESS"
        )
        assert heat.software_deployments.get(made.id).status == "IN_PROGRESS"
        (told,) = heat.software_deployments.metadata(server)
        inputs = {one["name"]: one["value"] for one in told["inputs"]}
        assert inputs["deploy_signal_verb"] == "PUT"
        sent = {"result": "done", "deploy_status_code": 0}
        answer = requests.put(inputs["deploy_signal_id"], json=sent, timeout=10)
        assert answer.status_code == 201
        done = heat.software_deployments.get(made.id)
        assert (done.status, done.output_values["result"]) == ("COMPLETE", "done")


def test_the_sdk_makes_finds_and_deletes_both(dev: Dev):
    with dev.sdk() as cloud:
        api = cloud.orchestration
        config = api.create_software_config(name="sdk", group="script", config="c", **DEFINED)
        assert api.get_software_config(config.id).inputs == DEFINED["inputs"]
        assert config.id in [one.id for one in api.software_configs()]
        made = api.create_software_deployment(config_id=config.id, server_id="s", action="CREATE")
        assert made.created_at
        assert made.updated_at is None
        api.update_software_deployment(made, status="FAILED", status_reason="it broke")
        found = api.get_software_deployment(made.id)
        assert (found.status, found.status_reason) == ("FAILED", "it broke")
        assert [one.id for one in api.software_deployments(server_id="s")] == [made.id]
        api.delete_software_deployment(made, ignore_missing=False)
        api.delete_software_config(config, ignore_missing=False)
        assert list(api.software_deployments(server_id="s")) == []
