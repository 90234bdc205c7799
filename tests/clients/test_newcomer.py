"""The first steps of a newcomer, typed with the real `openstack` command; what only shows
something is asked for inside this process, where a command takes a second less."""

import json
from pathlib import Path

import pytest

from tests.clients.dev import CommandFailed, Dev

pytestmark = pytest.mark.slow
HERE = Path(__file__).with_name("templates")
TEMPLATE = ("-t", str(HERE / "web.yaml"), "-e", str(HERE / "env.yaml"))


def test_a_newcomer_creates_looks_updates_and_deletes(dev: Dev):
    dev.mark()
    run = dev.shell

    said = dev.openstack("stack", "create", *TEMPLATE, "--poll", "1", "--wait", "demo")
    assert "Stack CREATE completed successfully" in said
    assert "CREATE_COMPLETE" in said
    stack = json.loads(run("stack", "show", "demo", "-f", "json"))
    assert stack["stack_status"] == "CREATE_COMPLETE"
    assert {o["output_key"]: o["output_value"] for o in stack["outputs"]} == {
        "address": "10.5.0.2",
        "said": "hello",
    }
    listed = json.loads(run("stack", "list", "-f", "json"))
    assert [(one["Stack Name"], one["ID"]) for one in listed] == [("demo", stack["id"])]

    resources = json.loads(run("stack", "resource", "list", "-n", "5", "demo", "-f", "json"))
    assert {one["resource_type"] for one in resources} >= {
        "OS::Nova::Server",
        "OS::Neutron::Net",
        f"file://{HERE}/server.yaml",
    }
    assert all(one["resource_status"] == "CREATE_COMPLETE" for one in resources)
    assert "[demo.net]: CREATE_COMPLETE" in run("stack", "event", "list", "demo")
    outputs = run("stack", "output", "show", "--all", "demo")
    assert '"output_value": "10.5.0.2"' in outputs

    assert "web" in run("server", "list")
    assert "inner" in run("network", "list")
    assert "demo-disk-" in run("volume", "list")

    said = dev.openstack(
        "stack", "update", *TEMPLATE, "--parameter", "greeting=bye", "--wait", "demo"
    )
    assert "UPDATE_COMPLETE" in said
    shown = run("stack", "output", "show", "demo", "said", "-f", "value", "-c", "output_value")
    assert shown == "bye\n"

    dev.openstack("stack", "delete", "--yes", "--wait", "demo")
    assert run("stack", "list", "-f", "json") == "[]\n"
    with pytest.raises(CommandFailed, match="Stack not found: demo"):
        dev.openstack("stack", "show", "demo")
    assert dev.left_over() == []


def test_a_stack_is_deleted_by_its_id_and_waited_for(dev: Dev):
    made = json.loads(dev.shell("stack", "create", *TEMPLATE, "byid", "-f", "json"))
    dev.shell("stack", "delete", "--yes", "--wait", made["id"])
    shown = json.loads(dev.shell("stack", "show", made["id"], "-f", "json"))
    assert shown["stack_status"] == "DELETE_COMPLETE"
