"""Containers, orders and lists of readers of the key manager."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devcloud.running import Served

ROOT = "/key-manager/v1"


def made(served: Served, plural: str, body: dict[str, Any], user: str = "demo") -> str:
    """The path of something new."""
    answer = served.call("POST", f"{ROOT}/{plural}", body, user=user)
    assert answer.status_code in (201, 202), answer.text
    (ref,) = answer.json().values()
    assert answer.headers["Location"] == ref
    return str(ref.removeprefix(served.url))


def secret(served: Served, **more: Any) -> str:
    return made(served, "secrets", {"payload": "x", "payload_content_type": "text/plain", **more})


def status(served: Served, *call: Any, user: str = "demo") -> int:
    return served.call(*call, user=user).status_code


def test_a_container_takes_what_fits_its_type(fresh: Served) -> None:
    one, two = (fresh.url + secret(fresh) for _ in range(2))

    def answer(kind: str, *refs: tuple[str, str]) -> int:
        secrets = [{"name": name, "secret_ref": ref} for name, ref in refs]
        return status(fresh, "POST", f"{ROOT}/containers", {"type": kind, "secret_refs": secrets})

    assert answer("rsa", ("public_key", one), ("private_key", two)) == 201
    assert answer("rsa", ("public_key", one)) == 400
    assert answer("rsa", ("public_key", one), ("private_key", two), ("more", one)) == 400
    assert answer("certificate", ("private_key", one)) == 400
    assert answer("generic", ("a", one), ("b", one)) == 400
    assert answer("generic", ("a", one), ("a", two)) == 400
    assert answer("generic", ("a", f"{one}0")) == 404
    assert answer("generic", ("a", one), ("b", two)) == 201


def test_a_generic_container_gets_and_loses_secrets(fresh: Served) -> None:
    path = made(fresh, "containers", {"type": "generic"})
    one = {"name": "a", "secret_ref": fresh.url + secret(fresh)}
    assert status(fresh, "POST", f"{path}/secrets", one) == 201
    assert fresh.call("GET", path).json()["secret_refs"] == [one]
    assert status(fresh, "DELETE", f"{path}/secrets", one) == 204
    assert status(fresh, "DELETE", f"{path}/secrets", one) == 404
    other = made(fresh, "containers", {"type": "certificate"})
    assert status(fresh, "POST", f"{other}/secrets", one) == 400


def test_consumers_say_that_they_use_a_container(fresh: Served) -> None:
    path = f"{made(fresh, 'containers', {'type': 'generic'})}/consumers"
    one = {"name": "lb", "URL": "http://lb/1"}
    assert fresh.call("POST", path, one).json()["consumers"] == [one]
    assert fresh.call("GET", path).json() == {"consumers": [one], "total": 1}
    assert fresh.call("DELETE", path, one).json()["consumers"] == []
    assert status(fresh, "DELETE", path, one) == 404


def test_an_order_is_carried_out_a_little_later(fresh: Served) -> None:
    rule = {"match": {"path_regex": "orders$"}, "effect": {"slow_s": 60}}
    fresh.cloud.knobs.add([rule])
    meta = {"algorithm": "rsa", "bit_length": 2048, "pass_phrase": "p"}
    slow = made(fresh, "orders", {"type": "asymmetric", "meta": meta})
    fresh.cloud.knobs.clear()
    assert fresh.call("GET", slow).json()["status"] == "PENDING"
    order = fresh.call("GET", made(fresh, "orders", {"type": "asymmetric", "meta": meta})).json()
    assert order["status"] == "ACTIVE"
    refs = fresh.call("GET", order["container_ref"].removeprefix(fresh.url)).json()["secret_refs"]
    assert [one["name"] for one in refs] == [
        "public_key",
        "private_key",
        "private_key_passphrase",
    ]
    path = refs[2]["secret_ref"].removeprefix(fresh.url)
    assert fresh.call("GET", f"{path}/payload").text == "p"


@pytest.mark.parametrize("meta", [{}, {"algorithm": "aes"}, {"algorithm": "aes", "bit_length": 7}])
def test_an_order_says_what_key_it_wants(served: Served, meta: dict[str, Any]) -> None:
    assert status(served, "POST", f"{ROOT}/orders", {"type": "key", "meta": meta}) == 400


def test_a_list_comes_in_pages(fresh: Served) -> None:
    for number in range(12):
        secret(fresh, name="mine" if number else "first")
    first = fresh.call("GET", f"{ROOT}/secrets?name=mine").json()
    assert (len(first["secrets"]), first["total"]) == (10, 11)
    rest = fresh.call("GET", first["next"].removeprefix(fresh.url)).json()
    assert (len(rest["secrets"]), "next" in rest) == (1, False)
    back = fresh.call("GET", rest["previous"].removeprefix(fresh.url)).json()
    assert back["secrets"] == first["secrets"]


def test_a_list_of_readers_opens_and_closes_a_secret(fresh: Served) -> None:
    path = secret(fresh)
    assert fresh.call("GET", f"{path}/acl").json() == {"read": {"project-access": True}}
    rule = {"read": {"users": ["somebody"], "project-access": False}}
    answer = fresh.call("PUT", f"{path}/acl", rule)
    assert answer.json() == {"acl_ref": f"{fresh.url}{path}/acl"}
    stored = next(fresh.cloud.store.all("key-manager.secrets"))
    mine, stored.body["creator_id"] = stored.body["creator_id"], "another"
    assert status(fresh, "GET", path) == 403
    stored.body["creator_id"] = mine
    assert status(fresh, "PATCH", f"{path}/acl", {"read": {"project-access": True}}) == 200
    assert fresh.call("GET", f"{path}/acl").json()["read"]["users"] == ["somebody"]
    assert status(fresh, "PUT", f"{path}/acl", {"write": {}}) == 400
    assert status(fresh, "DELETE", f"{path}/acl") == 200
    stored.project_id = "another"
    stored.body["creator_id"] = "another"
    assert status(fresh, "GET", path) == 404


@pytest.mark.parametrize(
    "wrong",
    [
        {"payload": None},
        {"payload_content_encoding": "base64"},
        {"payload_content_type": "application/octet-stream"},
        {"payload_content_encoding": "rot13"},
        {"secret_type": "other"},
        {
            "payload": "?",
            "payload_content_type": "application/octet-stream",
            "payload_content_encoding": "base64",
        },
    ],
)
def test_a_payload_is_what_it_says(served: Served, wrong: dict[str, Any]) -> None:
    body = {"payload": "x", "payload_content_type": "text/plain", **wrong}
    assert status(served, "POST", f"{ROOT}/secrets", body) == 400
