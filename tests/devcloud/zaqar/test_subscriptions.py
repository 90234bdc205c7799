"""Subscriptions: whom messages are sent to, and pre-signed URLs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.devcloud.listener import Listener, listening
from tests.devcloud.running import Served
from tests.devcloud.zaqar.test_zaqar import BASE, ME, Queue, later


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as found:
        yield found


@pytest.fixture
def queue(served: Served, request: pytest.FixtureRequest) -> Queue:
    return Queue(served, request.node.name.replace("[", "-").replace("]", "-")[:60])


def subscribe(queue: Queue, subscriber: str, **more: object) -> str:
    answer = queue("POST", "/subscriptions", {"subscriber": subscriber, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["subscription_id"])


def test_a_subscription_is_made_shown_changed_and_deleted(queue: Queue) -> None:
    ident = subscribe(queue, "mailto:me@example.com", ttl=600, options={"subject": "hi"})
    shown = queue("GET", f"/subscriptions/{ident}").json()
    assert shown == {
        "id": ident, "source": queue.name, "subscriber": "mailto:me@example.com", "ttl": 600,
        "age": shown["age"], "options": {"subject": "hi"}, "confirmed": True,
    }  # fmt: skip
    assert queue("GET", "/subscriptions").json()["subscriptions"] == [shown]
    again = queue("POST", "/subscriptions", {"subscriber": "mailto:me@example.com"})
    assert again.status_code == 409
    other = subscribe(queue, "http://127.0.0.1:1/")
    taken = {"subscriber": "mailto:me@example.com"}
    assert queue("PATCH", f"/subscriptions/{other}", taken).status_code == 409
    changed = {"subscriber": "https://127.0.0.1:1/", "ttl": 60, "options": {}}
    assert queue("PATCH", f"/subscriptions/{ident}", changed).status_code == 204
    assert changed.items() <= queue("GET", f"/subscriptions/{ident}").json().items()
    assert [queue("DELETE", f"/subscriptions/{ident}").status_code for _ in range(2)] == [204, 204]
    assert queue("GET", f"/subscriptions/{ident}").status_code == 404
    assert queue("PATCH", f"/subscriptions/{ident}", {"ttl": 60}).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"subscriber": "ftp://127.0.0.1/"},
        {"subscriber": 7},
        {"subscriber": "http://127.0.0.1/", "ttl": 59},
        {"subscriber": "http://127.0.0.1/", "ttl": "60"},
        {"subscriber": "http://127.0.0.1/", "options": []},
        {"subscriber": "http://127.0.0.1/", "colour": "red"},
    ],
)
def test_what_is_no_subscription_is_refused(queue: Queue, body: dict[str, object]) -> None:
    assert queue("POST", "/subscriptions", body).status_code == 400


def test_lists_come_in_pages(queue: Queue) -> None:
    made = {subscribe(queue, f"http://127.0.0.1:1/{n}") for n in range(3)}
    first = queue("GET", "/subscriptions?limit=2").json()
    assert len(first["subscriptions"]) == 2
    path = first["links"][0]["href"].partition(queue.name)[2]
    rest = queue("GET", path).json()["subscriptions"]
    assert {one["id"] for one in [*first["subscriptions"], *rest]} == made


def test_each_message_is_sent_to_each_subscriber(queue: Queue, listener: Listener) -> None:
    subscribe(queue, f"{listener.url}/a")
    options = {
        "post_headers": {"X-Me": "you"},
        "post_data": json.dumps({"in": ["$zaqar_message$"], "n": 1}),
    }
    subscribe(queue, f"{listener.url}/b", options=options)
    subscribe(queue, "mailto:me@example.com")
    queue.post({"n": 1}, {"n": 2}, ttl=70)
    heard = listener.wait(4)
    plain = [one for one in heard if one.path == "/a"]
    assert sorted(one.body["body"]["n"] for one in plain) == [1, 2]
    for one in plain:
        assert one.headers["content-type"] == "application/json"
        kept = {"ttl": 70, "queue_name": queue.name, "Message_Type": "Notification"}
        assert kept.items() <= one.body.items()
    filled = next(one for one in heard if one.path == "/b")
    assert filled.headers["x-me"] == "you"
    assert filled.body["n"] == 1
    assert filled.body["in"][0]["Message_Type"] == "Notification"


def test_what_nobody_takes_is_sent_again(queue: Queue, listener: Listener) -> None:
    listener.statuses = [503]
    subscribe(queue, listener.url)
    queue.post("once")
    first, second = listener.wait(2)
    assert first.body == second.body


def test_a_subscriber_that_trusts_gets_a_token_of_the_user(
    queue: Queue, listener: Listener
) -> None:
    ident = subscribe(queue, f"trust+{listener.url}/t", options={"post_data": "{}"})
    options = queue("GET", f"/subscriptions/{ident}").json()["options"]
    trust = queue.served.call("GET", f"/identity/v3/OS-TRUST/trusts/{options['trust_id']}").json()
    assert trust["trust"]["impersonation"] is True
    queue.post("x")
    token = listener.wait(1)[0].headers["x-auth-token"]
    assert token != queue.served.token()
    subject = {"X-Subject-Token": token}
    shown = queue.served.call("GET", "/identity/v3/auth/tokens", headers=subject, user="admin")
    assert shown.json()["token"]["user"]["name"] == "demo"
    assert shown.json()["token"]["OS-TRUST:trust"]["id"] == options["trust_id"]
    url = listener.url.replace("//", f"//{options['trust_id']}@")
    given = subscribe(queue, f"trust+{url}/u")
    shown = queue("GET", f"/subscriptions/{given}").json()
    assert shown["options"] == {"trust_id": options["trust_id"]}
    queue.post("y")
    assert {one.path for one in listener.wait(3)} == {"/t", "/u"}
    foreign = {"subscriber": "trust+http://127.0.0.1:1/", "options": {"trust_id": "other"}}
    assert queue("POST", "/subscriptions", foreign).status_code == 403
    by_trust = {"X-Auth-Token": token, "Client-ID": ME}
    refused = queue.served.session.post(
        f"{queue.served.url}{BASE}/{queue.name}/subscriptions",
        json={"subscriber": "trust+http://127.0.0.1:1/"}, headers=by_trust,
    )  # fmt: skip
    assert refused.status_code == 403
    queue("DELETE", f"/subscriptions/{ident}")
    gone = queue.served.call("GET", f"/identity/v3/OS-TRUST/trusts/{options['trust_id']}")
    assert gone.status_code == 404


def test_a_subscription_ends_with_its_time_or_its_queue(fresh: Served) -> None:
    queue = Queue(fresh, "ends")
    ident = subscribe(queue, "http://127.0.0.1:1/", ttl=60)
    later(fresh, 61)
    assert queue("GET", f"/subscriptions/{ident}").status_code == 404
    ident = subscribe(queue, "http://127.0.0.1:1/")
    queue("DELETE")
    assert queue("GET", "/subscriptions").json()["subscriptions"] == []


def signed(queue: Queue, **wanted: object) -> dict[str, str]:
    """The headers of a signed call."""
    answer = queue("POST", "/share", wanted)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    return {
        "Client-ID": ME,
        "URL-Signature": shown["signature"],
        "URL-Expires": shown["expires"],
        "URL-Paths": ",".join(shown["paths"]),
        "URL-Methods": ",".join(shown["methods"]),
        "X-Project-ID": shown["project"],
    }


def test_a_signature_allows_what_it_says_and_no_more(queue: Queue) -> None:
    headers = signed(queue, methods=["POST"], paths=["messages"])
    place = f"{queue.served.url}{BASE}/{queue.name}"
    send = {"messages": [{"body": "by signature"}]}
    web = queue.served.session
    assert web.post(f"{place}/messages", json=send, headers=headers).status_code == 201
    assert queue.bodies() == ["by signature"]
    assert web.get(f"{place}/messages", headers=headers).status_code == 403
    assert web.post(f"{place}/claims", headers=headers).status_code == 403
    for name, value in {"URL-Methods": "POST,GET", "X-Project-ID": "other"}.items():
        changed = {**headers, name: value}
        assert web.post(f"{place}/messages", json=send, headers=changed).status_code == 403
    old = signed(queue, methods=["POST"], paths=["messages"], expires="2020-01-01T00:00:00")
    assert web.post(f"{place}/messages", json=send, headers=old).status_code == 403


@pytest.mark.parametrize(
    "body",
    [{"methods": ["LOOK"]}, {"paths": ["stats"]}, {"expires": "soon"}, {"ttl": 1}, {"paths": "x"}],
)
def test_what_cannot_be_signed_is_refused(queue: Queue, body: dict[str, object]) -> None:
    assert queue("POST", "/share", body).status_code == 400
