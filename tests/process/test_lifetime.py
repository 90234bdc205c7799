"""Processes that are told to stop, and settings that change while they run."""

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from hearth.store.database import Store
from hearth.store.engines import engines
from hearth.store.keyring import unlock
from hearth.store.migrate import upgrade
from hearth.store.seal import sealer_from_secret, sealer_of
from hearth.store.tables import keyring, metadata
from tests.api.front.conftest import Site, served
from tests.clients.dev import wait_for
from tests.config.test_configuration import NEEDED
from tests.conftest import drop_database, fresh_database

pytestmark = pytest.mark.slow
TEMPLATE = {"heat_template_version": "2021-04-16"}
SLOW = {
    **TEMPLATE,
    "resources": {"wait": {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 60}}},
}


@pytest.fixture(scope="module")
def hearth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("reload")) as one:
        yield one


KEY = NEEDED["DEFAULT"]["auth_encryption_key"]


def make(hearth: Site, name: str, template: object = TEMPLATE) -> requests.Response:
    body = {"stack_name": name, "template": template}
    return hearth.call("POST", f"/v1/{hearth.project()}/stacks", json=body)


def test_limits_count_from_the_signal_on(hearth: Site):
    said = hearth.reload(DEFAULT={"max_template_size": "40", "max_stacks_per_tenant": "0"})
    assert "now in effect: max_stacks_per_tenant, max_template_size" in said
    refused = make(hearth, "limited", {**TEMPLATE, "description": "x" * 50})
    assert refused.json()["error"]["type"] == "RequestLimitExceeded"
    assert "40" in refused.json()["error"]["message"]
    hearth.reload(DEFAULT={"max_stacks_per_tenant": "0"})
    refused = make(hearth, "limited")
    assert "0 stacks at most" in refused.json()["error"]["message"], refused.text
    hearth.reload()
    assert make(hearth, "unlimited").status_code == 201


def test_stacks_end_when_the_operator_says(hearth: Site):
    hearth.reload(DEFAULT={"stack_action_timeout": "1", "max_events_per_stack": "77"})
    assert make(hearth, "late", SLOW).status_code == 201
    path = f"/v1/{hearth.project()}/stacks/late"

    def look() -> str | None:
        found = requests.get(f"{hearth.url}{path}", headers=hearth.token(), timeout=10)
        stack = found.json()["stack"]
        done = stack["stack_status"] != "CREATE_IN_PROGRESS"
        return str(stack["stack_status_reason"]) if done else None

    assert wait_for(look, "the deadline", 20) == "Timed out"
    hearth.reload()


def test_policies_are_read_again(hearth: Site):
    policy = hearth.folder / "policy.yaml"
    policy.write_text('"stacks:index": "role:admin and project_id:%(project_id)s"\n')
    hearth.reload(oslo_policy={"policy_file": "policy.yaml"})
    assert hearth.stacks().status_code == 403
    assert hearth.stacks("admin").status_code == 200
    policy.write_text("{ broken: [\n")

    def look() -> str | None:
        hearth.stacks("admin")
        text = hearth.log.read_text()
        return text if "its previous rules remain in effect" in text else None

    wait_for(look, "the broken file to be noticed", 20)
    assert (hearth.stacks().status_code, hearth.stacks("admin").status_code) == (403, 200)
    said = hearth.reload(oslo_policy={"policy_file": "policy.yaml"})
    assert "the settings remain unchanged: [oslo_policy]" in said
    policy.unlink()
    hearth.reload()
    assert hearth.stacks().status_code == 200


def test_a_wrong_file_changes_nothing_and_what_cannot_change_is_named(hearth: Site):
    wrong = {"max_stacks_per_tenant": "many", "enable_stack_adopt": "true"}
    said = hearth.reload(DEFAULT=wrong)
    assert "the settings remain unchanged: " in said
    assert "max_stacks_per_tenant" in said
    assert make(hearth, "as-before").status_code == 201
    hearth.reload(DEFAULT={"action_retry_limit": "1", "max_stack_per_tenant": "1"})
    assert "action_retry_limit" in hearth.told("these settings take effect at the next start")
    assert "max_stack_per_tenant; did you mean max_stacks_per_tenant?" in hearth.told("are unknown")
    hearth.reload()


def test_the_level_of_the_log_changes(tmp_path: Path):
    with served(tmp_path, DEFAULT={"default_log_levels": "hearth.access=ERROR"}) as hearth:
        hearth.stacks()
        hearth.reload()
        last = hearth.stacks().headers["X-OpenStack-Request-ID"]
        assert last in hearth.told("hearth.access")
        assert hearth.log.read_text().count("hearth.access") == 1


def test_requests_under_way_end_and_nobody_new_gets_in(tmp_path: Path):
    with served(tmp_path) as hearth:
        assert hearth.process is not None
        assert make(hearth, "slow", SLOW).status_code == 201
        hearth.stacks()
        began, done = threading.Event(), []

        def chunks() -> Iterator[bytes]:
            yield b'{"stack_name": "last", "template": {"heat_template_version": '
            began.set()
            until = time.monotonic() + 20
            while time.monotonic() < until and not refused(hearth):
                time.sleep(0.05)
            yield b'"2021-04-16"}}'

        def last() -> None:
            path = f"/v1/{hearth.project()}/stacks"
            done.append(hearth.call("POST", path, data=chunks()))

        thread = threading.Thread(target=last)
        thread.start()
        assert began.wait(10)
        hearth.process.send_signal(signal.SIGTERM)
        thread.join(30)
        assert [one.status_code for one in done] == [201]
        assert hearth.process.wait(30) == 0
        hearth.start()
        names = {one["stack_name"] for one in hearth.stacks().json()["stacks"]}
        assert names == {"slow", "last"}
        assert hearth.stop() == 0


def refused(hearth: Site) -> bool:
    """Whether nobody listens any more."""
    try:
        requests.get(f"{hearth.url}/healthcheck", timeout=5, headers={"Connection": "close"})
    except requests.ConnectionError:
        return True
    return False


@pytest.mark.parametrize("role", ["api", "engine"])
def test_each_role_stops_and_reads_again(tmp_path: Path, role: str):
    with served(tmp_path, "--role", role) as hearth:
        hearth.reload(DEFAULT={"max_stacks_per_tenant": "1"})
        assert ("http://" in hearth.url) == (role == "api"), "an engine listens nowhere"
        assert hearth.stop() == 0
        said = hearth.log.read_text()
    assert said.index(": stopping") < said.index(": stopped")
    assert ("released 0 stacks" in said) == (role == "engine")


def test_the_log_names_the_request_that_asked(hearth: Site):
    made = make(hearth, "asked")
    stack_id, request_id = made.json()["stack"]["id"], made.headers["X-OpenStack-Request-ID"]
    line = hearth.told(f"{request_id}: CREATE completed")
    assert f"stack asked ({stack_id}) of project {hearth.project()}, {request_id}: " in line


def test_notifications_go_into_the_log(tmp_path: Path):
    """With the words of a heat.conf that is years old."""
    with served(tmp_path, DEFAULT={"notification_driver": "log"}) as hearth:
        assert make(hearth, "noted").status_code == 201
        line = hearth.told("oslo.messaging.notification.orchestration.stack.create.end")
    assert '"stack_name": "noted"' in line


def test_nobody_gets_in_while_the_engine_waits_for_its_calls(tmp_path: Path):
    with served(tmp_path) as hearth:
        assert hearth.process is not None
        rule = {"match": {"service": "network", "method": "POST"}, "effect": {"hold": True}}
        assert hearth.cloud.call("POST", "/devcloud/knobs", {"rules": [rule]}).ok
        net = {**TEMPLATE, "resources": {"net": {"type": "OS::Neutron::Net"}}}
        assert make(hearth, "held", net).status_code == 201

        def held() -> bool | None:
            return hearth.cloud.call("GET", "/devcloud/knobs").json()["waiting"] == 1 or None

        wait_for(held, "the call to be held")
        hearth.process.send_signal(signal.SIGTERM)
        wait_for(lambda: refused(hearth) or None, "the end of listening")
        store = Store(f"sqlite:///{tmp_path}/hearth.db", sealer_from_secret("of no use"))
        assert store.transact(engines, write=False), "the engine has not taken its leave yet"
        store.close()
        hearth.cloud.call("POST", "/devcloud/knobs/release?discard=0")
        assert hearth.process.wait(30) == 0


def test_a_part_that_breaks_ends_the_process_with_a_failure(tmp_path: Path):
    url, name = fresh_database("postgresql")
    try:
        store = Store(url, sealer_of([KEY]))
        upgrade(store)
        unlock(store, [KEY])
        lost = [one for one in metadata.sorted_tables if one is not keyring]
        with store.sync_engine.begin() as connection:  # it claims to be current, and is empty
            metadata.drop_all(connection, tables=lost)
        store.close()
        with served(tmp_path, database={"connection": url.replace("%", "%%")}) as hearth:
            assert hearth.process is not None
            assert hearth.process.wait(30) == 1
            assert hearth.told("a task of the process ended unexpectedly")
    finally:
        drop_database("postgresql", name)
