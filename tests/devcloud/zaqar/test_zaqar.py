"""Queues, messages and claims, and that their time ends."""

from __future__ import annotations

import uuid
import warnings
from typing import Any

import openstack
import pytest
import requests

from tests.devcloud.running import Served

ME = str(uuid.uuid4())
OTHER = str(uuid.uuid4())
BASE = "/messaging/v2/queues"


class Queue:
    """A queue as one client sees it."""

    def __init__(self, served: Served, name: str, client: str = ME) -> None:
        self.served, self.name, self.client = served, name, client

    def __call__(self, method: str, path: str = "", body: Any = None, **more: Any) -> Any:
        headers = {"Client-ID": self.client, **more.pop("headers", {})}
        place = f"{BASE}/{self.name}{path}"
        return self.served.call(method, place, body, headers=headers, **more)

    def by(self, client: str) -> Queue:
        return Queue(self.served, self.name, client)

    def post(self, *bodies: Any, **more: Any) -> list[str]:
        """Post messages; their ids."""
        messages = [{"body": body, **more} for body in bodies]
        answer = self("POST", "/messages", {"messages": messages})
        assert answer.status_code == 201, answer.text
        ids = [href.rpartition("/")[2] for href in answer.json()["resources"]]
        assert answer.headers["Location"].endswith(f"/messages?ids={','.join(ids)}")
        return ids

    def bodies(self, query: str = "?echo=true") -> list[Any]:
        return [one["body"] for one in self("GET", f"/messages{query}").json()["messages"]]


@pytest.fixture
def queue(served: Served, request: pytest.FixtureRequest) -> Queue:
    return Queue(served, request.node.name.replace("[", "-").replace("]", "-")[:60])


def queues(served: Served, query: str = "") -> Any:
    return served.call("GET", f"{BASE}{query}", headers={"Client-ID": ME}).json()


def later(served: Served, seconds: float) -> None:
    """The cloud's clock goes on; it never goes back."""
    store = served.cloud.store
    store.settle(store.time + seconds, served.cloud.carry_out)


def test_a_queue_is_made_once_shown_listed_and_deleted_as_often_as_one_likes(queue: Queue) -> None:
    made = queue("PUT", body={"colour": "red", "_default_message_ttl": 120})
    assert (made.status_code, made.headers["Location"]) == (201, f"/v2/queues/{queue.name}")
    assert queue("PUT", body={"colour": "blue"}).status_code == 204
    shown = queue("GET").json()
    assert (shown["colour"], shown["_default_message_ttl"]) == ("red", 120)
    assert shown["_max_messages_post_size"] == 262144
    listed = queues(queue.served, "?detailed=true&with_count=true")
    row = next(row for row in listed["queues"] if row["name"] == queue.name)
    assert row["href"] == f"/v2/queues/{queue.name}"
    assert row["metadata"]["colour"] == "red"
    assert listed["count"] == len(listed["queues"])
    assert [queue("DELETE").status_code for _ in range(2)] == [204, 204]
    assert queue("GET").status_code == 404


def test_lists_of_queues_come_in_pages(fresh: Served) -> None:
    for name in ("c", "a", "b"):
        Queue(fresh, name)("PUT")
    first = queues(fresh, "?limit=2")
    assert [row["name"] for row in first["queues"]] == ["a", "b"]
    assert first["links"] == [{"rel": "next", "href": "/v2/queues?limit=2&marker=b"}]
    rest = queues(fresh, "?limit=2&marker=b")
    assert [row["name"] for row in rest["queues"]] == ["c"]


def test_metadata_is_changed_by_operations(queue: Queue) -> None:
    queue("PUT", body={"a": 1, "b": 2})
    kind = {"Content-Type": "application/openstack-messaging-v2.0-json-patch"}

    def patch(*changes: Any) -> requests.Response:
        return queue("PATCH", body=list(changes), headers=kind)  # type: ignore[no-any-return]

    done = patch(
        {"op": "replace", "path": "/metadata/a", "value": 3},
        {"op": "remove", "path": "/metadata/b"},
        {"op": "add", "path": "/metadata/_default_message_ttl", "value": 90},
    )
    shown = queue("GET").json()
    assert (done.status_code, done.json()) == (200, shown)
    assert (shown["a"], "b" in shown, shown["_default_message_ttl"]) == (3, False, 90)
    assert patch({"op": "remove", "path": "/metadata/none"}).status_code == 409
    assert patch({"op": "test", "path": "/metadata/a"}).status_code == 400
    assert patch({"op": "add", "path": "/a", "value": 1}).status_code == 400
    assert queue("PATCH", body=[]).status_code == 415


def test_messages_are_listed_in_order_for_others_and_for_oneself_on_request(queue: Queue) -> None:
    ids = queue.post(*range(12))
    assert queue.bodies("") == []
    assert queue.by(OTHER).bodies("") == list(range(10))
    page = queue("GET", "/messages?echo=true&limit=7").json()
    assert page["links"][0]["href"].startswith(f"/v2/queues/{queue.name}/messages?echo=true&limit=")
    rest = page["links"][0]["href"].rpartition("/messages")[2]
    assert queue.bodies(rest) == list(range(7, 12))
    one = queue("GET", f"/messages/{ids[3]}").json()
    assert one == {
        "id": ids[3], "ttl": 3600, "age": one["age"], "body": 3, "claim_count": 0,
        "href": f"/v2/queues/{queue.name}/messages/{ids[3]}",
    }  # fmt: skip
    assert queue.bodies(f"?ids={ids[1]},{ids[0]},none") == [1, 0]
    assert queue("GET", "/messages?ids=none").status_code == 404
    assert queue("GET", "/messages/none").status_code == 404


def test_messages_are_deleted_by_id_or_popped(queue: Queue) -> None:
    ids = queue.post(*range(5))
    assert queue("DELETE", f"/messages/{ids[0]}").status_code == 204
    assert queue("DELETE", f"/messages/{ids[0]}").status_code == 204
    assert queue("DELETE", f"/messages?ids={ids[1]},{ids[2]}").status_code == 204
    popped = queue("DELETE", "/messages?pop=20").json()["messages"]
    assert [(one["id"], one["body"]) for one in popped] == [(ids[3], 3), (ids[4], 4)]
    assert queue.bodies() == []
    assert queue("DELETE", "/messages").status_code == 400
    assert queue("DELETE", "/messages?pop=1&ids=a").status_code == 400


def test_claimed_messages_are_one_readers_until_it_lets_them_go(queue: Queue) -> None:
    ids = queue.post("a", "b", "c")
    made = queue("POST", "/claims?limit=2", {"ttl": 60, "grace": 60})
    assert made.status_code == 201
    claim = made.headers["Location"].removeprefix(f"/v2/queues/{queue.name}")
    claim_id = claim.rpartition("/")[2]
    assert [one["body"] for one in made.json()["messages"]] == ["a", "b"]
    assert made.json()["messages"][0]["href"].endswith(f"{ids[0]}?claim_id={claim_id}")
    assert queue.bodies() == ["c"]
    assert queue.bodies("?echo=1&include_claimed=1") == ["a", "b", "c"]
    counts = queue("GET", "/stats").json()["messages"]
    assert (counts["claimed"], counts["free"], counts["total"]) == (2, 1, 3)
    assert counts["oldest"]["href"] == f"/v2/queues/{queue.name}/messages/{ids[0]}"
    assert queue("DELETE", f"/messages/{ids[0]}").status_code == 403
    assert queue("DELETE", f"/messages/{ids[2]}?claim_id={claim_id}").status_code == 400
    assert queue("DELETE", f"/messages/{ids[0]}?claim_id={claim_id}").status_code == 204
    shown = queue("GET", claim).json()
    assert (shown["ttl"], [one["body"] for one in shown["messages"]]) == (60, ["b"])
    assert queue("DELETE", claim).status_code == 204
    assert queue("GET", claim).status_code == 404
    assert queue.bodies() == ["b", "c"]


def test_nothing_to_claim_is_an_empty_answer(queue: Queue) -> None:
    answer = queue("POST", "/claims")
    assert (answer.status_code, answer.content) == (204, b"")
    zero = {"claimed": 0, "free": 0, "total": 0}
    assert queue("GET", "/stats").json() == {"messages": zero}


def test_messages_and_claims_end_and_a_claim_keeps_its_messages_alive(fresh: Served) -> None:
    queue = Queue(fresh, "q")
    queue.post("short", ttl=60)
    queue.post("claimed", ttl=90)
    queue.post("long")
    later(fresh, 61)
    assert queue.bodies() == ["claimed", "long"]
    claim = queue("POST", "/claims?limit=1", {"ttl": 60, "grace": 60})
    place = claim.headers["Location"].removeprefix("/v2/queues/q")
    later(fresh, 50)
    assert queue("PATCH", place, {"ttl": 60}).status_code == 204
    later(fresh, 50)
    assert queue.bodies() == ["long"]
    assert queue("GET", place).json()["messages"][0]["body"] == "claimed"
    later(fresh, 11)
    assert queue("GET", place).status_code == 404
    assert queue.bodies() == ["claimed", "long"]
    later(fresh, 120)
    assert queue.bodies() == ["long"]


def test_a_delayed_message_is_not_seen_before(fresh: Served) -> None:
    queue = Queue(fresh, "q")
    queue.post("late", delay=30)
    assert (queue.bodies(), queue("POST", "/claims").status_code) == ([], 204)
    later(fresh, 31)
    assert queue.bodies() == ["late"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/messages", {}, 400),
        ("POST", "/messages", [], 400),
        ("POST", "/messages", {"messages": []}, 400),
        ("POST", "/messages", {"messages": {"body": 1}}, 400),
        ("POST", "/messages", {"messages": [{"ttl": 60}]}, 400),
        ("POST", "/messages", {"messages": [{"body": 1, "ttl": 59}]}, 400),
        ("POST", "/messages", {"messages": [{"body": 1, "ttl": "60"}]}, 400),
        ("POST", "/messages", {"messages": [{"body": "x" * 262144}]}, 400),
        ("GET", "/messages?limit=21", None, 400),
        ("GET", "/messages?limit=x", None, 400),
        ("GET", "/messages?echo=perhaps", None, 400),
        ("DELETE", "/messages?pop=21", None, 400),
        ("POST", "/claims?limit=0", None, 400),
        ("POST", "/claims", {"ttl": 1}, 400),
        ("POST", "/claims", {"grace": 43201}, 400),
        ("PUT", "", [], 400),
        ("PUT", "", {"_default_message_ttl": 5}, 400),
        ("PUT", "", {"much": "x" * 65536}, 400),
        ("PUT", "no.dots", None, 400),
        ("PUT", "x" * 65, None, 400),
        ("POST", "", None, 405),
    ],
)
def test_what_the_service_refuses(
    queue: Queue, method: str, path: str, body: Any, status: int
) -> None:
    queue.name = "strict"
    answer = queue(method, path, body)
    assert answer.status_code == status, answer.text
    assert isinstance(answer.json()["title"], str)
    assert isinstance(answer.json()["description"], str)


def test_the_client_says_which_one_it_is(queue: Queue) -> None:
    place = f"{BASE}/{queue.name}"
    assert queue.served.call("GET", place).status_code == 400
    assert queue.served.call("GET", place, headers={"Client-ID": "me"}).status_code == 400
    anonymous = {"Client-ID": ME}
    url = f"{queue.served.url}{place}"
    assert queue.served.session.get(url, headers=anonymous).status_code == 401
    versions = queue.served.session.get(f"{queue.served.url}/messaging/")
    assert (versions.status_code, versions.json()["versions"][0]["id"]) == (300, "2")


def test_a_queue_is_its_projects_own_and_everything_is_in_the_ledger(queue: Queue) -> None:
    queue.post("mine")
    theirs = queue.served.call(
        "GET", f"{BASE}/{queue.name}/messages", user="admin", headers={"Client-ID": OTHER}
    )
    assert theirs.json() == {"messages": [], "links": []}
    queue("DELETE")
    entries = [
        entry
        for entry in queue.served.cloud.store.ledger.entries
        if entry.service == "messaging" and entry.deleted is not None
    ]
    assert [(e.collection, e.implicit) for e in entries[-2:]] == [
        ("queues", True),
        ("messages", False),
    ]


def test_openstacksdk_works_with_it(fresh: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        connection = openstack.connect(**fresh.client_config())
        message = connection.message
        message.create_queue(name="sdk", description="d")
        assert message.get_queue("sdk").description == "d"
        message.post_message("sdk", [{"ttl": 60, "body": {"n": n}} for n in range(3)])
        found = list(message.messages("sdk"))
        assert [one.body["n"] for one in found] == [0, 1, 2]
        message.delete_queue("sdk")
        assert list(message.queues()) == []
        connection.close()
