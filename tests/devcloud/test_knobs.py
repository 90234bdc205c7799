"""Faults and delays on request, and the ledger that shows what came of them."""

from __future__ import annotations

import threading
import time
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from hearth_devcloud.fixed_ids import fixed
from tests.devcloud.running import Served

NETWORKS = "/network/v2.0/networks"


@pytest.fixture(autouse=True)
def clean(served: Served) -> Any:
    yield
    served.call("DELETE", "/devcloud/knobs")


def knob(served: Served, effect: dict[str, Any], **match: Any) -> None:
    rule = {"match": match, "effect": effect}
    assert served.call("POST", "/devcloud/knobs", {"rules": [rule]}).ok


def make(served: Served, name: str, **more: Any) -> requests.Response:
    return served.call("POST", NETWORKS, {"network": {"name": name}}, **more)


def names(served: Served) -> set[str]:
    return {n["name"] for n in served.call("GET", NETWORKS).json()["networks"]}


def waiting(served: Served, count: int) -> None:
    deadline = time.monotonic() + 5
    while served.call("GET", "/devcloud/knobs").json()["waiting"] != count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_status_is_given_so_many_times_and_nothing_is_done(served: Served) -> None:
    effect = {"status": 503, "retry_after": 1, "body": {"busy": True}}
    knob(served, effect, service="network", method="POST", times=2)
    for _ in range(2):
        reply = make(served, "refused")
        assert (reply.status_code, reply.headers["Retry-After"]) == (503, "1")
        assert reply.json() == {"busy": True}
    assert "refused" not in names(served)
    assert make(served, "accepted").status_code == 201


def test_a_status_without_a_body_has_the_shape_of_the_service(served: Served) -> None:
    knob(served, {"status": 409}, service="network", method="POST", times=1)
    assert set(make(served, "refused").json()["NeutronError"]) == {"type", "message", "detail"}


def test_a_rule_for_a_trace_strikes_only_its_calls(served: Served) -> None:
    ours, other = "1" * 32, "2" * 32
    knob(served, {"status": 409}, trace=ours)
    struck = make(served, "ours", headers={"traceparent": f"00-{ours}-{'3' * 16}-01"})
    passed = make(served, "others", headers={"traceparent": f"00-{other}-{'3' * 16}-01"})
    assert (struck.status_code, passed.status_code) == (409, 201)
    assert make(served, "without").status_code == 201
    account = served.call("GET", f"/devcloud/ledger?trace={other}").json()
    found = [entry["name"] for entry in account["objects"] if not entry["implicit"]]
    assert found == ["others"]
    assert [call["path"] for call in account["calls"]] == [NETWORKS]
    assert served.call("DELETE", f"/devcloud/knobs?trace={other}").ok
    assert len(served.call("GET", "/devcloud/knobs").json()["rules"]) == 1
    assert served.call("DELETE", f"/devcloud/knobs?trace={ours}").ok
    assert served.call("GET", "/devcloud/knobs").json()["rules"] == []


def test_only_the_nth_matching_call_is_struck(served: Served) -> None:
    knob(served, {"status": 500}, path_regex="/networks$", method="POST", nth=2)
    assert [make(served, f"nth{i}").status_code for i in range(3)] == [201, 500, 201]


def test_only_the_first_of_calls_alike_is_struck(served: Served) -> None:
    knob(served, {"status": 500}, path_regex="/networks$", method="POST", first=True)
    found = [make(served, name).status_code for name in ("one", "two", "one", "one", "two")]
    assert found == [500, 500, 201, 201, 201]


def test_a_rule_may_be_for_names_of_a_pattern(served: Served) -> None:
    knob(served, {"status": 500}, name_regex="^web-")
    assert [make(served, name).status_code for name in ("db-1", "web-1", "my-web-1")] == [
        201,
        500,
        201,
    ]


def test_a_dropped_call_does_nothing(served: Served) -> None:
    knob(served, {"drop": True}, name="dropped")
    with pytest.raises(requests.ConnectionError):
        make(served, "dropped")
    served.call("DELETE", "/devcloud/knobs")
    assert "dropped" not in names(served)


def test_a_withheld_call_is_carried_out_but_never_answered(served: Served) -> None:
    knob(served, {"withhold": 0.05}, name="withheld", method="POST")
    with pytest.raises(requests.ConnectionError):
        make(served, "withheld")
    assert "withheld" in names(served)


def test_a_held_call_waits_until_it_is_released(served: Served) -> None:
    knob(served, {"hold": True}, name="held", method="POST")
    replies: list[int] = []
    with requests.Session() as session:
        headers = {"X-Auth-Token": served.token()}
        body = {"network": {"name": "held"}}

        def send() -> None:
            reply = session.post(served.url + NETWORKS, json=body, headers=headers, timeout=10)
            replies.append(reply.status_code)

        sender = threading.Thread(target=send)
        sender.start()
        waiting(served, 1)
        assert "held" not in names(served)
        assert served.call("POST", "/devcloud/knobs/release").json() == {"released": 1}
        sender.join(5)
    assert replies == [201]
    assert "held" in names(served)


def test_a_held_call_can_be_cut_as_if_it_had_never_arrived(served: Served) -> None:
    knob(served, {"hold": True}, name="unheard")
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(make(served, "unheard"))
        except requests.ConnectionError as problem:
            outcome.append(problem)

    thread = threading.Thread(target=call)
    thread.start()
    waiting(served, 1)
    assert served.call("POST", "/devcloud/knobs/release?discard=1").json() == {"released": 1}
    thread.join(5)
    assert isinstance(outcome[0], requests.ConnectionError)
    served.call("DELETE", "/devcloud/knobs")
    assert "unheard" not in names(served)


def test_an_invisible_object_turns_up_later(served: Served) -> None:
    knob(served, {"invisible_s": 0.2}, name="shy", method="POST")
    shy = make(served, "shy").json()["network"]["id"]
    assert served.call("GET", f"{NETWORKS}/{shy}").status_code == 404
    assert "shy" not in names(served)
    time.sleep(0.25)
    assert "shy" in names(served)


def test_a_server_is_slow_or_ends_in_error(served: Served) -> None:
    server: dict[str, Any] = {"flavorRef": "1"}
    server["networks"] = [{"uuid": fixed("network", "private")}]
    images = served.call("GET", "/image/v2/images?name=cirros").json()["images"]
    server["imageRef"] = images[0]["id"]
    statuses = {}
    knob(served, {"slow_s": 5}, name="slow", method="POST")
    knob(served, {"error": True}, name="broken", method="POST")
    for name in ("slow", "broken", "plain"):
        body = {"server": {**server, "name": name}}
        made = served.call("POST", "/compute/v2.1/servers", body).json()
        path = f"/compute/v2.1/servers/{made['server']['id']}"
        shown = served.call("GET", path).json()["server"]
        statuses[name] = shown["status"]
    assert statuses == {"slow": "BUILD", "broken": "ERROR", "plain": "ACTIVE"}


def test_a_rule_with_an_unknown_word_is_refused(served: Served) -> None:
    rules = {"rules": [{"match": {"colour": "red"}, "effect": {"drop": True}}]}
    assert served.call("POST", "/devcloud/knobs", rules).status_code == 400


def test_the_ledger_has_every_object_and_says_which_the_cloud_made(served: Served) -> None:
    served.call("POST", "/devcloud/ledger/mark")
    network = make(served, "counted").json()["network"]["id"]
    served.call("DELETE", f"{NETWORKS}/{network}")
    group = {"security_group": {"name": "counted"}}
    served.call("POST", "/network/v2.0/security-groups", group)

    account = served.call("GET", "/devcloud/ledger?calls=1").json()
    entry = next(o for o in account["objects"] if o["id"] == network)
    assert (entry["name"], entry["collection"], entry["implicit"]) == ("counted", "networks", False)
    assert entry["deleted"] == entry["created"] + 1
    assert account["totals"]["network.networks"] == {"created": 1, "deleted": 1, "implicit": 0}
    rules = [o for o in account["objects"] if o["collection"] == "security_group_rules"]
    assert rules
    assert all(rule["implicit"] for rule in rules)
    assert [(c["method"], c["status"]) for c in account["calls"]][:2] == [
        ("POST", 201),
        ("DELETE", 204),
    ]


def test_what_is_alive_does_not_count_what_was_there_from_the_start(served: Served) -> None:
    network = make(served, "alive").json()["network"]["id"]
    alive = served.call("GET", "/devcloud/objects").json()["objects"]
    assert network in {o["id"] for o in alive}
    assert not {o["name"] for o in alive} & {"public", "private", "cirros", "admin"}


@pytest.mark.parametrize(
    ("headers", "peer", "allowed"),
    [
        ({}, "127.0.0.1", True),
        ({"Host": "localhost:PORT"}, "127.0.0.1", True),
        ({"Sec-Fetch-Site": "none"}, "127.0.0.1", True),  # typed into a browser
        ({"Origin": "http://pages.example"}, "127.0.0.1", False),
        ({"Origin": "null"}, "127.0.0.1", False),
        ({"Sec-Fetch-Site": "cross-site"}, "127.0.0.1", False),
        ({"Sec-Fetch-Site": "same-origin"}, "127.0.0.1", False),
        ({"Host": "pages.example"}, "127.0.0.1", False),
        ({"Host": "pages.example:PORT"}, "127.0.0.1", False),
        ({"Host": "127.0.0.1.pages.example"}, "127.0.0.1", False),
        ({"Host": "[::1"}, "127.0.0.1", False),
        ({}, "127.0.0.2", False),  # a sandbox server
    ],
)
def test_only_programs_of_the_machine_use_the_admin_api(
    served: Served, headers: dict[str, str], peer: str, *, allowed: bool
) -> None:
    made = make(served, "stays").json()["network"]["id"]
    address = urlsplit(served.url)
    assert address.hostname is not None
    headers = {name: value.replace("PORT", str(address.port)) for name, value in headers.items()}
    calls = [
        ("POST", "/devcloud/knobs", b'{"rules": []}'),
        ("GET", "/devcloud/objects", None),
        ("DELETE", f"/devcloud/objects/{made}", None),
    ]
    for method, path, body in calls:
        sender = HTTPConnection(
            address.hostname, address.port, source_address=(peer, 0), timeout=10
        )
        sender.request(method, path, body, {"Content-Type": "text/plain", **headers})
        reply = sender.getresponse()
        said = reply.read()
        sender.close()
        assert reply.status == (200 if allowed else 403)
        assert allowed or b"the admin API refuses this" in said
    assert ("stays" in names(served)) is not allowed
    served.call("DELETE", f"{NETWORKS}/{made}")
