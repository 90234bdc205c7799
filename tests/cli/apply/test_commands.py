"""The commands as a user runs them, in an empty folder, on the embedded cloud."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clients.dev import HEARTH, Dev, hearth_dev, wait_for
from tests.conftest import lacking
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

NET = """\
heat_template_version: 2021-04-16
parameters:
  label: {type: string, default: blue}
  secret: {type: string, hidden: true, default: x}
resources:
  net:
    type: OS::Neutron::Net
    properties: {name: {get_param: label}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
outputs:
  id: {value: {get_resource: net}}
"""
SLOW = """\
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Neutron::Net}
  wait: {type: OS::Heat::TestResource, depends_on: one, properties: {wait_secs: 4}}
  two: {type: OS::Neutron::Net, depends_on: wait}
"""
EXTERNAL = """\
heat_template_version: 2021-04-16
resources:
  net:
    type: OS::Neutron::Net
    external_id: IDENT
"""
BAD = "  bad: {type: OS::Heat::TestResource, properties: {fail: true}}\noutputs:"
CHANGES = 2


@dataclass
class Shell:
    """A folder of a user, and the cloud that its clouds.yaml names."""

    folder: Path
    dev: Dev
    environment: dict[str, str] = field(default_factory=dict)

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*HEARTH, *arguments], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **self.dev.environment, "OS_CLOUD": "hearth", **self.environment},
        )  # fmt: skip

    def run(self, *arguments: str, status: int = 0) -> str:
        with self.begin(*arguments) as process:
            out, err = process.communicate(timeout=120)
        assert process.returncode == status, (out, err)
        return out + err

    def rows(self, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
        return list(map(json.loads, self.run(*arguments, "--json", status=status).splitlines()))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def networks(self) -> list[str]:
        """The names of the networks that were created since the start of the test."""
        ours = {one["id"] for one in self.dev.ledger() if one["collection"] == "networks"}
        with self.dev.sdk() as cloud:
            return [one.name for one in cloud.network.networks() if one.id in ours]


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("dev")) as found:
        yield found


@pytest.fixture
def shell(dev: Dev, tmp_path: Path) -> Shell:
    dev.mark()
    return Shell(tmp_path, dev)


@pytest.mark.parametrize("where", [(), ("--service",)], ids=["file", "service"])
def test_a_life_from_plan_to_destroy(shell: Shell, where: tuple[str, ...]):
    shell.write("web.yaml", NET)
    assert "Plan: 2 to create." in shell.run("plan", "web.yaml", *where, status=CHANGES)
    assert not (shell.folder / ".hearth").exists()
    out = shell.run("apply", "web.yaml", "--yes", *where)
    assert "CREATE_COMPLETE" in out
    assert "No changes: 2 resources" in shell.run("plan", "web.yaml", *where)
    out = shell.run("plan", "web.yaml", "--parameter", "label=green", *where, status=CHANGES)
    assert 'name: "blue" -> "green"' in out
    shell.run("apply", "web.yaml", "--parameter", "label=green", "-y", *where)
    assert shell.networks() == ["green"]
    ident = shell.run("output", "web", "id", *where).strip()
    assert ident in shell.run("show", "web", *where)
    assert "UPDATE_COMPLETE" in shell.run("events", "web", *where)
    assert "critical path so far" in shell.run("graph", "web", *where)
    assert "UPDATE_COMPLETE" in shell.run("watch", "web", *where)
    assert "Plan: 2 to delete." in shell.run("destroy", "web", "-y", *where)
    assert shell.dev.left_over() == []


def test_programs_get_an_object_in_each_line(shell: Shell):
    shell.write("web.yaml", NET)
    rows = shell.rows("apply", "web.yaml", "-y")
    assert [one["type"] for one in rows] == ["plan", *["resource"] * 4, "end"]
    assert rows[0]["summary"] == {"create": 2}
    assert rows[-1]["status"] == "CREATE_COMPLETE"
    assert set(rows[-1]["outputs"]) == {"id"}
    (error,) = shell.rows("plan", "none.yaml", status=1)
    assert error["type"] == "error"
    shell.rows("destroy", "-y")


def test_a_saved_plan_is_carried_out_or_refused_with_what_changed(shell: Shell):
    shell.write("web.yaml", NET)
    plan = ("plan", "web.yaml", "-o", "web.plan")
    shell.run(*plan, status=CHANGES)
    shell.write("web.yaml", "gone")  # the plan contains the template
    shell.run("apply", "web.plan", "-y")
    assert "is old" in shell.run("apply", "web.plan", "-y", status=1)
    shell.write("web.yaml", NET)
    shell.run(*plan, "--parameter", "label=green", status=CHANGES)
    shell.run("apply", "web.yaml", "--parameter", "label=red", "-y")
    said = shell.run("apply", "web.plan", "-y", status=1)
    assert "the plan is old; this has changed since:" in said
    assert shell.networks() == ["red"]
    shell.run("plan", "--destroy", "--name", "web", "-o", "end.plan", status=CHANGES)
    shell.run("apply", "end.plan", "-y")
    assert shell.dev.left_over() == []


def test_errors_have_the_place_in_the_users_file(shell: Shell):
    shell.write("web.yaml", NET.replace("name:", "nam:"))
    for where in ((), ("--service",)):
        assert "web.yaml:8:" in shell.run("plan", "web.yaml", *where, status=1)
    assert not (shell.folder / ".hearth").exists()


def test_what_needs_an_address_is_refused_by_name(shell: Shell):
    net = "OS::Neutron::Net\n    properties: {name: {get_param: label}}"
    shell.write("w.yaml", NET.replace(net, "OS::Heat::WaitConditionHandle"))
    said = shell.run("plan", "w.yaml", status=1)
    assert "w.yaml:6:3: resources.net: OS::Heat::WaitConditionHandle: it takes signals" in said


def test_a_second_command_is_refused_by_the_name_of_the_first(shell: Shell):
    shell.write("slow.yaml", SLOW.replace("4}", "12}"))
    with shell.begin("apply", "slow.yaml", "-y") as first:
        wait_for(lambda: shell.networks() or None, "the first network")
        said = shell.run("destroy", "slow", "-y", status=1)
        assert f'"hearth apply" (process {first.pid}, since' in said
        assert "waits for wait" in shell.run("show", "slow")  # reading is possible
        assert first.wait(60) == 0
    shell.run("destroy", "-y")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["once", "kill -9"])
def test_an_apply_that_was_stopped_is_finished_by_the_next(shell: Shell, number: signal.Signals):
    shell.write("slow.yaml", SLOW)
    with shell.begin("apply", "slow.yaml", "-y") as first:
        wait_for(lambda: shell.networks() or None, "the first network")
        time.sleep(0.3)
        first.send_signal(number)
        assert first.wait(30) == (130 if number is signal.SIGINT else -number)
    said = shell.run("apply", "slow.yaml", "-y")
    assert "an earlier command did not finish it" in said
    assert "No changes" in said
    assert len(shell.networks()) == 2
    shell.run("destroy", "-y")
    assert shell.dev.left_over() == []


def test_a_second_ctrl_c_aborts(shell: Shell):
    shell.write("slow.yaml", SLOW.replace("4}", "30}"))
    with shell.begin("apply", "slow.yaml", "-y") as first:
        wait_for(lambda: shell.networks() or None, "the first network")
        for _ in range(2):
            time.sleep(0.1)
            first.send_signal(signal.SIGINT)
        assert first.wait(5) == 130
    shell.run("destroy", "-y")
    assert shell.dev.left_over() == []


def test_without_a_cloud_resources_without_calls_work(shell: Shell):
    shell.write("v.yaml", "heat_template_version: 2021-04-16\nresources:\n"
                "  v: {type: OS::Heat::Value, properties: {value: 1}}\n")  # fmt: skip
    shell.environment = {"OS_CLOUD": ""}
    assert "CREATE_COMPLETE" in shell.run("apply", "v.yaml", "-y")
    shell.write("net.yaml", NET)
    assert "no cloud was chosen: use --cloud" in shell.run("apply", "net.yaml", "-y", status=1)


def test_software_configurations_are_in_the_state_file(shell: Shell):
    shell.write("c.yaml", "heat_template_version: 2021-04-16\nresources:\n"
                "  c: {type: OS::Heat::SoftwareConfig, properties: {config: say}}\n"
                "outputs:\n  text: {value: {get_attr: [c, config]}}\n")  # fmt: skip
    shell.environment = {"OS_CLOUD": ""}
    assert "text = say" in shell.run("apply", "c.yaml", "-y")
    assert "DELETE_COMPLETE" in shell.run("destroy", "-y")


def test_clouds_that_cannot_be_used_are_told(shell: Shell):
    shell.write("web.yaml", NET)
    said = shell.run("plan", "web.yaml", "--cloud", "nope", status=1)
    assert "there is no cloud nope" in said
    assert "hearth-admin" in said
    clouds = Path(shell.dev.environment["OS_CLIENT_CONFIG_FILE"]).read_text()
    shell.write("clouds.yaml", clouds.replace("password: secret", "password: wrong"))
    shell.environment = {"OS_CLIENT_CONFIG_FILE": str(shell.folder / "clouds.yaml")}
    assert "does not accept the credential" in shell.run("plan", "web.yaml", status=1)
    shell.write("clouds.yaml", clouds.replace(shell.dev.auth_url, "http://127.0.0.1:9/v3"))
    assert "Keystone cannot be reached" in shell.run("plan", "web.yaml", status=1)


def test_back_to_an_earlier_revision_by_a_plan(shell: Shell):
    shell.write("web.yaml", NET)
    shell.run("apply", "web.yaml", "-y")
    shell.write("web.yaml", NET.replace("10.9.", "10.8."))
    shell.run("apply", "web.yaml", "-y", "--parameter", "label=green", "--parameter", "secret=y")
    assert [one["number"] for one in shell.rows("revisions", "web")] == [2, 1]
    said = shell.run("diff", "1")
    assert 'name: "blue" -> "green"' in said
    assert "+    properties: {network: {get_resource: net}, cidr: 10.8.0.0/24}" in said
    assert 'parameter secret: "******" -> "******"' in said
    assert "1 to update, 1 to replace" in shell.run("plan", "--revision", "1", status=CHANGES)
    shell.run("apply", "web", "--revision", "1", "-y")
    assert shell.networks() == ["blue"]
    assert "like revision 1" in shell.run("revisions")
    shell.run("destroy", "-y")


def test_a_policy_denies_a_plan_before_anything_happens(shell: Shell):
    shell.write("web.yaml", NET)
    shell.run("apply", "web.yaml", "-y")
    shell.write("p.yaml", "protect: [subnet]\nrules:\n"
                "  - {name: careful, warn: $.resources.where($.action != keep)}\n")  # fmt: skip
    shell.write("web.yaml", NET.replace("10.9.", "10.8."))
    said = shell.run("apply", "web.yaml", "-y", "--policy", "p.yaml", status=1)
    assert "p.yaml:1:11: subnet is protected, but its planned action is replace" in said
    assert "warning: p.yaml:3:5: careful: subnet" in said
    assert "is protected" in shell.run("destroy", "-y", "--policy", "p.yaml", status=1)
    assert len(shell.networks()) == 1
    shell.run("destroy", "-y")


@pytest.mark.parametrize("where", [(), ("--service",)], ids=["file", "service"])
def test_drift_is_told_and_repaired_or_accepted(shell: Shell, where: tuple[str, ...]):
    template = NET.replace("{get_param: label}", "blue")
    shell.write("web.yaml", template)
    shell.run("apply", "web.yaml", "-y", *where)
    assert "Drift: 2 in sync." in shell.run("drift", "web", *where)
    ident = shell.run("output", "web", "id", *where).strip()
    with shell.dev.sdk() as cloud:
        cloud.network.update_network(ident, name="red")
    assert 'name: "blue" -> "red"' in shell.run("drift", "web", *where, status=CHANGES)
    planned = shell.run("plan", "web.yaml", "--converge", *where, status=CHANGES)
    assert 'name: "red" -> "blue"  (changed in the cloud)' in planned
    assert "Plan: 1 to update, 1 unchanged." in planned
    shell.run("apply", "web.yaml", "--converge", "-y", *where)
    assert shell.networks() == ["blue"]
    with shell.dev.sdk() as cloud:
        cloud.network.update_network(ident, name="red")
    said = shell.run("drift", "web", "--accept", "web.yaml", *where, status=CHANGES)
    assert 'accepted web.yaml:8:24: net.name = "red"' in said
    assert (shell.folder / "web.yaml").read_text() == template.replace(
        "{name: blue}", '{name: "red"}'
    )
    shell.run("apply", "web.yaml", "-y", *where)
    assert shell.networks() == ["red"]
    assert "Drift: 2 in sync." in shell.run("drift", "web", *where)
    shell.run("destroy", "web", "-y", *where)


def test_refresh_notices_what_is_gone(shell: Shell):
    shell.write("web.yaml", NET)
    shell.run("apply", "web.yaml", "-y")
    assert "CHECK_COMPLETE" in shell.run("refresh")
    ident = shell.run("output", "web", "id").strip()
    with shell.dev.sdk() as cloud:
        for subnet in cloud.network.subnets(network_id=ident):
            cloud.network.delete_subnet(subnet)
        cloud.network.delete_network(ident)
    assert "2 missing" in shell.run("drift", status=CHANGES)
    planned = shell.run("plan", "web.yaml", "--converge", status=CHANGES)
    assert "Plan: 2 to replace." in planned
    assert "CHECK_FAILED" in shell.run("refresh", status=1)
    assert "1 to replace, 1 that may be replaced" in shell.run("plan", "web.yaml", status=CHANGES)
    shell.run("apply", "web.yaml", "-y")
    assert "Drift: 2 in sync." in shell.run("drift")
    shell.run("destroy", "-y")


def test_a_state_file_of_another_stack_or_place_is_refused(shell: Shell):
    shell.write("web.yaml", NET)
    shell.run("apply", "web.yaml", "-y", "--state", "s.db")
    said = shell.run("apply", "web.yaml", "-y", "--state", "s.db", "--name", "other", status=1)
    assert "s.db is the state of the stack web, not of other" in said
    said = shell.run("apply", "web.yaml", "-y", "--state", "web.yaml/s.db", status=1)
    assert "web.yaml/s.lock cannot be written" in said
    shell.run("destroy", "--name", "web", "--state", "s.db", "-y")


def test_a_full_disk_ends_the_command_and_the_next_one_goes_on(shell: Shell):
    if os.geteuid() != 0 or shutil.which("mount") is None:
        lacking("root, to mount a small file system")
    count = 1500
    values = "".join(f"  v{i}: {{type: OS::Heat::Value, properties: {{value: {i}}}}}\n"
                     for i in range(count))  # fmt: skip
    shell.write("v.yaml", f"heat_template_version: 2021-04-16\nresources:\n{values}")
    small = shell.folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=True)
    try:
        command = ("apply", "v.yaml", "-y", "--state", "small/v.db")
        said = shell.run(*command, status=1)
        assert "small/v.db cannot be written: database or disk is full" in said
        subprocess.run(["mount", "-o", "remount,size=50m", small], check=True)
        shell.run(*command)
        said = shell.run("plan", "v.yaml", "--state", "small/v.db")
        assert f"No changes: {count} resources" in said
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_a_cloud_that_goes_away_in_the_middle_is_waited_for(shell: Shell):
    shell.write("slow.yaml", SLOW)
    with shell.begin("apply", "slow.yaml", "-y") as process:
        wait_for(lambda: shell.networks() or None, "the first network")
        away = {"match": {}, "effect": {"status": 503}}
        knobs = f"{shell.dev.cloud_url}/devcloud/knobs"
        requests.post(knobs, json={"rules": [away]}, timeout=10)
        time.sleep(5)
        requests.delete(knobs, timeout=10)
        out, err = process.communicate(timeout=60)
    assert "CREATE_COMPLETE" in out, err
    assert len(shell.networks()) == 2
    shell.run("destroy", "-y")


def test_a_terminal_without_utf8_shows_a_question_mark(shell: Shell):
    shell.write("v.yaml", "heat_template_version: 2021-04-16\nresources:\n"
                "  v: {type: OS::Heat::Value, properties: {value: größe}}\n"
                "outputs: {o: {value: {get_attr: [v, value]}}}\n")  # fmt: skip
    shell.environment = {"OS_CLOUD": "", "PYTHONIOENCODING": "iso8859-7"}
    assert "o = gr??e" in shell.run("apply", "v.yaml", "-y")
    assert shell.run("output", "v", "o").strip() == "gr??e"


def with_external(shell: Shell) -> str:
    """Apply a template that refers to an existing network, and return it."""
    with shell.dev.sdk() as cloud:
        template = EXTERNAL.replace("IDENT", cloud.network.find_network("private").id)
    shell.write("out.yaml", template)
    shell.run("apply", "out.yaml", "-y")
    return template


def test_a_plan_that_would_fail_is_an_error_and_is_not_saved(shell: Shell):
    external = with_external(shell)
    shell.write("out.yaml", external.replace("external_id", "# external_id"))
    said = shell.run("plan", "out.yaml", "-o", "out.plan", status=1)
    assert "Plan: 1 to fail." in said
    assert "error: the plan would fail; out.plan was not written" in said
    assert not (shell.folder / "out.plan").exists()
    *_, error = shell.rows("plan", "out.yaml", status=1)
    assert error["type"] == "error"
    shell.rows("destroy", "-y")


def test_an_apply_without_changes_completes_a_stack_that_has_failed(shell: Shell):
    external = with_external(shell)
    shell.write("out.yaml", external.replace("external_id", "# external_id"))
    assert "UPDATE_FAILED" in shell.run("apply", "out.yaml", "-y", status=1)
    shell.write("out.yaml", external)
    said = shell.run("plan", "out.yaml", status=CHANGES)
    assert "The stack is UPDATE_FAILED; an update without changes completes it." in said
    assert "UPDATE_COMPLETE" in shell.run("apply", "out.yaml", "-y")
    assert "No changes: 1 resources" in shell.run("plan", "out.yaml")
    assert "nothing to do" in shell.run("apply", "out.yaml", "-y")
    shell.rows("destroy", "-y")


def test_a_rolled_back_stack_is_completed_too(shell: Shell):
    shell.write("web.yaml", NET)
    shell.run("apply", "web.yaml", "-y")
    shell.write("bad.yaml", NET.replace("outputs:", BAD))
    said = shell.run("apply", "bad.yaml", "--name", "web", "-y", "--rollback", status=1)
    assert "ROLLBACK_COMPLETE" in said
    assert "UPDATE_COMPLETE" in shell.run("apply", "web.yaml", "-y")
    shell.rows("destroy", "-y")


MISTAKES = """\
heat_template_version: 2021-04-16
parameters:
  cidr: {type: string, default: 10.0.0.0/24}
resources:
  net:
    type: OS::Neutron::Net
    properties: {name: {get_parm: f}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: {get_param: cidr}, name: [a, b]}
  rules:
    type: OS::Neutron::SecurityGroup
    properties: {rules: [{protocol: tpc}], name: {get_file: none.txt}}
"""


def test_a_plan_reports_mistakes_in_the_words_of_lint(shell: Shell):
    shell.write("web.yaml", MISTAKES)
    said = shell.run("lint", "web.yaml", "--format", "json", status=1)
    found = json.loads(said)["findings"] if said.startswith("{") else json.loads(said)
    words = [f"{one['file']}:{one['line']}:{one['column']}: {one['message']}" for one in found]
    assert len(words) == 4
    (error,) = shell.rows("plan", "web.yaml", status=1)
    assert error["messages"] == words
    more = ("--parameter", "cidr=10.0.0.0/99")
    (error,) = shell.rows("apply", "web.yaml", "-y", *more, status=1)
    assert set(error["messages"]) <= set(words)
    assert "in the request" not in str(error)
