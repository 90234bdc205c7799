"""Every fault of a cloud at every kind of call: the stack converges, or fails in the cloud's words.

Whatever happens, a delete leaves nothing behind, and nobody storms the cloud with calls.
"""

from __future__ import annotations

from typing import Any

import pytest

from hearth.cloud.transport import ATTEMPTS_MAX, LASTING_MAX
from tests.engine.worker.test_faults import SMALL, Town, state, told
from tests.selection import one_first

pytestmark = one_first

WANTED = {"network.networks": 1, "network.subnets": 1, "compute.servers": 1}
CALLS_MAX = 80  # of a create and a delete of three resources; 40 without faults
WORDS = "the cloud has its reasons"

PAGE = "<html><body>502 Bad Gateway</body></html>"
PASSING: dict[str, dict[str, Any]] = {
    "401": {"status": 401},
    "429": {"status": 429, "retry_after": 1},
    "503": {"status": 503},
    "reset": {"drop": True},
    "no answer": {"withhold": 0.2},
    "a page": {"garble": PAGE},
    "cut off": {"garble": '{"network": {"id": "4711", "na'},
    "not JSON": {"garble": "\x00\x01"},
}
REFUSALS: dict[str, dict[str, Any]] = {
    "400": {"status": 400, "body": {"badRequest": {"code": 400, "message": WORDS}}},
    "403": {"status": 403, "body": {"forbidden": {"code": 403, "message": WORDS}}},
    "500": {"status": 500, "body": {"computeFault": {"code": 500, "message": WORDS}}},
}
CREATES = {
    "network": {"service": "network", "method": "POST", "path_regex": "/networks$"},
    "server": {"service": "compute", "method": "POST", "path_regex": "/servers$"},
}
READS = {
    "server": {"service": "compute", "method": "GET", "path_regex": "/servers/"},
}
DELETES = {
    "network": {"service": "network", "method": "DELETE", "path_regex": "/networks/"},
    "server": {"service": "compute", "method": "DELETE", "path_regex": "/servers/"},
}


def calls(town: Town) -> int:
    ledger = town.running.cloud.store.ledger
    return len(ledger.calls) - ledger.calls_from


def check_made_once(town: Town) -> None:
    made = {name: number for name, number in town.made().items() if name in WANTED}
    assert made == WANTED


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("what", CREATES)
def test_a_create_call_that_fails_once_is_made_once(what: str, fault: str) -> None:
    async def story(town: Town) -> None:
        town.knob({**CREATES[what], "times": 1}, PASSING[fault])
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE", row.reason
        check_made_once(town)
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []
        assert calls(town) < CALLS_MAX

    told(story)


@pytest.mark.parametrize("fault", REFUSALS)
@pytest.mark.parametrize("what", CREATES)
def test_a_refused_create_tells_the_words_of_the_cloud(what: str, fault: str) -> None:
    async def story(town: Town) -> None:
        town.knob(CREATES[what], REFUSALS[fault])
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_FAILED"
        assert WORDS in row.reason
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []
        assert calls(town) < CALLS_MAX

    told(story)


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING)
def test_a_look_that_fails_twice_is_repeated(fault: str) -> None:
    async def story(town: Town) -> None:
        for match in READS.values():
            town.knob({**match, "times": 2 if fault != "401" else 1}, PASSING[fault])
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_COMPLETE", row.reason
        check_made_once(town)
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []
        assert calls(town) < CALLS_MAX

    told(story)


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("what", DELETES)
def test_a_delete_call_that_fails_once_is_repeated(what: str, fault: str) -> None:
    async def story(town: Town) -> None:
        row = await town.make(SMALL, {})
        town.knob({**DELETES[what], "times": 1}, PASSING[fault])
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []
        assert calls(town) < CALLS_MAX

    told(story)


@pytest.mark.parametrize("fault", REFUSALS)
@pytest.mark.parametrize("what", DELETES)
def test_after_a_refused_delete_the_next_one_goes_on(what: str, fault: str) -> None:
    async def story(town: Town) -> None:
        row = await town.make(SMALL, {})
        times = ATTEMPTS_MAX if fault == "500" else 1  # a delete that broke off is sent again
        town.knob({**DELETES[what], "times": times}, REFUSALS[fault])
        failed = await town.unmake(row.id)
        assert state(failed) == "DELETE_FAILED"
        assert WORDS in failed.reason
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)


@pytest.mark.slow
def test_a_delete_in_conflict_is_tried_again() -> None:
    async def story(town: Town) -> None:
        row = await town.make(SMALL, {})
        town.knob({**DELETES["network"], "times": 1}, {"status": 409})
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)


def test_what_somebody_else_deleted_is_gone() -> None:
    async def story(town: Town) -> None:
        row = await town.make(SMALL, {})
        servers = [one for one in town.objects() if one["collection"] == "servers"]
        demo, _ = next(iter(town.pool._clouds._kept.values()))
        await demo.request("compute", "DELETE", f"/servers/{servers[0]['id']}")
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)


def test_a_token_that_is_refused_for_ever_is_renewed_a_few_times() -> None:
    async def story(town: Town) -> None:
        town.knob(CREATES["network"], {"status": 401})
        row = await town.make(SMALL, {})
        assert state(row) == "CREATE_FAILED"
        asked = [
            call
            for call in town.running.cloud.store.ledger.calls
            if call.method == "POST" and call.path.endswith("/networks")
        ]
        assert len(asked) == LASTING_MAX
        town.running.cloud.knobs.clear()
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)
