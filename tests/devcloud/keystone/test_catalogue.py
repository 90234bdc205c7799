"""Regions, and what hangs on them."""

from __future__ import annotations

from typing import Any

from tests.devcloud.running import Served


def region(served: Served, ident: str, **more: Any) -> Any:
    body = {"region": {"id": ident, **more}}
    return served.call("POST", "/identity/v3/regions", body, user="admin")


def change(served: Served, ident: str, **fields: Any) -> int:
    path = f"/identity/v3/regions/{ident}"
    return int(served.call("PATCH", path, {"region": fields}, user="admin").status_code)


def test_a_region_is_in_one_that_exists_and_in_no_circle(fresh: Served) -> None:
    assert region(fresh, "inner", parent_region_id="none").status_code == 404
    assert region(fresh, "outer").status_code == 201
    assert region(fresh, "inner", parent_region_id="outer").status_code == 201
    assert change(fresh, "outer", parent_region_id="inner") == 400
    assert change(fresh, "outer", parent_region_id="outer") == 400
    assert change(fresh, "outer", parent_region_id=None) == 200


def test_a_region_with_endpoints_stays_and_takes_those_in_it_along(fresh: Served) -> None:
    region(fresh, "outer")
    region(fresh, "inner", parent_region_id="outer")
    base = "/identity/v3"
    services = fresh.call("GET", f"{base}/services", user="admin").json()["services"]
    fields = {"service_id": services[0]["id"], "interface": "public", "url": "http://x"}

    def endpoint(region_id: str) -> Any:
        body = {"endpoint": {**fields, "region_id": region_id}}
        return fresh.call("POST", f"{base}/endpoints", body, user="admin")

    assert endpoint("nowhere").status_code == 400
    made = endpoint("inner").json()["endpoint"]["id"]
    assert fresh.call("DELETE", f"{base}/regions/outer", user="admin").status_code == 403
    assert fresh.call("DELETE", f"{base}/endpoints/{made}", user="admin").ok
    assert fresh.call("DELETE", f"{base}/regions/outer", user="admin").ok
    assert fresh.call("GET", f"{base}/regions/inner", user="admin").status_code == 404
