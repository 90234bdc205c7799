"""A failure at every position of a create and of an update, with rollback and without.

Afterwards the cloud holds exactly what the stack's records name, and a delete leaves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from hearth.engine.core.record import Record
from hearth.model.state import Action
from hearth.store import accept, reads
from hearth.store.database import Tx
from hearth.store.rows import Revision
from tests.crash.tiers import tiers
from tests.engine.worker.test_faults import UNATTENDED, Town, state, told
from tests.resources.test_in_engine import new_id
from tests.selection import one_first
from tests.templates.test_heat_templates import CASES, FOLDER

pytestmark = [pytest.mark.slow, one_first]

WRITES = (
    r"/(networks|subnets|routers|ports|security-groups|security-group-rules|floatingips|servers|"
    r"os-server-groups|os-keypairs|os-volume_attachments|volumes)$"
)
REFUSED = {"status": 400, "body": {"badRequest": {"code": 400, "message": "not this time"}}}
NAMES = ("hello_world", "servers_in_new_neutron_net", "vm_with_cinder")


def given() -> Iterator[tuple[str, Revision, Revision]]:
    """Name, first revision and the one it is updated to."""
    files: dict[str, str] = dict(tiers.acts[0].files)
    after = UNATTENDED.replace("cidr: 10.20.0.0", "cidr: 10.21.0.0").replace(
        "  box: {", "  more: {type: OS::Cinder::Volume, properties: {size: 1}}\n  box: {"
    )
    yield "three tiers", Revision(UNATTENDED, files), Revision(after, files)
    for case in CASES:
        if case.template in NAMES and FOLDER.is_dir():
            text = (FOLDER / "hot" / f"{case.template}.yaml").read_text()
            first = {"parameters": dict(case.parameters)}
            second = {"parameters": {**case.parameters, **case.change}}
            yield case.template, Revision(text, {}, first), Revision(text, {}, second)


def things(town: Town) -> list[dict[str, Any]]:
    """What is alive, but for what Hearth itself has in identity while there is a stack."""
    return [
        one
        for one in town.objects()
        if one["deleted"] is None
        and one["service"] != "identity"
        and one["collection"] != "security_group_rules"  # parts of their groups
    ]


def agrees(town: Town, row: Any) -> list[str]:
    """What is alive and named by no record, of things that have ids of their own."""

    def of_tree(tx: Tx) -> list[Record]:
        return [r for one in (row, *reads.children(tx, row, 5)) for r in reads.records(tx, one.id)]

    records = town.store.transact(of_tree, write=False)
    data = town.store.transact(
        lambda tx: [str(reads.data_of(tx, record.id)) for record in records], write=False
    )
    known = " ".join([*(record.physical_id or "" for record in records), *data])
    return [
        f"{one['collection']} {one['name']}"
        for one in things(town)
        if not any(str(one[key]) in known for key in ("id", "name") if one.get(key))
    ]


@pytest.mark.parametrize("rollback", [True, False], ids=["rollback", "no rollback"])
@pytest.mark.parametrize(
    ("name", "first", "second"), list(given()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_failed_create_at_every_position(
    name: str, first: Revision, second: Revision, rollback: bool
) -> None:
    async def story(town: Town) -> int:
        position = 0
        while True:
            position += 1
            town.knob({"method": "POST", "path_regex": WRITES, "nth": position}, REFUSED)
            row = await town.make(first.template, first.files, environment=first.environment,
                                  rollback=rollback)  # fmt: skip
            struck = town.running.cloud.knobs.rules[0].struck
            town.running.cloud.knobs.clear()
            if struck and rollback:
                assert state(row) == "ROLLBACK_COMPLETE", (position, row.reason)
                assert things(town) == [], position
            elif struck:
                assert state(row) == "CREATE_FAILED", (position, row.reason)
                assert "not this time" in row.reason
                await town.settle(row.id)
                assert agrees(town, row) == [], position
            assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
            assert town.alive() == [], position
            if not struck:
                return position - 1

    assert told(story) >= 1


@pytest.mark.parametrize("rollback", [True, False], ids=["rollback", "no rollback"])
@pytest.mark.parametrize(
    ("name", "first", "second"), list(given()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_failed_update_at_every_position(
    name: str, first: Revision, second: Revision, rollback: bool
) -> None:
    async def story(town: Town) -> int:
        position = 0
        while True:
            position += 1
            row = await town.make(first.template, first.files, environment=first.environment)
            assert state(row) == "CREATE_COMPLETE", row.reason
            town.knob({"path_regex": WRITES, "method": "POST", "nth": position}, REFUSED)
            operation = accept.OperationRequest(
                Action.UPDATE, second, disable_rollback=not rollback
            )
            await town.store.run(
                lambda tx, ident=row.id, wanted=operation: accept.operate(
                    tx, ident, wanted, time.time(), new_id
                )
            )
            row = await town.rest(row.id)
            struck = town.running.cloud.knobs.rules[0].struck
            town.running.cloud.knobs.clear()
            await town.settle(row.id)
            if struck:
                ended = "ROLLBACK_COMPLETE" if rollback else "UPDATE_FAILED"
                assert state(row) == ended, (position, row.reason)
            else:
                assert state(row) == "UPDATE_COMPLETE", row.reason
            assert agrees(town, row) == [], position
            assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
            assert town.alive() == [], position
            if not struck:
                return position - 1

    told(story)
