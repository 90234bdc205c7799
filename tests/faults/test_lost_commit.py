"""A Hearth whose database sits behind a proxy that loses the answers of COMMITs.

Real processes, real servers. Whatever was lost, each request counts once and no stack gets stuck.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.conftest import drop_database, fresh_database
from tests.crash.processes import Client, Cloud, Hearth, until
from tests.faults.proxy import Loss, LossyProxy, in_front_of
from tests.faults.test_store import check_ended
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

NOTHING = """
heat_template_version: 2021-04-16
resources: {v: {type: OS::Heat::Value, properties: {value: VALUE}}}
"""
WAITING = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  told:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, count: 2, timeout: 300}
"""
CLAIM = b"UPDATE stack SET owner="
RECEIPT = b"INSERT INTO receipt"
STUCK_S = 8.0  # a claim that is lost is found at one of the next looks, each second


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Client, LossyProxy, Hearth]]:
    """A Hearth with its client, and the proxy in front of its database."""
    url, name = fresh_database(request.param)
    cloud = Cloud()
    with in_front_of(url) as (by_proxy, proxy):
        hearth = Hearth(tmp_path_factory.mktemp("hearth"), cloud, database=by_proxy)
        try:
            hearth.start()
            client = Client(cloud, hearth.url)
            yield client, proxy, hearth
            client.close()
        finally:
            hearth.kill()
            cloud.close()
    drop_database(request.param, name)


@pytest.fixture
def house(
    running: tuple[Client, LossyProxy, Hearth],
) -> Iterator[tuple[Client, LossyProxy, Hearth]]:
    """The same for each test, with nothing lost yet, and without stacks in the end."""
    client, proxy, _ = running
    proxy.lost = 0
    yield running
    proxy.lose_no_more()
    for ident in client.states() or ():
        client.delete("web", ident)
    until("no stack", lambda: client.states() == {}, 60)


def lost(proxy: LossyProxy, before: int = 0) -> None:
    until("the loss", lambda: proxy.lost > before, 20)


@pytest.mark.parametrize("carried_out", [True, False], ids=["carried out", "not"])
def test_a_claim_without_an_answer_is_found_and_carried_on(house, carried_out: bool) -> None:
    client, proxy, hearth = house
    proxy.lose(Loss(carried_out, of=CLAIM))
    began = time.monotonic()
    ident = client.create("web", NOTHING.replace("VALUE", "one"), {})
    lost(proxy)
    check_ended(client, ident, "CREATE_COMPLETE")
    assert time.monotonic() - began < STUCK_S, hearth.said()
    proxy.lose(Loss(carried_out, of=CLAIM))
    client.delete("web", ident)
    check_ended(client, ident, "DELETE_COMPLETE", "GONE")


@pytest.mark.parametrize("carried_out", [True, False], ids=["carried out", "not"])
def test_each_request_whose_commit_has_no_answer_counts_once(house, carried_out: bool) -> None:
    client, proxy, _ = house
    proxy.lose(Loss(carried_out, of=RECEIPT))
    ident = client.create("web", NOTHING.replace("VALUE", "one"), {})
    lost(proxy)
    check_ended(client, ident, "CREATE_COMPLETE")
    proxy.lose(Loss(carried_out, of=RECEIPT))
    update = {"template": NOTHING.replace("VALUE", "two")}
    assert client.call("PUT", f"/stacks/web/{ident}", update).status_code == 202
    lost(proxy, 1)
    check_ended(client, ident, "UPDATE_COMPLETE")
    shown = client.call("GET", f"/stacks/web/{ident}/revisions").json()["revisions"]
    assert [one["number"] for one in shown] in ([1, 2], [2, 1])


@pytest.mark.parametrize("carried_out", [True, False], ids=["carried out", "not"])
def test_a_signal_whose_commit_has_no_answer_counts_once(house, carried_out: bool) -> None:
    client, proxy, _ = house
    ident = client.create("web", WAITING, {})
    handle = f"/stacks/web/{ident}/resources/handle"

    until(
        "the handle", lambda: client.resources("web", ident).get("handle") == "CREATE_COMPLETE", 30
    )
    for number, word in enumerate(("one", "two")):
        assert client.call("GET", f"/stacks/web/{ident}").json()["stack"]["stack_status"] == (
            "CREATE_IN_PROGRESS"
        )
        proxy.lose(Loss(carried_out, of=RECEIPT))
        assert client.call("POST", f"{handle}/signal", {"data": word}).status_code == 200
        lost(proxy, number)
        told = client.call("GET", f"{handle}/metadata").json()["metadata"]
        assert [told[key]["data"] for key in sorted(told)] == ["one", "two"][: number + 1]
        time.sleep(1.0)
    check_ended(client, ident, "CREATE_COMPLETE")
