"""The table of calls comes from the routes, and says what a cloud does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hearth_devcloud import calls
from hearth_devcloud.__main__ import main
from hearth_devcloud.cloud import SERVICES
from hearth_devcloud.fixed_ids import fixed_hex
from tests.devcloud.running import Served

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "packages" / "hearth-devcloud" / "CALLS.md"
KNOWN = calls.known_calls()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == calls.markdown(), "hearth-devcloud calls >CALLS.md"


def test_it_is_printed_as_a_page_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calls"]) == 0
    assert capsys.readouterr().out == calls.markdown()
    assert main(["calls", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["calls"]) == len(KNOWN)
    assert document["services"]["compute"] == {
        "project": "nova",
        "microversions": ["2.1", "2.96"],
    }
    assert {
        "service": "volume",
        "method": "POST",
        "path": "/volume/v3/volume-transfers",
        "since": "3.55",
        "actions": [],
    } in document["calls"]


def test_every_service_is_on_it() -> None:
    assert {call.service for call in KNOWN} == set(SERVICES)


def request(served: Served, call: calls.KnownCall, version: str, body: Any = None) -> int:
    path = call.path.replace("{}", "AUTH_none")
    path = path.replace("/v1.0/", f"/v1.0/{fixed_hex('project', 'admin')}/")
    headers = {
        "OpenStack-API-Version": f"{call.service.removeprefix('application-')} {version}",
        "X-OpenStack-Manila-API-Version": version,
    }
    return served.call(call.method, path, body, user="admin", headers=headers).status_code


@pytest.mark.parametrize("call", [one for one in KNOWN if one.since], ids=str)
def test_a_call_does_not_exist_before_its_microversion(
    served: Served, call: calls.KnownCall
) -> None:
    major, _, minor = call.since.partition(".")
    older = request(served, call, f"{major}.{int(minor) - 1}")
    assert older == (406 if call.service == "application-container" else 404)


@pytest.mark.parametrize(
    "call", [one for one in KNOWN if one.since and "{}" not in one.path], ids=str
)
def test_it_exists_from_its_microversion_on(served: Served, call: calls.KnownCall) -> None:
    assert request(served, call, call.since, {}) in (200, 400)


@pytest.mark.parametrize("call", [one for one in KNOWN if one.actions], ids=str)
def test_other_actions_are_refused(served: Served, call: calls.KnownCall) -> None:
    bounds = SERVICES[call.service].microversions
    oldest = "{}.{}".format(*bounds[0]) if bounds else ""
    for body in ({"dance": {}}, {}, [], {call.actions[0]: {}, "dance": {}}):
        assert request(served, call, oldest, body) == 400
