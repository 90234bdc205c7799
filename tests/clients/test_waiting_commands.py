"""Commands that wait for a stack: to its end or failure, at its hooks, along its events."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clients.covered import runs
from tests.clients.dev import OPENSTACK, CommandFailed, Dev, settled, wait_for
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

OUTER = """\
heat_template_version: 2021-04-16
parameters: {value: {type: string, default: a}}
resources:
  first: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
  inner: {type: inner.yaml, properties: {value: {get_param: value}}}
"""
INNER = """\
heat_template_version: 2021-04-16
parameters: {value: {type: string}}
resources:
  deep: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
"""
FRAGILE = """\
heat_template_version: 2021-04-16
parameters: {fail: {type: boolean}}
resources:
  bad: {type: OS::Heat::TestResource, properties: {value: x, fail: {get_param: fail}}}
"""


@pytest.fixture
def outer(tmp_path: Path) -> str:
    (tmp_path / "inner.yaml").write_text(INNER)
    return _written(tmp_path / "outer.yaml", OUTER)


@pytest.fixture
def fragile(tmp_path: Path) -> str:
    return _written(tmp_path / "fragile.yaml", FRAGILE)


@pytest.fixture(autouse=True)
def nothing_stays(dev: Dev) -> Iterator[None]:
    yield
    with dev.heat() as heat:
        for stack in heat.stacks.list():
            heat.stacks.delete(stack.id)
            settled(heat, stack.id, "DELETE")


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def told(said: str) -> list[str]:
    """The states in lines of the log format: `name: STATE`."""
    lines = [line.split("[", 1)[1] for line in said.splitlines() if "[" in line]
    return [line.split("  ")[0].replace("]", "") for line in lines]


@runs("stack create", "stack update", "stack delete")
def test_waiting_tells_each_event_and_then_the_stack(dev: Dev, outer: str):
    said = dev.shell("stack", "create", "-t", outer, "--wait", "--poll", "1", "waited")
    assert told(said)[0] == "waited: CREATE_IN_PROGRESS"
    assert told(said)[-1] == "waited: CREATE_COMPLETE"
    assert "| stack_status        | CREATE_COMPLETE" in said
    change = ("--parameter", "value=b")
    said = dev.shell("stack", "update", "--existing", *change, "--wait", "waited")
    assert told(said)[0] == "waited: UPDATE_IN_PROGRESS"  # what was before is not told again
    assert told(said)[-1] == "waited: UPDATE_COMPLETE"
    assert "| stack_status        | UPDATE_COMPLETE" in said
    said = dev.shell("stack", "delete", "--yes", "--wait", "waited")
    assert told(said)[0] == "waited: DELETE_IN_PROGRESS"
    assert dev.json("stack", "list") == []


def test_a_create_that_fails_ends_the_waiting_with_status_1(dev: Dev, fragile: str):
    create = ("stack", "create", "-t", fragile, "--parameter", "fail=true", "--wait", "--poll", "1")
    with pytest.raises(CommandFailed) as failed:
        dev.openstack(*create, "broken")
    assert failed.value.status == 1
    said = str(failed.value)
    assert "Stack broken CREATE_FAILED" in said
    assert "ValueError: resources.bad: Test Resource failed bad" in said


@runs("stack failures list")
def test_failures_are_listed_through_the_tree(dev: Dev, tmp_path: Path, fragile: str):
    nested = {"type": Path(fragile).name, "properties": {"fail": True}}
    parent = {"heat_template_version": "2021-04-16", "resources": {"child": nested}}
    template = _written(tmp_path / "parent.yaml", yaml.safe_dump(parent))
    made = dev.json("stack", "create", "-t", template, "parent")
    with dev.heat() as heat:
        assert settled(heat, made["id"], "CREATE").stack_status == "CREATE_FAILED"
    listed = yaml.safe_load(dev.shell("stack", "failures", "list", "parent"))
    ((name, found),) = listed.items()
    assert name == "parent.child.bad"
    assert (found["resource_type"], found["status"]) == ("OS::Heat::TestResource", "CREATE_FAILED")
    assert found["status_reason"].strip() == "ValueError: resources.bad: Test Resource failed bad"


def test_an_update_that_fails_tells_that_and_what_is_rolled_back(dev: Dev, fragile: str):
    create = ("stack", "create", "-t", fragile, "--parameter", "fail=false", "--wait")
    dev.shell(*create, "--poll", "1", "shaky")
    update = ("stack", "update", "--existing", "--parameter", "fail=true", "--wait")
    with pytest.raises(CommandFailed, match="Stack shaky UPDATE_FAILED") as failed:
        dev.shell(*update, "--rollback", "enabled", "shaky")
    assert failed.value.status == 1
    with dev.heat() as heat:
        stack = settled(heat, "shaky", "ROLLBACK")
    assert stack.stack_status == "ROLLBACK_COMPLETE"
    assert "Test Resource failed bad" in stack.stack_status_reason
    with pytest.raises(CommandFailed, match="Stack shaky UPDATE_FAILED"):
        dev.shell(*update, "--rollback", "disabled", "shaky")
    assert dev.json("stack", "show", "shaky")["stack_status"] == "UPDATE_FAILED"


def test_a_delete_that_fails_ends_the_waiting_with_status_1(dev: Dev, tmp_path: Path):
    properties = {"value": "x", "action_wait_secs": {"delete": 0}}
    resource = {"type": "OS::Heat::TestResource", "properties": properties}
    hooks = {"one": {"hooks": "pre-delete"}}
    template = {"heat_template_version": "2021-04-16", "resources": {"one": resource}}
    files = (
        "-t", _written(tmp_path / "t.yaml", yaml.safe_dump(template)),
        "-e", _written(tmp_path / "e.yaml",
                       yaml.safe_dump({"resource_registry": {"resources": hooks}})),
    )  # fmt: skip
    dev.shell("stack", "create", *files, "--timeout", "1", "--wait", "--poll", "1", "stays")
    dev.shell("stack", "delete", "--yes", "stays")
    wait_for(lambda: polled(dev, "stays").get("one"), "the hook")
    dev.shell("stack", "hook", "clear", "--pre-delete", "stays", "one")
    with dev.heat() as heat:
        wait_for(lambda: None if list(heat.stacks.list()) else True, "the end of it")
    with pytest.raises(CommandFailed, match=r"Unable to delete 1 of the 1 stacks\.") as failed:
        dev.shell("stack", "delete", "--yes", "--wait", "stays")
    assert failed.value.status == 1
    assert "The Stack (stays) could not be found." in str(failed.value)


def polled(dev: Dev, name: str) -> dict[str, str]:
    """What `stack hook poll` says of each resource, over the tree."""
    listed = dev.json("stack", "hook", "poll", "--nested-depth", "3", name)
    return {one["Resource Name"]: one["Resource Status Reason"] for one in listed}


def wait_at(dev: Dev, name: str, *resources: str) -> dict[str, str]:
    def look() -> dict[str, str] | None:
        found = polled(dev, name)
        return found if found.keys() == set(resources) else None

    return wait_for(look, f"hooks at {resources}")


@runs("stack create", "stack update", "stack hook poll", "stack hook clear")
def test_hooks_are_set_by_options_polled_and_cleared_by_patterns(dev: Dev, outer: str):
    hooks = ("--pre-create", "first", "--pre-create", "inner/deep")
    made = dev.json("stack", "create", "-t", outer, *hooks, "hooked")
    reasons = wait_at(dev, "hooked", "first", "deep")
    assert set(reasons.values()) == {"CREATE paused until Hook pre-create is cleared"}
    dev.openstack("stack", "hook", "clear", "hooked", "fir*")
    assert polled(dev, "hooked").keys() == {"deep"}
    dev.shell("stack", "hook", "clear", "--pre-create", "hooked", "in*/de?p")
    with dev.heat() as heat:
        settled(heat, made["id"], "CREATE")
        with pytest.raises(CommandFailed, match="Stack status CREATE_COMPLETE not IN_PROGRESS"):
            dev.shell("stack", "hook", "poll", "hooked")
        change = ("--pre-update", "inner/*", "--parameter", "value=b")
        dev.shell("stack", "update", "-t", outer, *change, "hooked")
        reasons = wait_at(dev, "hooked", "deep")
        assert reasons == {"deep": "UPDATE paused until Hook pre-update is cleared"}
        dev.shell("stack", "hook", "clear", "hooked", "inner/deep")
        assert settled(heat, made["id"], "UPDATE").stack_status == "UPDATE_COMPLETE"


def _interruptible() -> None:
    """Also where whoever runs the tests lets them ignore it, as a shell does in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@runs("stack create", "stack hook clear")
def test_events_are_followed_from_the_start_to_the_end(dev: Dev, outer: str):
    dev.shell("stack", "create", "-t", outer, "--pre-create", "inner/deep", "followed")
    command = [OPENSTACK, "--os-cloud", "hearth", "stack", "event", "list", "--follow",
               "--format", "log", "--nested-depth", "2", "followed"]  # fmt: skip
    environment = {**os.environ, **dev.environment, "PYTHONUNBUFFERED": "1"}
    lines: list[str] = []
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_interruptible,
    ) as follower:  # fmt: skip
        assert follower.stdout is not None
        try:
            for line in follower.stdout:
                lines.append(line)
                if "paused until Hook" in line:
                    dev.shell("stack", "hook", "clear", "followed", "inner/deep")
                if "[followed]: CREATE_COMPLETE" in line:
                    break
        finally:
            follower.send_signal(signal.SIGINT)
        try:
            assert follower.wait(20) == 0
        finally:
            follower.kill()
    listed = dev.shell("stack", "event", "list", "--nested-depth", "2", "--format", "log",
                       "followed")  # fmt: skip
    assert [line for line in lines if line.strip()] == listed.splitlines(keepends=True)


def test_following_wants_the_log_format(dev: Dev, outer: str):
    dev.shell("stack", "create", "-t", outer, "wrong")
    with pytest.raises(CommandFailed, match="only be specified with --format log"):
        dev.shell("stack", "event", "list", "--follow", "-f", "json", "wrong")


@runs("stack cancel")
def test_a_create_is_cancelled_without_rollback_and_waited_for(dev: Dev, outer: str):
    dev.shell("stack", "create", "-t", outer, "--pre-create", "first", "given-up")
    wait_at(dev, "given-up", "first")
    with pytest.raises(CommandFailed, match="not in cancelable state"):
        dev.shell("stack", "cancel", "given-up")  # there is nothing to roll back to
    with pytest.raises(CommandFailed, match="Stack given-up CREATE_FAILED"):
        dev.shell("stack", "cancel", "--no-rollback", "--wait", "given-up")
    events = json.loads(dev.shell("stack", "event", "list", "-f", "json", "given-up"))
    assert events[-1]["resource_status_reason"] == "Stack CREATE cancelled"


@runs("stack suspend")
def test_an_action_is_waited_for(dev: Dev, outer: str):
    dev.shell("stack", "create", "-t", outer, "--wait", "--poll", "1", "sleeper")
    said = dev.shell("stack", "suspend", "--wait", "sleeper")
    assert told(said)[0] == "sleeper: SUSPEND_IN_PROGRESS"
    assert told(said)[-1] == "sleeper: SUSPEND_COMPLETE"
    assert "| sleeper    | SUSPEND_COMPLETE" in said
