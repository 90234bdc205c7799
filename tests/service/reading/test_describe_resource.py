"""What guests poll: few statements whatever the stack, no cloud, and only what is theirs."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from benchmarks.inside import CALLER, Inside, inside
from msgspec.structs import replace

from benchmarks import templates
from hearth.cloud.config import STACK_USER_ROLE
from hearth.model.problem import Rejected
from hearth.service import services as services_module
from hearth.service.reading.describe_resource import Described, describe_resource
from hearth.service.reading.resources import resources, rows_about, rows_of
from hearth.store import reads
from hearth.store.tables import stack

GUEST = replace(CALLER, user_id="guest", project_id="guests", roles=frozenset({STACK_USER_ROLE}))
TEXT = "heat_template_version: 2021-04-16\nresources:\n"
DESCRIBED = TEXT + "  r1: {type: OS::Heat::Value, description: Mine, properties: {value: 1}}\n"
TWO = DESCRIBED + "  r2: {type: OS::Heat::Value, properties: {value: 2}}\n"


def lived(path: Path, life: Callable[[Inside], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        async with inside(path / "hearth.db") as running:
            return await life(running)

    return asyncio.run(whole())


def test_a_poll_takes_four_statements_at_most_and_no_call(tmp_path, monkeypatch):
    async def life(inside: Inside) -> list[int]:
        services, counts = inside.services, []
        small, _ = await inside.create("small", templates.wide(2))
        large, _ = await inside.create("large", templates.wide(300))
        monkeypatch.delattr(services_module.Services, "cloud")
        for row, name in ((small, "small"), (large, "large")):
            for identity in (row.id, name):
                taken = []
                for _ in range(4):  # the first one learns the descriptions; the engine's beat
                    before = services.store.statements
                    await describe_resource(services, CALLER, identity, "r1")
                    taken.append(services.store.statements - before)
                counts.append(min(taken))
        return counts

    assert lived(tmp_path, life) == [3, 4, 3, 4]


def test_descriptions_outlive_programs_and_follow_updates(tmp_path, monkeypatch):
    async def life(inside: Inside) -> list[str]:
        services = inside.services
        row, _ = await inside.create("told", DESCRIBED)

        async def told() -> str:
            return (await describe_resource(services, CALLER, "told", "r1")).description

        found = [await told()]
        row, _ = await inside.update(row, DESCRIBED.replace("Mine", "Yours"))
        found.append(await told())
        monkeypatch.delattr(services_module.Services, "program")
        found.append(await told())
        return found

    assert lived(tmp_path, life) == ["Mine", "Yours", "Yours"]


async def given_to_guests(inside: Inside) -> None:
    """A stack with a project for its users; one of them was made for r1."""
    row, _ = await inside.create("guests-stack", TWO)
    records = await inside.services.store.read(lambda tx: reads.records(tx, row.id))
    ident = next(record.id for record in records if record.name == "r1")
    mine = sa.update(stack).where(stack.c.id == row.id).values(user_project_id=GUEST.project_id)

    def write(tx: Any) -> None:
        tx.execute(mine)
        version, _, _ = reads.data_of(tx, ident)
        assert reads.set_data(tx, row.id, ident, version, {"user_id": "guest"}, {"a": 1})

    await inside.services.store.run(write)


@pytest.mark.parametrize(
    ("caller", "name", "kind"),
    [
        (GUEST, "r1", None),
        (GUEST, "r2", "Forbidden"),
        (replace(GUEST, user_id="other"), "r1", "Forbidden"),
        (replace(GUEST, project_id="elsewhere"), "r1", "EntityNotFound"),
        (replace(GUEST, project_id=CALLER.project_id), "r1", "Forbidden"),
        (GUEST, "r3", "ResourceNotFound"),
        (CALLER, "r2", None),
        (replace(CALLER, project_id="elsewhere"), "r1", "EntityNotFound"),
    ],
)
def test_a_guest_reads_what_it_was_made_for(tmp_path, caller, name, kind):
    async def life(inside: Inside) -> Described | str:
        await given_to_guests(inside)
        try:
            return await describe_resource(inside.services, caller, "guests-stack", name)
        except Rejected as rejected:
            return rejected.problems[0].kind

    found = lived(tmp_path, life)
    if kind is None:
        assert (found.record.name, found.stack.name) == (name, "guests-stack")
        assert found.metadata == ({"a": 1} if name == "r1" else {})
    else:
        assert found == kind


def test_a_guest_of_a_replaced_resource_is_shown_its_own(tmp_path):
    async def life(inside: Inside) -> list[tuple[str, str]]:
        row, _ = await inside.create("replaced", TWO)
        rows = await inside.services.store.read(lambda tx: rows_of(tx, row))
        ((_, records),) = rows.records
        new = next(record for record in records if record.name == "r1")
        old = replace(new, id="old", physical_id="old", until=1)
        both = replace(rows, records=[(row, [old, *records])])
        found = []
        for record in (old, new):
            shown = await resources(inside.services, CALLER, row, rows_about(both, record))
            found.append(sorted((one.record.name, one.record.id == record.id) for one in shown))
        return found

    assert lived(tmp_path, life) == [[("r1", True), ("r2", False)]] * 2
