"""The reason of a timeout ends with what the cloud showed or said last."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from hearth.store import accept, reads
from hearth.store.credentials import Requester
from hearth.store.rows import Revision
from tests.engine.worker.test_faults import Town, state, told
from tests.resources.test_in_engine import new_id

pytestmark = pytest.mark.slow

VOLUME = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
NET = {"type": "OS::Neutron::Net"}
ANSWERS = {"service": "volume", "method": "GET", "path_regex": "/volumes/[0-9a-f-]{36}$"}


async def created(town: Town, thing: Any) -> str:
    """Create a stack with one resource and a timeout of a minute, and wait for its end: its id."""
    template = {"heat_template_version": "2021-04-16", "resources": {"thing": thing}}
    new = accept.NewStack(
        id=new_id(),
        project_id=town.who.project_id,
        name="web",
        revision=Revision(json.dumps(template)),
        credential=(new_id(), Requester(town.running.auth_url, town.token)),
        timeout_mins=1,
    )
    await town.store.run(lambda tx: accept.create(tx, new, time.time(), new_id))
    await town.rest(new.id)
    return new.id


async def ended(town: Town, thing: Any) -> tuple[str, str, str]:
    """Create such a stack: its state, and both reasons."""
    ident = await created(town, thing)
    row = await town.rest(ident)
    await town.settle(ident)
    records = town.store.transact(lambda tx: reads.records(tx, ident), write=False)
    reasons = (row.reason, reads.in_charge(records)["thing"].reason)
    return state(row), *(re.sub("/[0-9a-f-]{36}", "/ID", reason) for reason in reasons)


@pytest.mark.parametrize(
    ("thing", "match", "effect", "seen"),
    [
        (
            VOLUME,
            {"service": "volume", "method": "POST", "path_regex": "/volumes$"},
            {"slow_s": 600.0},
            "last seen: status creating",
        ),
        (
            VOLUME,
            ANSWERS,
            {"status": 200, "body": {}},
            "last refusal: GET /volumes/ID: the answer does not show what was asked for",
        ),
        (
            VOLUME,
            ANSWERS,
            {"status": 503},
            "last refusal: block-storage: A fault rule caused this error (HTTP 503)",
        ),
    ],
)
def test_a_create_that_timed_out_says_what_it_waited_with(
    thing: Any, match: Any, effect: Any, seen: str
) -> None:
    async def story(town: Town) -> None:
        town.knob(match, effect)
        ended_in, stack, resource = await ended(town, thing)
        assert ended_in == "CREATE_FAILED"
        assert stack == f"Timed out; resources.thing: {seen}"
        assert resource.startswith("CREATE aborted (Task create from Volume")
        assert resource.endswith(f" Timed out); {seen}")

    told(story)


def test_a_conflict_that_lasts_is_in_the_reason_of_the_timeout() -> None:
    async def story(town: Town) -> None:
        words = "Unable to complete operation: it is busy."
        body = {"NeutronError": {"type": "InUse", "message": words, "detail": ""}}
        match = {"service": "network", "method": "POST", "path_regex": "/networks$"}
        town.knob(match, {"status": 409, "body": body, "latency_s": 8.0})
        ended_in, stack, resource = await ended(town, NET)
        assert ended_in == "CREATE_FAILED"
        assert stack == f"Timed out; resources.thing: last refusal: InUse: {words}"
        assert resource.endswith(f" Timed out); last refusal: InUse: {words}")

    told(story)


def test_a_status_that_nobody_knows_fails_at_once() -> None:
    async def story(town: Town) -> None:
        shown = {"volume": {"id": "x", "status": "meditating"}}
        town.knob(ANSWERS, {"status": 200, "body": shown})
        _, stack, _ = await ended(town, VOLUME)
        words = "ResourceUnknownStatus: resources.thing: thing - Unknown status meditating due to"
        assert stack == f'Resource CREATE failed: {words} "Unknown"'

    told(story)


def test_a_delete_after_one_that_timed_out_waits_for_its_call_and_deletes() -> None:
    async def story(town: Town) -> None:
        ident = await created(town, NET)
        match = {"service": "network", "method": "DELETE", "path_regex": "/networks/"}
        town.knob({**match, "times": 1}, {"status": 409, "latency_s": 63.0})
        row = await town.unmake(ident)
        assert (state(row), row.reason) == ("DELETE_FAILED", "Timed out")
        row = await town.unmake(ident)
        assert state(row) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)


def test_nothing_follows_where_nothing_was_seen() -> None:
    async def story(town: Town) -> None:
        handle = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 600}}
        ended_in, stack, _ = await ended(town, handle)
        assert (ended_in, stack) == ("CREATE_FAILED", "Timed out")

    told(story)
