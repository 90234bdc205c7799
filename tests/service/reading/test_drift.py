"""Drift: what is not read in time is told so; hidden values stay hidden at any depth."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.cloud.fault import CloudFault, NoService, NotFound
from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.resources.read_back import _same_objects
from hearth.resources.registry import builtin_types
from hearth.service.context import RecordData
from hearth.service.reading import drift as use
from hearth.service.reading import real_objects
from hearth.service.reading.drift import DriftState

NET = builtin_types()["OS::Neutron::Net"]


def record(**changes: Any) -> Record:
    held = Held(kind=NET.name, properties={"name": "one"}, reference="id")
    made = Record("r", "net", NET.name, 1, 0.0, Action.CREATE, Status.COMPLETE, physical_id="id")
    return made.having(**{"held": held, **changes})


def compared(
    monkeypatch: pytest.MonkeyPatch,
    one: Record,
    observe: Callable[..., Any],
    *,
    rtype: Any = NET,
    endpoint: Callable[..., Any] | None = None,
    strict: bool = False,
) -> use.Drift:
    """The drift of one resource whose type reads `observe`."""
    found = real_objects.StackResource(
        SimpleNamespace(), one, RecordData({}, {}, None), None, False, False
    )

    async def read(_: Any) -> list[real_objects.StackResource]:
        return [found]

    async def there(service: str) -> str:
        return "http://there"

    cloud = SimpleNamespace(endpoint=endpoint or there)
    services = SimpleNamespace(
        store=SimpleNamespace(read=read),
        cloud=lambda caller: cloud,
        programs=SimpleNamespace(type_of=lambda record: rtype),
    )
    monkeypatch.setattr(
        real_objects,
        "context_with",
        lambda *given: SimpleNamespace(properties=one.held.properties, cloud=cloud),
    )
    if rtype is not None:
        monkeypatch.setattr(type(rtype), "observe", observe)
    nothing: Any = SimpleNamespace()
    if strict:
        limited = {"depth": 0, "limit_s": 0.05, "strict": True}
        (only,) = asyncio.run(use.compare(services, cloud, nothing, **limited))
    else:
        (only,) = asyncio.run(use.drift(services, nothing, nothing, depth=0))
    return only


async def same(self: Any, ctx: Any) -> dict[str, Any]:
    return {"name": "one"}


def test_what_is_not_read_in_time_is_not_checkable(monkeypatch: pytest.MonkeyPatch):
    async def slow(self: Any, ctx: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(use, "READ_S", 0.05)
    found = compared(monkeypatch, record(), slow)
    words = "not read within 0.05 seconds"
    assert (found.state, found.reason) == (DriftState.NOT_CHECKABLE, words)
    assert found.unchecked == {"name": words}


def test_an_answer_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch):
    async def odd(self: Any, ctx: Any) -> None:
        raise KeyError("volume")

    found = compared(monkeypatch, record(), odd)
    assert found.state is DriftState.NOT_CHECKABLE
    assert found.reason == "the answer of the service cannot be read (KeyError)"


def test_only_an_answer_of_the_service_means_missing(monkeypatch: pytest.MonkeyPatch):
    async def lost(self: Any, ctx: Any) -> None:
        raise NotFound("network", "no such thing")

    async def nowhere(self: Any, ctx: Any) -> None:
        raise NoService("network")

    assert compared(monkeypatch, record(), lost).state is DriftState.MISSING
    assert compared(monkeypatch, record(), nowhere).state is DriftState.NOT_CHECKABLE


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": Status.IN_PROGRESS}, "in progress"),
        ({"action": Action.INIT}, "it has not been created"),
        ({"held": Held(), "reason": "too few"}, "it has not been created: too few"),
        ({"action": Action.DELETE, "status": Status.FAILED, "reason": "in use"},
         "its delete failed: in use"),
        ({"physical_id": None}, "it has no object in the cloud"),
    ],
)  # fmt: skip
def test_the_state_of_a_resource_may_forbid_to_compare_it(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], reason: str
):
    found = compared(monkeypatch, record(**changes), same)
    assert (found.state, found.reason) == (DriftState.NOT_CHECKABLE, reason)


def test_a_type_that_is_no_longer_available_is_not_checkable(monkeypatch: pytest.MonkeyPatch):
    assert compared(monkeypatch, record(), same, rtype=None).reason == real_objects.NO_TYPE


def test_a_failed_resource_is_compared_with_its_last_success(monkeypatch: pytest.MonkeyPatch):
    failed = record(action=Action.UPDATE, status=Status.FAILED)
    assert compared(monkeypatch, failed, same).state is DriftState.IN_SYNC


@pytest.mark.parametrize(
    ("states", "together"),
    [
        ([], DriftState.NOT_CHECKABLE),
        ([DriftState.NOT_CHECKABLE], DriftState.NOT_CHECKABLE),
        ([DriftState.IN_SYNC, DriftState.NOT_CHECKABLE], DriftState.IN_SYNC),
        ([DriftState.IN_SYNC, DriftState.MISSING], DriftState.DRIFTED),
        ([DriftState.DRIFTED], DriftState.DRIFTED),
    ],
)
def test_the_state_of_the_stack_is_the_worst(states: list[DriftState], together: DriftState):
    assert use.together(states) is together


@pytest.mark.parametrize(
    ("status", "failing"), [(0, True), (429, True), (500, True), (503, True), (403, False)]
)
def test_a_strict_comparison_ends_at_a_service_that_fails(
    monkeypatch: pytest.MonkeyPatch, status: int, failing: bool
):
    async def failed(self: Any, ctx: Any) -> None:
        raise CloudFault("network", status, "Failed", "failed")

    assert compared(monkeypatch, record(), failed).answered is not failing
    if failing:
        with pytest.raises(CloudFault):
            compared(monkeypatch, record(), failed, strict=True)
    else:
        found = compared(monkeypatch, record(), failed, strict=True)
        assert found.state is DriftState.NOT_CHECKABLE


def test_a_strict_comparison_without_time_has_no_result(monkeypatch: pytest.MonkeyPatch):
    async def slow(self: Any, ctx: Any) -> None:
        await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        compared(monkeypatch, record(), slow, strict=True)


def test_a_name_that_cannot_be_looked_up_is_no_difference():
    async def failed(kind: str, value: str) -> str:
        raise CloudFault("network", 503, "Failed", "failed")

    names: Any = SimpleNamespace(id_of=failed)
    with pytest.raises(CloudFault):
        asyncio.run(_same_objects(names, "neutron.network", "name", "id", strict=True))
    assert not asyncio.run(_same_objects(names, "neutron.network", "name", "id", strict=False))
