"""Everything beyond create, update and delete, by the unmodified clients."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests.clients.covered import runs
from tests.clients.dev import CommandFailed, Dev, settled
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
HERE = Path(__file__).with_name("templates")
TEMPLATE = ("-t", str(HERE / "web.yaml"), "-e", str(HERE / "env.yaml"))


@pytest.fixture(scope="module")
def stack(dev: Dev) -> Iterator[str]:
    """The id of a stack called actions."""
    dev.mark()
    made = dev.json("stack", "create", *TEMPLATE, "actions")
    ended(dev, made["id"], "CREATE")
    yield made["id"]
    dev.shell("stack", "delete", "--yes", "actions")
    ended(dev, made["id"], "DELETE")
    assert dev.left_over() == []


def ended(dev: Dev, stack_id: str, action: str, status: str = "COMPLETE") -> Any:
    with dev.heat() as heat:
        found = settled(heat, stack_id, action)
    assert found.stack_status == f"{action}_{status}", found.stack_status_reason
    return found


def states(dev: Dev, name: str = "actions") -> dict[str, str]:
    listed = dev.json("stack", "resource", "list", name)
    return {one["resource_name"]: one["resource_status"] for one in listed}


def servers(dev: Dev) -> list[str]:
    return [one["Status"] for one in dev.json("server", "list", "--long")]


@runs("stack check", "stack resume", "stack suspend")
def test_a_stack_is_checked_put_to_sleep_and_woken(dev: Dev, stack: str):
    dev.shell("stack", "check", "actions")
    reason = ended(dev, stack, "CHECK").stack_status_reason
    assert reason.startswith("Stack CHECK completed successfully")
    assert states(dev)["net"] == "CHECK_COMPLETE"
    dev.shell("stack", "suspend", "actions")
    ended(dev, stack, "SUSPEND")
    assert servers(dev) == ["SUSPENDED"]
    with pytest.raises(CommandFailed, match="suspended is not supported"):
        dev.shell("stack", "update", *TEMPLATE, "actions")
    with pytest.raises(CommandFailed, match="suspended is not supported"):
        dev.shell("stack", "check", "actions")
    dev.shell("stack", "suspend", "actions")  # accepted, nothing to do
    dev.shell("stack", "resume", "actions")
    ended(dev, stack, "RESUME")
    assert servers(dev) == ["ACTIVE"]
    assert set(states(dev).values()) == {"RESUME_COMPLETE"}


@runs("stack resource mark unhealthy")
def test_what_a_user_calls_unhealthy_is_replaced_by_the_next_update(dev: Dev, stack: str):
    before = dev.json("stack", "resource", "show", "actions", "disk")["physical_resource_id"]
    dev.shell("stack", "resource", "mark", "unhealthy", "actions", "disk", "it is slow")
    shown = dev.json("stack", "resource", "show", "actions", "disk")
    assert (shown["resource_status"], shown["resource_status_reason"]) == (
        "CHECK_FAILED",
        "it is slow",
    )
    dev.shell("stack", "update", "--existing", "actions")
    ended(dev, stack, "UPDATE")
    after = dev.json("stack", "resource", "show", "actions", "disk")["physical_resource_id"]
    assert after != before
    dev.shell("stack", "resource", "mark", "unhealthy", "actions", after)  # by its id
    dev.shell("stack", "resource", "mark", "unhealthy", "--reset", "actions", "disk")
    assert states(dev)["disk"] == "CHECK_COMPLETE"


@runs(
    "stack snapshot create",
    "stack snapshot delete",
    "stack snapshot list",
    "stack snapshot restore",
    "stack snapshot show",
)
def test_a_snapshot_is_taken_restored_and_given_up(dev: Dev, stack: str):
    taken = dev.json("stack", "snapshot", "create", "--name", "first", "actions")
    ended(dev, stack, "SNAPSHOT")
    (listed,) = dev.json("stack", "snapshot", "list", "actions")
    assert (listed["name"], listed["status"]) == ("first", "COMPLETE")
    assert "first" in dev.shell("stack", "snapshot", "show", "actions", taken["ID"])
    with dev.heat() as heat:
        shown = heat.stacks.snapshot_show("actions", taken["ID"])["snapshot"]
    nested = shown["data"]["resources"]["server"]
    (server,) = (r for r in nested["resources"].values() if r["type"] == "OS::Nova::Server")
    image = server["resource_data"]["snapshot_image_id"]
    assert image in [one["ID"] for one in dev.json("image", "list")]

    dev.shell("stack", "snapshot", "restore", "actions", taken["ID"])
    ended(dev, stack, "RESTORE")
    (row,) = dev.json("server", "list", "--long")
    assert row["Image ID"] == image
    dev.shell("stack", "snapshot", "delete", "--yes", "actions", taken["ID"])
    within(dev, lambda: dev.json("stack", "snapshot", "list", "actions") == [])
    assert image not in [one["ID"] for one in dev.json("image", "list")]


def within(dev: Dev, holds: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_a_stack_waits_at_its_hooks(dev: Dev, tmp_path: Path):
    template, environment = tmp_path / "t.yaml", tmp_path / "e.yaml"
    resource = {"type": "OS::Heat::Value", "properties": {"value": 1}}
    template.write_text(
        json.dumps({"heat_template_version": "2018-08-31", "resources": {"one": resource}})
    )
    hooks = {"one": {"hooks": ["pre-create", "post-create"]}}
    environment.write_text(yaml.safe_dump({"resource_registry": {"resources": hooks}}))
    arguments = ("-t", str(template), "-e", str(environment), "hooked")
    made = dev.json("stack", "create", *arguments)
    within(dev, lambda: "until Hook pre-create" in str(dev.json("stack", "hook", "poll", "hooked")))
    listed = ("stack", "event", "list", "hooked")  # the client's poll knows the first hook only
    for hook in ("pre-create", "post-create"):
        within(dev, lambda hook=hook: f"until Hook {hook}" in str(dev.json(*listed)))
        dev.shell("stack", "resource", "signal", "hooked", "one", "--data",
                  json.dumps({"unset_hook": hook}))  # fmt: skip
    ended(dev, made["id"], "CREATE")
    reasons = [e["resource_status_reason"] for e in dev.json("stack", "event", "list", "hooked")]
    assert reasons == [
        "Stack CREATE started",
        "CREATE paused until Hook pre-create is cleared",
        "Hook pre-create is cleared",
        "state changed",
        "state changed",
        "CREATE paused until Hook post-create is cleared",
        "Hook post-create is cleared",
        "Stack CREATE completed successfully",
    ]
    again = ("--data", json.dumps({"unset_hook": "pre-create"}))
    with pytest.raises(CommandFailed, match='The "pre-create" hook is not defined'):
        dev.shell("stack", "resource", "signal", "hooked", "one", *again)
    dev.shell("stack", "delete", "--yes", "hooked")


@runs("stack abandon", "stack adopt", "stack export", "stack delete")
def test_a_stack_is_abandoned_and_adopted_with_all_that_is_its(dev: Dev, tmp_path: Path):
    dev.mark()
    made = dev.json("stack", "create", *TEMPLATE, "moved")
    ended(dev, made["id"], "CREATE")
    before = physical(dev, "moved")
    exported = yaml.safe_load(dev.shell("stack", "export", "moved"))
    document = tmp_path / "moved.json"
    dev.shell("stack", "abandon", "--output-file", str(document), "moved")
    ended(dev, made["id"], "DELETE")
    assert json.loads(document.read_text())["resources"] == exported["resources"]
    assert len(dev.left_over()) > 3  # nothing of it went

    adopted = dev.json("stack", "adopt", "--adopt-file", str(document), "taken")
    ended(dev, adopted["id"], "ADOPT")
    after = physical(dev, "taken")
    kept = before.keys() - {"server"}  # the nested stack is a new one around the same server
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert states(dev, "taken")["net"] == "ADOPT_COMPLETE"
    dev.shell("stack", "update", "--existing", "taken")
    ended(dev, adopted["id"], "UPDATE")
    assert {name: physical(dev, "taken")[name] for name in kept} == {n: before[n] for n in kept}
    dev.shell("stack", "delete", "--yes", "taken")
    ended(dev, adopted["id"], "DELETE")
    (user,) = dev.left_over()  # that came with a document, so nobody may touch it by that
    assert user.startswith("identity users moved-handle-")
    dev.mark()


def physical(dev: Dev, name: str) -> dict[str, str]:
    listed = dev.json("stack", "resource", "list", name)
    return {one["resource_name"]: one["physical_resource_id"] for one in listed}


def test_bad_requests_change_nothing(dev: Dev, stack: str):
    with dev.sdk() as connection:
        headers = {"X-Auth-Token": connection.auth_token}
        base = f"{connection.orchestration.get_endpoint()}/stacks/actions/{stack}"
    events = len(dev.json("stack", "event", "list", "actions"))
    for method, path, body, status in (
        ("PATCH", "/resources/disk", {"mark_unhealthy": "maybe"}, 400),
        ("PATCH", "/resources/disk", {"resource_status_reason": "x"}, 400),
        ("PATCH", "/resources/disk", {"mark_unhealthy": True, "more": 1}, 400),
        ("PATCH", "/resources/nothing", {"mark_unhealthy": True}, 404),
        ("POST", "/actions", {"suspend": None, "resume": None}, 400),
        ("POST", "/actions", {"hibernate": None}, 400),
        ("GET", "/snapshots/none", None, 404),
        ("DELETE", "/snapshots/none", None, 404),
        ("POST", "/snapshots/none/restore", None, 404),
        ("POST", "/resources/disk/signal", {"unset_hook": "mid-life"}, 400),
    ):
        answer = requests.request(method, base + path, json=body, headers=headers, timeout=10)
        assert answer.status_code == status, (path, answer.text)
    assert len(dev.json("stack", "event", "list", "actions")) == events
