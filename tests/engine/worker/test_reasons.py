"""What a service repeats of a hidden value is not stored: not in states, not in events."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from benchmarks.inside import CALLER, Inside, inside

from hearth.cloud.fault import CloudFault
from hearth.resources.base import ResourceContext
from hearth.resources.heat.test_resource import TestResource
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.request import StackRequest
from hearth.store import claim, reads
from hearth.store.rows import record_of, stack_row
from hearth.store.tables import event, resource, stack

SECRET = "hunter2-and-more"
FAILING = {
    "type": "OS::Heat::TestResource",
    "properties": {"value": {"get_param": "key"}, "fail": True},
}
KEY = {"key": {"type": "string", "hidden": True}}


def text(resources: dict[str, Any], parameters: dict[str, Any] | None = None) -> str:
    body = {"heat_template_version": "2021-04-16", "resources": resources}
    return json.dumps({**body, "parameters": parameters or KEY})


def group(definition: dict[str, Any]) -> dict[str, Any]:
    properties = {"count": 1, "resource_def": definition}
    return {"g": {"type": "OS::Heat::ResourceGroup", "properties": properties}}


OPEN = {"inner": {"type": "string"}}
INNER = {**FAILING, "properties": {"value": {"get_param": "inner"}, "fail": True}}
CHILD = {"c": {"type": "child.yaml", "properties": {"inner": {"get_param": "key"}}}}
PLACES = {
    "its own": (text({"r": FAILING}), {}),
    "a group's member": (text(group(FAILING)), {}),
    "a child to which it is open": (text(CHILD), {"child.yaml": text({"r": INNER}, OPEN)}),
    "a group in such a child": (text(CHILD), {"child.yaml": text(group(INNER), OPEN)}),
}


@pytest.fixture(autouse=True)
def repeating(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type whose failure repeats what it was given, as services do."""

    async def begin(_: TestResource, ctx: ResourceContext) -> None:
        words = f"Invalid value {ctx.properties['value']} of {ctx.properties['value']}."
        raise CloudFault("network", 400, "BadRequest", words)

    monkeypatch.setattr(TestResource, "begin", begin)


@pytest.mark.parametrize("place", PLACES)
def test_no_stored_reason_tells_it(place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG", "hearth")
    template, files = PLACES[place]

    async def story(running: Inside) -> str:
        wanted = StackRequest(template=template, files=files, parameters={"key": SECRET})
        row = await create_stack(running.services, CALLER, "web", wanted)
        store = running.services.store
        async with asyncio.timeout(20):
            while row.status == "IN_PROGRESS":
                await asyncio.sleep(0.01)
                found = await store.read(lambda tx, i=row.id: claim.row(tx, i))
                assert found is not None
                row = found

        def reasons(tx: Any) -> list[str]:
            queries = [sa.select(table) for table in (stack, resource, event)]
            stacks, records, events = (tx.rows(query) for query in queries)
            rows = [stack_row(tx, one) for one in stacks]
            told = [one.reason for one in (*rows, *(record_of(tx, one) for one in records))]
            told += [str(one.first_failure) for one in rows]
            return [*told, *(reads.event_of(tx, one).event.reason for one in events)]

        assert row.status == "FAILED"
        assert await store.read(lambda tx: reads.records(tx, row.id))
        return "\n".join(await store.read(reasons))

    async def told() -> str:
        async with inside(tmp_path / "hearth.db") as running:
            return await story(running)

    stored = asyncio.run(told())
    assert SECRET not in stored + caplog.text
    assert "Invalid value ****** of ******." in caplog.text
    assert "Invalid value ****** of ******." in stored
