"""Usage reports: the hours of servers that exist and that existed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import openstack
import pytest

from hearth_devcloud.fixed_ids import fixed_hex
from tests.devcloud.nova.test_servers import SERVERS, boot
from tests.devcloud.running import Served

USAGE = "/compute/v2.1/os-simple-tenant-usage"
DEMO = fixed_hex("project", "demo")


def ago(hours: float) -> str:
    """The time so many hours before now, as Nova writes it."""
    at = datetime.now(UTC) - timedelta(hours=hours)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")


def started(served: Served, at: str, **more: Any) -> str:
    """A server that runs since then."""
    server = boot(served, **more)
    served.call("GET", f"{SERVERS}/{server}")  # now it is built
    body = {"table": "compute.servers", "id": server, "hidden": {"launched_at": at}}
    assert served.call("PATCH", "/devcloud/objects", body).ok
    return server


def report(served: Served, query: str = "", project: str = DEMO, **more: Any) -> Any:
    answer = served.call("GET", f"{USAGE}/{project}?{query or f'start={ago(10)}'}", **more)
    assert answer.status_code == 200, answer.text
    return answer.json()["tenant_usage"]


def test_a_report_has_the_hours_of_each_server_times_its_size(fresh: Served) -> None:
    first, second, last = ago(10), ago(4), ago(0)
    small = started(fresh, second, flavorRef="1")
    large = started(fresh, ago(100), flavorRef="3")  # since before the period
    shown = report(fresh, f"start={first}&end={last}")
    assert (shown["tenant_id"], shown["start"], shown["stop"]) == (DEMO, first, last)
    hours = {one["instance_id"]: one["hours"] for one in shown["server_usages"]}
    assert hours == pytest.approx({small: 4, large: 10}, abs=1e-4)
    assert shown["total_hours"] == pytest.approx(14, abs=0.01)
    assert shown["total_vcpus_usage"] == pytest.approx(4 + 2 * 10, abs=0.01)
    assert shown["total_memory_mb_usage"] == pytest.approx(512 * 4 + 4096 * 10, abs=10)
    assert shown["total_local_gb_usage"] == pytest.approx(4 + 40 * 10, abs=0.1)
    (one,) = (one for one in shown["server_usages"] if one["instance_id"] == large)
    assert one["uptime"] == pytest.approx(100 * 3600, abs=60)
    assert one | {"hours": 0, "uptime": 0, "started_at": "", "instance_id": ""} == {
        "tenant_id": DEMO,
        "name": "box",
        "flavor": "m1.medium",
        "memory_mb": 4096,
        "local_gb": 40,
        "vcpus": 2,
        "state": "active",
        "ended_at": None,
        "hours": 0,
        "uptime": 0,
        "started_at": "",
        "instance_id": "",
    }


def test_a_deleted_server_stays_in_the_report_and_nowhere_else(fresh: Served) -> None:
    server = started(fresh, ago(3))
    fresh.call("DELETE", f"{SERVERS}/{server}")
    (one,) = report(fresh)["server_usages"]
    assert (one["instance_id"], one["state"]) == (server, "terminated")
    assert one["hours"] == pytest.approx(3, abs=0.01)
    assert one["ended_at"] > one["started_at"]
    assert report(fresh, f"start={ago(9)}&end={ago(8)}") == {}
    assert fresh.call("GET", f"/devcloud/objects?named={server}").json()["objects"] == []
    alive = fresh.call("GET", "/devcloud/objects").json()["objects"]
    assert [one for one in alive if one["service"] == "compute"] == []


def test_a_server_that_never_ran_is_not_in_the_report(fresh: Served) -> None:
    server = boot(fresh, metadata={"devcloud": "fail"})
    assert report(fresh) == {}
    fresh.call("DELETE", f"{SERVERS}/{server}")
    assert report(fresh) == {}


def test_administrators_see_all_projects_and_members_their_own(fresh: Served) -> None:
    started(fresh, ago(2))
    period = f"start={ago(10)}&end={ago(0)}"
    brief = fresh.call("GET", f"{USAGE}?{period}", user="admin").json()["tenant_usages"]
    assert [(one["tenant_id"], "server_usages" in one) for one in brief] == [(DEMO, False)]
    path = f"{USAGE}?{period}&detailed=1"
    (detailed,) = fresh.call("GET", path, user="admin").json()["tenant_usages"]
    assert [one["name"] for one in detailed.pop("server_usages")] == ["box"]
    assert brief == [detailed]
    other = fixed_hex("project", "admin")
    for path, verb in ((USAGE, "list"), (f"{USAGE}/{other}", "show")):
        refused = fresh.call("GET", path)
        policy = f"os_compute_api:os-simple-tenant-usage:{verb}"
        assert refused.status_code == 403
        assert refused.json()["forbidden"]["message"] == (
            f"Policy doesn't allow {policy} to be performed."
        )


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("start=yesterday", "Invalid datetime string"),
        ("start=2026-01-02T00:00:00&end=2026-01-03", "Invalid datetime string"),
        (
            "start=2026-01-02T00:00:00&end=2026-01-01T00:00:00",
            "The start time cannot occur after the end time",
        ),
    ],
)
def test_a_wrong_period_is_refused(served: Served, query: str, words: str) -> None:
    refused = served.call("GET", f"{USAGE}/{DEMO}?{query}")
    assert (refused.status_code, words in refused.text) == (400, True)


def test_pages_begin_after_their_marker_since_2_40(fresh: Served) -> None:
    servers = sorted(started(fresh, ago(hours)) for hours in (1, 2, 3))
    newer = {"OpenStack-API-Version": "compute 2.40"}
    path, seen = f"{USAGE}/{DEMO}?start={ago(10)}&limit=2", []
    while path:
        page = fresh.call("GET", path, headers=newer).json()
        seen.append([one["instance_id"] for one in page["tenant_usage"]["server_usages"]])
        links = page.get("tenant_usage_links", [])
        path = links[0]["href"].removeprefix(fresh.url) if links else ""
    assert seen == [servers[:2], servers[2:]]
    assert len(report(fresh, f"start={ago(10)}&limit=2")["server_usages"]) == 3  # older: one page
    unknown = fresh.call("GET", f"{USAGE}/{DEMO}?marker=x", headers=newer)
    assert unknown.status_code == 400


@pytest.mark.filterwarnings("ignore")  # the SDK warns about itself
def test_the_sdk_reads_usages(fresh: Served) -> None:
    started(fresh, ago(2))
    with openstack.connect(**fresh.client_config("admin")) as admin:
        end = datetime.now(UTC).replace(tzinfo=None)
        start = end - timedelta(hours=10)
        (usage,) = admin.compute.usages(start=start, end=end)
        assert (usage.project_id, usage.total_hours) == (DEMO, pytest.approx(2, abs=0.01))
        shown = admin.compute.get_usage(DEMO, start=start, end=end)
        assert [one["name"] for one in shown.server_usages] == ["box"]
