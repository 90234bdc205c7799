"""Runs and results of deployments in the rows: each once, whatever is repeated."""

import asyncio
import json
import time
import uuid
from typing import Any

import pytest

from hearth.engine.core.record import Record
from hearth.engine.deployments import CANCELLED, StackDeployments, take
from hearth.model.state import Action, Status
from hearth.resources.deployments import Run
from hearth.store import accept, software_configs
from hearth.store import software_deployments as deployments
from hearth.store.commit import Changes
from hearth.store.database import Store
from hearth.store.rows import Revision, StackRow
from hearth.store.software_configs import Config
from tests.store.test_contract import an_engine, claimed, loaded, part, written

CONFIG = {
    "name": "setup", "group": "script", "config": "echo", "options": {}, "inputs": [],
    "outputs": [{"name": "result"}],
}  # fmt: skip


class Clouds:
    """No cloud: the metadata of the server is read from its row."""

    def of(self, row, credential):
        return None

    users = of


class Clock:
    def now(self):
        return time.time()

    monotonic = wall = now


def new_id() -> str:
    return str(uuid.uuid4())


class Shelf:
    """A stack with a server and the record of a deployment on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        new = accept.NewStack(new_id(), "project", f"s{new_id()[:8]}", Revision(template="t"))
        store.transact(lambda tx: accept.create(tx, new, time.time(), new_id))
        self.row: StackRow = loaded(store, new.id).stack
        self.server, self.record = (
            Record(new_id(), name, "OS::Heat::DeployedServer", 1, 1.0, Action.CREATE,
                   Status.IN_PROGRESS, physical_id=physical_id)
            for name, physical_id in (("server", "server-id"), ("dep", None))
        )  # fmt: skip
        self.engine = an_engine(store)
        one = next(one for one in claimed(store, self.engine) if one.stack_id == new.id)
        records = {one.id: one for one in (self.server, self.record)}
        changes = Changes(insert=records, metadata={self.server.id: {"role": "web"}})
        written(store, part(store, self.engine, one, always=changes))
        self.deployments = StackDeployments(store, Clouds(), Clock(), new_id, self.row, self.record)

    def run(self, config_id: str = "c1", **changes: Any) -> None:
        values = {
            "deployment_id": self.record.id, "server_id": "server-id", "config_id": config_id,
            "config": CONFIG, "action": "CREATE", "status": "IN_PROGRESS", "reason": "available",
            "input_values": {"a": 1}, "user_project_id": "users",
        }  # fmt: skip
        asyncio.run(self.deployments.run(Run(**{**values, **changes})))

    def found(self) -> Any:
        return self.store.transact(
            lambda tx: deployments.find(tx, "project", self.record.id), write=False
        )

    def configs(self) -> list[str]:
        rows = self.store.transact(
            lambda tx: software_configs.of_project(tx, "project"), write=False
        )
        return sorted(one.id for one in rows)

    def listed(self) -> list[str]:
        """The ids of the configurations in the metadata of the server."""
        metadata = loaded(self.store, self.row.id).metadata[self.server.id]
        assert metadata["role"] == "web"
        return [one["id"] for one in metadata["deployments"]]

    def take(self, sent: Any) -> None:
        asyncio.run(self.deployments.take(self.record.id, sent))

    def messages(self) -> int:
        return len(loaded(self.store, self.row.id).messages)


@pytest.fixture
def shelf(store: Store) -> Shelf:
    return Shelf(store)


def test_a_run_that_is_repeated_keeps_the_results_that_came_meanwhile(shelf: Shelf) -> None:
    shelf.run()
    shelf.take({"result": 1})
    shelf.run()  # the engine died before it could commit that it had run
    found = shelf.found()
    assert (found.status, found.output_values["result"]) == ("COMPLETE", 1)
    assert shelf.configs() == shelf.listed() == ["c1"]


def test_the_next_run_takes_the_place_of_the_last(shelf: Shelf) -> None:
    shelf.run()
    shelf.take({})
    shelf.run("c2", former_config_id="c1", action="UPDATE")
    found = shelf.found()
    assert (found.status, found.action, found.config_id) == ("IN_PROGRESS", "UPDATE", "c2")
    assert shelf.configs() == shelf.listed() == ["c2"]


def test_results_are_taken_once_and_wake_the_owner(shelf: Shelf) -> None:
    shelf.run()
    before = shelf.messages()
    shelf.take({"deploy_status_code": 3})
    shelf.take({"deploy_status_code": 0})
    found = shelf.found()
    assert (found.status, found.output_values["deploy_status_code"]) == ("FAILED", 3)
    assert shelf.messages() == before + 2


@pytest.mark.parametrize("sent", [None, [], "no json", json.dumps([1]), 7])
def test_what_is_no_map_reports_success_and_nothing_else(shelf: Shelf, sent: Any) -> None:
    shelf.run()
    shelf.take(sent)
    found = shelf.found()
    assert found.status == "COMPLETE"
    assert set(found.output_values.values()) == {None}


def test_results_as_text_are_read(shelf: Shelf) -> None:
    shelf.run()
    shelf.take(json.dumps({"result": "x"}))
    assert shelf.found().output_values["result"] == "x"


def test_results_of_a_deployment_that_is_not_there_change_nothing(shelf: Shelf) -> None:
    shelf.take({"result": 1})
    assert shelf.found() is None


def test_a_stranger_with_the_same_id_elsewhere_is_not_touched(shelf: Shelf, store: Store) -> None:
    shelf.run()
    other = Shelf(store)
    other.row = shelf.row.having(project_id="other")
    store.transact(lambda tx: take(tx, other.row, other.record, shelf.record.id, {}, new_id(), 1.0))
    assert shelf.found().status == "IN_PROGRESS"


@pytest.mark.parametrize("ended", [True, False])
def test_a_cancel_fails_only_what_is_still_waited_for(shelf: Shelf, ended: bool) -> None:
    shelf.run()
    if ended:
        shelf.take({})
    asyncio.run(shelf.deployments.cancel(shelf.record.id))
    found = shelf.found()
    assert (found.status, found.reason == CANCELLED) == (
        ("COMPLETE", False) if ended else ("FAILED", True)
    )


def test_a_drop_takes_the_runs_of_the_stack_and_no_others(shelf: Shelf, store: Store) -> None:
    shelf.run()
    users = Config(id="users", project_id="project", name="n", created_at=1.0, group="script")
    store.transact(lambda tx: software_configs.put(tx, users))
    store.transact(
        lambda tx: deployments.change(
            tx, deployments.Deployment(
                shelf.record.id, "project", "users", "server-id", 1.0, status="COMPLETE",
            )
        )
    )  # fmt: skip
    asyncio.run(shelf.deployments.drop(shelf.record.id, "c1"))
    assert shelf.found() is None
    assert shelf.configs() == ["users"]
    assert shelf.listed() == []


def test_a_drop_may_be_repeated(shelf: Shelf) -> None:
    shelf.run()
    for _ in range(2):
        asyncio.run(shelf.deployments.drop(shelf.record.id, "c1"))
    assert shelf.configs() == []


def test_outputs_without_a_value_are_there_and_empty(shelf: Shelf) -> None:
    shelf.run()
    state = asyncio.run(shelf.deployments.find(shelf.record.id))
    assert state is not None
    assert state.values == dict.fromkeys(
        ("deploy_stdout", "deploy_stderr", "deploy_status_code", "result")
    )


def test_the_type_behind_a_server_is_known_in_its_project_only(shelf: Shelf) -> None:
    assert asyncio.run(shelf.deployments.stands_for("server-id")) == "OS::Heat::DeployedServer"
    assert asyncio.run(shelf.deployments.stands_for("stranger")) is None
