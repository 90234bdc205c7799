"""Plans in files: read back, refused when damaged, old or of another stack."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hearth.cli.apply.api import Api, UserError
from hearth.cli.apply.saved_plan import SavedPlan
from hearth.cli.apply.stack import StackClient

PLAN = {"hash": "one", "resources": [{"resource": "net", "action": "create", "reasons": []}]}
BODY = {"template": "t", "parameters": {"password": "secret"}}


def stack(ident: str | None = "7", location: str = "web.db") -> StackClient:
    details = None if ident is None else {"id": ident, "stack_status": "CREATE_COMPLETE"}
    return StackClient(cast(Api, SimpleNamespace(location=location)), "web", details)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "web.plan"
    SavedPlan.of(stack(), BODY, PLAN).write(found)
    return found


def test_a_plan_is_read_back_and_only_its_owner_can_read_it(path: Path):
    found = SavedPlan.read(path)
    assert found == SavedPlan("web", "7", "web.db", BODY, PLAN)
    assert path.stat().st_mode & 0o077 == 0
    found.demand(stack())
    found.demand_same(PLAN)


def test_a_template_is_no_plan(tmp_path: Path):
    for text in ("heat_template_version: 2021-04-16\n", '{"heat_template_version": "x"}', "{", ""):
        (tmp_path / "t").write_text(text)
        assert SavedPlan.read(tmp_path / "t") is None


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.99])
def test_a_plan_that_is_not_whole_is_refused(path: Path, keep: float):
    text = path.read_text()
    path.write_text(text[: int(len(text) * keep)])
    with pytest.raises(UserError, match="incomplete"):
        SavedPlan.read(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ["web"]}, {"stack_id": 7}, {"body": "t"}, {"plan": None}, {"plan": {}},
        {"plan": {**PLAN, "resources": [5]}}, {"plan": {**PLAN, "resources": [{"action": "x"}]}},
        {"plan": {"hash": "one", "resources": 5}}, {"plan": {**PLAN, "hash": 5}}, {"more": 1},
        {"plan": {**PLAN, "resources": [{**PLAN["resources"][0], "nested": 5}]}},
        {"plan": {**PLAN, "resources": [{**PLAN["resources"][0], "reasons": None}]}},
    ],
    ids=str,
)  # fmt: skip
def test_a_plan_with_other_contents_is_refused(path: Path, wrong: dict[str, Any]):
    path.write_text(json.dumps({**json.loads(path.read_text()), **wrong}))
    with pytest.raises(UserError, match="damaged: it is not a plan"):
        SavedPlan.read(path)


def test_a_plan_that_is_nested_too_deeply_is_refused(path: Path):
    path.write_text(path.read_text()[:-1] + ', "more": ' + "[" * 100_000)
    with pytest.raises(UserError, match="damaged"):
        SavedPlan.read(path)


def test_a_plan_of_a_newer_release_is_refused(path: Path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(UserError, match="newer release"):
        SavedPlan.read(path)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (stack(location="other.db"), "the plan is for web.db, not for other.db"),
        (stack(None), "does not exist any more"),
        (stack("8"), "was created again since"),
    ],
)
def test_a_plan_of_another_stack_is_refused(path: Path, now: StackClient, said: str):
    found = SavedPlan.read(path)
    assert found is not None
    with pytest.raises(UserError, match=said):
        found.demand(now)


def test_what_changed_since_is_told(path: Path):
    found = SavedPlan.read(path)
    assert found is not None
    reason = {"property": "name", "reason": "changed", "before": "a", "after": "b"}
    now: dict[str, Any] = {
        "hash": "two",
        "resources": [
            {"resource": "net", "action": "update", "reasons": [reason]},
            {"resource": "port", "action": "create", "reasons": []},
        ],
    }
    with pytest.raises(UserError) as caught:
        found.demand_same(now)
    assert caught.value.lines == [
        "the plan is old; this has changed since:",
        '  net: planned create, now update (name = "b")',
        "  port: planned nothing, now create",
    ]
