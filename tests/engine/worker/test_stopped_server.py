"""An update of a server that does not run ends, and one that timed out is completed by the next."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hearth.model.state import Action
from hearth.store import accept
from tests.engine.worker.test_faults import state
from tests.engine.worker.test_old_object import SERVERS, Site, at_site, nova, revision
from tests.resources.test_in_engine import new_id
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]


async def shown(site: Site) -> tuple[str, str]:
    """The status and the flavor of the server."""
    path = f"{SERVERS}/{site.id_of()}"
    answer = await site.cloud.request("compute", "GET", path, microversion="2.60")
    server = answer.body["server"]
    return server["status"], server["flavor"]["original_name"]


def flavored(name: str) -> Any:
    return revision(nova(flavor=name))


def test_a_stopped_server_gets_another_flavor_and_stays_stopped() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        await site.act("os-stop", "SHUTOFF")
        assert await site.update(flavored("m1.small")) == "UPDATE_COMPLETE"
        assert await shown(site) == ("SHUTOFF", "m1.small")

    at_site(story)


def test_a_stopped_server_gets_another_image_and_stays_stopped() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        old = site.id_of()
        await site.act("os-stop", "SHUTOFF")
        other = revision(nova(image="fedora-20.x86_64", flavor="m1.small"))
        assert await site.update(other) == "UPDATE_COMPLETE"
        assert site.id_of() == old
        assert await shown(site) == ("SHUTOFF", "m1.small")

    at_site(story)


@pytest.mark.parametrize(
    ("action", "status", "words"),
    [
        ("pause", "PAUSED", "vm_state paused"),
        ("suspend", "SUSPENDED", "vm_state suspended"),
        ("rescue", "RESCUE", "vm_state rescued"),
        ("shelve", "SHELVED_OFFLOADED", "vm_state shelved"),
        ("lock", "ACTIVE", "is locked"),
    ],
)
@pytest.mark.parametrize("change", ["flavor", "image"])
def test_a_server_that_cannot_be_changed_fails_the_update_at_once(
    action: str, status: str, words: str, change: str
) -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova(flavor="m1.small")))
        await site.act(action, status)
        began = time.monotonic()
        more = {"flavor": "m1.medium"} if change == "flavor" else {"image": "fedora-20.x86_64"}
        ended = await site.update(revision(nova(**{"flavor": "m1.small", **more})))
        assert time.monotonic() - began < 120
        assert ended.startswith("UPDATE_FAILED"), ended
        assert words in ended
        assert await shown(site) == (status, "m1.small")

    at_site(story)


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("when", ["under way", "resized"])
@pytest.mark.parametrize("flavor", ["m1.small", "m1.tiny", "m1.medium"])
def test_the_next_update_completes_a_resize_that_timed_out(
    stopped: bool, when: str, flavor: str
) -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        old = site.id_of()
        if stopped:
            await site.act("os-stop", "SHUTOFF")
        match = {"service": "compute", "method": "POST", "path_regex": "/action$", "times": 1}
        if when == "under way":
            site.town.knob(match, {"slow_s": 90.0})
        else:  # the request to confirm is accepted and forgotten
            site.town.knob({**match, "nth": 2}, {"status": 202})
        operation = accept.OperationRequest(
            Action.UPDATE, flavored("m1.small"), disable_rollback=True, timeout_mins=1
        )
        await site.town.store.run(
            lambda tx: accept.operate(tx, site.ident, operation, time.time(), new_id)
        )
        row = await site.town.rest(site.ident)
        assert (state(row), row.reason[:9]) == ("UPDATE_FAILED", "Timed out")
        await site.town.settle(site.ident)
        assert await site.update(flavored(flavor)) == "UPDATE_COMPLETE"
        assert await shown(site) == ("SHUTOFF" if stopped else "ACTIVE", flavor)
        assert site.id_of() == old

    at_site(story)


def test_a_refused_password_is_no_dead_end_although_nobody_can_read_it() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova(admin_pass="first")))
        old = site.id_of()
        await site.act("os-stop", "SHUTOFF")
        ended = await site.update(revision(nova(admin_pass="second")))
        assert "Cannot 'changePassword'" in ended
        assert await site.update(revision(nova(admin_pass="first"))) == "UPDATE_COMPLETE"
        assert site.id_of() == old

    at_site(story)
