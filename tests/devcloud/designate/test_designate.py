"""What the DNS service refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devcloud.running import Served

ZONES = "/dns/v2/zones"
ZONE = {"name": "a.test.", "email": "x@a.test"}


def refused(served: Served, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = served.call(method, path, body)
    return answer.status_code, answer.json()["type"]


@pytest.mark.parametrize(
    "wrong", [{"masters": ["192.0.2.1"]}, {"type": "SECONDARY"}, {"ttl": 0}, {"ttl": 2**31}]
)
def test_a_zone_fits_its_type(served: Served, wrong: dict[str, Any]) -> None:
    assert refused(served, "POST", ZONES, {**ZONE, **wrong}) == (400, "invalid_object")


def test_a_lifetime_that_is_taken_away_is_the_usual_one(fresh: Served) -> None:
    zone = fresh.call("POST", ZONES, {**ZONE, "ttl": 60}).json()["id"]
    assert fresh.call("PATCH", f"{ZONES}/{zone}", {"ttl": None}).json()["ttl"] == 3600
    change = {"attributes": {"pool": "two"}}
    assert refused(fresh, "PATCH", f"{ZONES}/{zone}", change) == (400, "invalid_object")


def test_the_services_own_record_sets_stay(fresh: Served) -> None:
    zone = fresh.call("POST", ZONES, ZONE).json()["id"]
    path = f"{ZONES}/{zone}/recordsets"
    for record in fresh.call("GET", path).json()["recordsets"]:
        one = f"{path}/{record['id']}"
        assert refused(fresh, "DELETE", one) == (400, "bad_request")
        assert refused(fresh, "PUT", one, {"ttl": 5}) == (400, "bad_request")
    soa = {"name": "b.a.test.", "type": "SOA", "records": ["x"]}
    assert refused(fresh, "POST", path, soa) == (400, "bad_request")
    inner = {"name": "b.a.test.", "type": "NS", "records": ["ns.b.a.test."]}
    made = fresh.call("POST", path, inner).json()["id"]
    assert fresh.call("DELETE", f"{path}/{made}").status_code == 202
