"""What a plan says about each record."""

from typing import Any

import pytest

from hearth.engine.core.decide import EXTERNAL
from hearth.engine.core.plan import Target, plan
from hearth.engine.core.record import Held, Record
from hearth.model.state import Action


@pytest.mark.parametrize(
    ("held", "physical_id", "loses"),
    [
        ({}, "x", True),
        ({"deletion_policy": "Retain"}, "x", False),
        ({"deletion_policy": "Snapshot"}, "x", False),
        ({"parts": {EXTERNAL: "x"}}, "x", False),
        ({}, None, False),
    ],
)
def test_a_delete_of_an_object_with_data_says_so(
    held: dict[str, Any], physical_id: str | None, loses: bool
) -> None:
    record = Record(
        "1", "disk", "T", 1, 1.0, action=Action.CREATE, physical_id=physical_id, held=Held(**held)
    )
    for holds_data in (True, False):
        found = plan(
            [record], None, Target(1, 1), new_id=str, now=1.0, holds_data=lambda _, h=holds_data: h
        )
        body = found.as_json()["resources"][0]
        assert body.get("deletes_data", False) is (loses and holds_data)
