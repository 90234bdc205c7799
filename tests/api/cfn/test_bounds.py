"""An answer about all stacks is bounded; one about a single stack has the bounds of its outputs."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.api.cfn import actions
from hearth.api.cfn.faults import CfnError

LARGE = {"Outputs": [{"OutputValue": "x" * 600}]}


def described(monkeypatch: pytest.MonkeyPatch, count: int) -> Any:
    async def rows(_: Any) -> list[int]:
        return list(range(count))

    async def stack(*_: Any) -> Any:
        return LARGE

    monkeypatch.setattr(actions, "_project_stacks", rows)
    monkeypatch.setattr(actions, "_stack", stack)
    monkeypatch.setattr(actions, "DESCRIBED_BYTES_MAX", 1500)
    asked: Any = SimpleNamespace(params={})
    return asyncio.run(actions.describe(asked))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_what_is_within_the_bound_is_described(monkeypatch: pytest.MonkeyPatch, count: int):
    assert described(monkeypatch, count) == {"Stacks": [LARGE] * count}


def test_more_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(CfnError, match="name one in StackName"):
        described(monkeypatch, 3)
