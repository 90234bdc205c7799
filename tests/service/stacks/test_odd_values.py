"""Whatever value a property has, a user gets an answer in words: no error of Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, Inside

from hearth.authoring.lint import lint
from hearth.cloud.fault import NoToken
from hearth.cloud.keystone import KeystoneSession
from hearth.model.problem import Rejected
from hearth.service.stacks import request as stack_request
from hearth.service.stacks.preview import plan_create
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.validate import validate
from tests.selection import part_of
from tests.service.stacks.test_types_used import Rules, played
from tests.types.case import Subject, kinds, subject
from tests.types.values import NeedsCase

pytestmark = pytest.mark.slow

ODD: tuple[Any, ...] = (None, [None], {"zz": None}, "", [], {}, [1], "zz", -1, [[]], [{}])


def templates(one: Subject) -> Iterator[tuple[str, str]]:
    """The example of a type with each odd value for each property."""
    try:
        good = one.minimal()
    except NeedsCase:
        good = {}
    for name in one.kind.properties:
        for odd in ODD:
            template = one.with_properties({**good, name: odd})
            yield f"{name}: {json.dumps(odd)}", json.dumps(template)


async def no_cloud(*_: Any) -> Any:
    raise NoToken("identity", 401, "Unauthorized", "there is no cloud")


async def nothing_wrong(*_: Any) -> list[Any]:
    return []


async def failure(call: Any) -> str:
    try:
        await call
    except Rejected:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", part_of(sorted(kinds().keys() - {"<template>"}), 20))
def test_an_odd_value_is_answered_in_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_request, "_against_the_cloud", nothing_wrong)
    monkeypatch.setattr(KeystoneSession, "_in_thread", no_cloud)
    one = subject(name)

    path = tmp_path / "t.yaml"

    async def story(running: Inside, rules: Rules) -> dict[str, str]:
        rules.in_force = False
        found = {}
        for case, text in templates(one):
            asked = StackRequest(text, files=dict(one.case.get("files", {})))
            lint(path, open_texts={path: text})
            found[f"{case}, planned"] = await failure(
                plan_create(running.services, CALLER, "new", asked)
            )
            found[f"{case}, validated"] = await failure(
                validate(running.services, CALLER, asked, show_nested=True)
            )
        return {case: error for case, error in found.items() if error}

    assert played(tmp_path, story) == {}
