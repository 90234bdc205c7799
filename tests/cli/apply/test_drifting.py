"""The last background check of a service, as `hearth drift --cached` shows it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hearth.cli.apply.api import UserError
from hearth.cli.apply.drifting import last_drift
from hearth.cli.apply.options import StackLocation

COUNTS = {"in sync": 1, "drifted": 1, "missing": 0, "not checkable": 0}
NET = {
    "resource_name": "net", "resource_type": "OS::Neutron::Net", "state": "drifted",
    "parent_resource": None, "reason": None, "not_checkable": [],
    "differences": [{"property": "name", "want": "green", "have": "painted"}],
}  # fmt: skip
CHECKED: Mapping[str, Any] = {
    "state": "drifted", "counts": COUNTS, "resources": [NET], "reason": None,
    "checked_at": "2026-01-02T03:04:05Z",
}  # fmt: skip


class Service:
    """Answers what the command asks, and counts the comparisons with the cloud."""

    location = "the service"

    def __init__(self, last: Mapping[str, Any]) -> None:
        self.last = last
        self.compared = 0

    async def call(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Any:
        stack = {"id": "1", "stack_name": "web", "stack_status": "CREATE_COMPLETE"}
        if path.endswith("/drift"):
            self.compared += query != {"cached": "true"}
            return {"drift": dict(self.last)}
        return {"stack": stack, "stacks": [stack]}


def run(monkeypatch: pytest.MonkeyPatch, last: Mapping[str, Any], *, as_json: bool = False) -> int:
    service = Service(last)

    @asynccontextmanager
    async def opened(
        location: StackLocation, name: str | None
    ) -> AsyncIterator[tuple[Service, str]]:
        yield service, str(name)

    monkeypatch.setattr(StackLocation, "opened", opened)
    location = StackLocation(name=None, cloud=None, state=None, service=True, as_json=as_json)
    try:
        return asyncio.run(last_drift(location, "web"))
    finally:
        assert service.compared == 0


def test_the_last_check_is_shown_with_its_time(monkeypatch: Any, capsys: Any):
    assert run(monkeypatch, CHECKED) == 2
    assert capsys.readouterr().out.splitlines() == [
        "checked at 2026-01-02T03:04:05Z",
        "net  OS::Neutron::Net  drifted",
        '    name: "green" -> "painted"',
        "Drift: 1 in sync, 1 drifted.",
    ]
    run(monkeypatch, CHECKED, as_json=True)
    assert '"checked_at": "2026-01-02T03:04:05Z"' in capsys.readouterr().out


def test_a_check_without_result_says_why(monkeypatch: Any, capsys: Any):
    why = {"state": "not checkable", "counts": {}, "resources": [], "reason": "no credential"}
    assert run(monkeypatch, {**CHECKED, **why}) == 0
    assert "not checkable: no credential" in capsys.readouterr().out


def test_without_a_check_the_command_advises(monkeypatch: Any):
    nothing = {"checked_at": None, "reason": "no background check of this stack has ended yet"}
    with pytest.raises(UserError) as refused:
        run(monkeypatch, {**CHECKED, **nothing})
    assert refused.value.lines == [
        "web: no background check of this stack has ended yet",
        "hearth drift without --cached reads the cloud now",
    ]


def test_a_state_file_has_no_checks():
    location = StackLocation(name=None, cloud=None, state=None, service=False, as_json=False)
    with pytest.raises(UserError, match="only a service checks stacks in the background"):
        asyncio.run(last_drift(location, "web"))
