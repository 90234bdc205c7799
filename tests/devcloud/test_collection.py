"""Declarations and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Fault,
    Field,
    Invalid,
    boolean,
    integer,
    text,
)

BOXES = Collection(
    "box",
    "boxes",
    "box",
    {
        "name": Field(text(5), required=True),
        "open": Field(boolean, default=False),
        "size": Field(integer(1, 9), default=1, update=False),
        "owner": Field(text(), default="", admin=True),
        "labels": Field(default=list),
        "status": READ_ONLY,
    },
)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"name": "a", "colour": "red"}, Fault.UNKNOWN),
        ({"name": "a", "status": "on"}, Fault.READ_ONLY),
        ({}, Fault.MISSING),
        ({"name": "a", "owner": "me"}, Fault.FORBIDDEN),
        ({"name": "too long"}, Fault.INVALID),
        ({"name": "a", "size": 10}, Fault.INVALID),
        ({"name": "a", "open": "perhaps"}, Fault.CONVERSION),
    ],
)
def test_what_a_declaration_does_not_allow_is_refused(given: dict[str, Any], fault: Fault) -> None:
    with pytest.raises(Invalid) as refused:
        BOXES.for_create(given, admin=False)
    assert refused.value.fault is fault


def test_defaults_are_filled_in_and_words_become_values() -> None:
    made = BOXES.for_create({"name": "a", "open": "True", "size": "3"})
    assert (made["open"], made["size"], made["labels"]) == (True, 3, [])
    assert made["labels"] is not BOXES.for_create({"name": "b"})["labels"]


def test_an_update_has_only_what_was_given_and_may_change() -> None:
    assert BOXES.for_update({"name": "b"}) == {"name": "b"}
    with pytest.raises(Invalid):
        BOXES.for_update({"size": 2})
