"""Servers move to another host: cold migration, live migration, evacuation."""

from __future__ import annotations

import time
from typing import Any

import openstack
import pytest

from tests.devcloud.nova.test_servers import SERVERS, boot
from tests.devcloud.running import Served

FIRST, SECOND = "devcloud", "devcloud-2"
LIVE = {"host": None, "block_migration": "auto"}
BODIES = {"migrate": None, "os-migrateLive": LIVE, "evacuate": {}}


def nova(served: Served, method: str, path: str, body: Any = None, version: str = "2.90") -> Any:
    headers = {"OpenStack-API-Version": f"compute {version}"}
    return served.call(method, f"/compute/v2.1/{path}", body, user="admin", headers=headers)


def act(served: Served, server: str, verb: str, arguments: Any = None, **more: Any) -> Any:
    return nova(served, "POST", f"servers/{server}/action", {verb: arguments}, **more)


def shown(served: Served, server: str) -> tuple[str, str]:
    """The status and the host of a server."""
    body = nova(served, "GET", f"servers/{server}").json()["server"]
    return body["status"], body["OS-EXT-SRV-ATTR:host"]


def slow(served: Served, match: str, **effect: Any) -> None:
    rule = {"match": {"service": "compute", "path_regex": match}, "effect": effect}
    assert served.call("POST", "/devcloud/knobs", {"rules": [rule]}).ok


def running(served: Served, **more: Any) -> str:
    server = boot(served, **more)
    assert shown(served, server) == ("ACTIVE", FIRST)
    return server


def service(served: Served, host: str) -> str:
    rows = nova(served, "GET", f"os-services?binary=nova-compute&host={host}").json()["services"]
    return str(rows[0]["id"])


def change(served: Served, host: str, **changes: Any) -> Any:
    return nova(served, "PUT", f"os-services/{service(served, host)}", changes)


def test_a_cold_migration_waits_for_its_confirmation_or_goes_back(fresh: Served) -> None:
    server = running(fresh)
    slow(fresh, "/action$", slow_s=60)
    assert act(fresh, server, "migrate").status_code == 202
    assert shown(fresh, server)[0] == "RESIZE"
    fresh.call("DELETE", "/devcloud/knobs")
    server = running(fresh)
    assert act(fresh, server, "migrate").status_code == 202
    assert shown(fresh, server) == ("VERIFY_RESIZE", SECOND)
    ports = fresh.call("GET", f"/network/v2.0/ports?device_id={server}", user="admin")
    assert [port["binding:host_id"] for port in ports.json()["ports"]] == [SECOND]
    assert act(fresh, server, "revertResize").status_code == 202
    assert shown(fresh, server) == ("ACTIVE", FIRST)
    act(fresh, server, "migrate")
    assert act(fresh, server, "confirmResize").status_code == 204
    assert shown(fresh, server) == ("ACTIVE", SECOND)
    rows = nova(fresh, "GET", f"servers/{server}/os-instance-actions").json()["instanceActions"]
    assert [row["action"] for row in rows][:2] == ["confirmResize", "migrate"]


def test_a_stopped_server_is_stopped_on_its_new_host(fresh: Served) -> None:
    server = running(fresh)
    act(fresh, server, "os-stop")
    assert act(fresh, server, "migrate", {"host": SECOND}).status_code == 202
    assert shown(fresh, server) == ("VERIFY_RESIZE", SECOND)
    act(fresh, server, "confirmResize")
    assert shown(fresh, server) == ("SHUTOFF", SECOND)


def test_a_live_migration_ends_on_the_other_host(fresh: Served) -> None:
    server = running(fresh)
    slow(fresh, "/action$", slow_s=0.3)
    assert act(fresh, server, "os-migrateLive", LIVE).status_code == 202
    assert shown(fresh, server) == ("MIGRATING", FIRST)
    ends = time.monotonic() + 5
    while shown(fresh, server) != ("ACTIVE", SECOND):
        assert time.monotonic() < ends
        time.sleep(0.05)
    rows = nova(fresh, "GET", f"servers/{server}/os-instance-actions").json()["instanceActions"]
    assert rows[0]["action"] == "live-migration"


def test_a_failed_live_migration_leaves_the_server_where_it_runs(fresh: Served) -> None:
    server = running(fresh)
    slow(fresh, "/action$", error=True)
    act(fresh, server, "os-migrateLive", LIVE)
    assert shown(fresh, server) == ("ACTIVE", FIRST)


def test_servers_are_evacuated_from_a_host_that_is_down(fresh: Served) -> None:
    server = running(fresh)
    refused = act(fresh, server, "evacuate", {})
    assert refused.status_code == 400
    message = "Compute service of devcloud is still in use."
    assert refused.json()["badRequest"]["message"] == message
    assert change(fresh, FIRST, forced_down=True).json()["service"]["state"] == "down"
    hypervisors = nova(fresh, "GET", "os-hypervisors").json()["hypervisors"]
    assert [one["state"] for one in hypervisors] == ["down", "up"]
    assert act(fresh, server, "evacuate", {}).status_code == 200
    assert shown(fresh, server) == ("ACTIVE", SECOND)
    assert shown(fresh, boot(fresh)) == ("ACTIVE", SECOND)


def test_an_evacuated_server_is_stopped_since_2_95(fresh: Served) -> None:
    server = running(fresh)
    change(fresh, FIRST, forced_down=True)
    assert act(fresh, server, "evacuate", {}, version="2.95").status_code == 200
    assert shown(fresh, server) == ("SHUTOFF", SECOND)


@pytest.mark.parametrize(
    ("verb", "policy"),
    [
        ("migrate", "os-migrate-server:migrate"),
        ("os-migrateLive", "os-migrate-server:migrate_live"),
        ("evacuate", "os-evacuate"),
    ],
)
def test_members_may_not_move_servers(fresh: Served, verb: str, policy: str) -> None:
    server = running(fresh)
    refused = fresh.call("POST", f"{SERVERS}/{server}/action", {verb: BODIES[verb]})
    assert refused.status_code == 403
    message = f"Policy doesn't allow os_compute_api:{policy} to be performed."
    assert refused.json()["forbidden"]["message"] == message


@pytest.mark.parametrize("verb", list(BODIES))
def test_a_rescued_server_is_not_moved(fresh: Served, verb: str) -> None:
    server = running(fresh)
    act(fresh, server, "rescue", {})
    refused = act(fresh, server, verb, BODIES[verb])
    assert refused.status_code == 409
    message = f"Cannot '{verb}' instance {server} while it is in vm_state rescued"
    assert refused.json()["conflictingRequest"]["message"] == message


@pytest.mark.parametrize(
    ("verb", "arguments", "version", "status"),
    [
        ("migrate", {"host": FIRST}, "2.56", 400),
        ("migrate", {"host": "x"}, "2.56", 400),
        ("migrate", {"host": SECOND}, "2.55", 400),
        ("os-migrateLive", {**LIVE, "host": FIRST}, "2.30", 400),
        ("os-migrateLive", {**LIVE, "host": "x"}, "2.30", 400),
        ("os-migrateLive", {"host": None}, "2.30", 400),
        ("os-migrateLive", LIVE, "2.24", 400),
        ("os-migrateLive", {**LIVE, "force": True}, "2.68", 400),
        ("evacuate", {}, "2.13", 400),
        ("evacuate", {"host": FIRST}, "2.14", 400),
        ("evacuate", {"host": "x"}, "2.14", 404),
    ],
)
def test_wrong_arguments_are_refused(
    fresh: Served, verb: str, arguments: Any, version: str, status: int
) -> None:
    server = running(fresh)
    assert act(fresh, server, verb, arguments, version=version).status_code == status
    assert shown(fresh, server) == ("ACTIVE", FIRST)


def test_a_disabled_host_gets_no_servers(fresh: Served) -> None:
    server = running(fresh)
    disabled = change(fresh, SECOND, status="disabled", disabled_reason="repair").json()["service"]
    assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "repair")
    refused = act(fresh, server, "migrate")
    assert refused.json()["badRequest"]["message"].startswith("No valid host was found.")
    assert change(fresh, SECOND, status="enabled").json()["service"]["disabled_reason"] is None
    assert act(fresh, server, "migrate").status_code == 202
    for wrong in ({}, {"status": "x"}, {"disabled_reason": "x"}, {"forced_down": 1}, {"x": 1}):
        assert change(fresh, SECOND, **wrong).status_code == 400, wrong
    scheduler = nova(fresh, "GET", "os-services?binary=nova-scheduler").json()["services"][0]
    path = f"os-services/{scheduler['id']}"
    assert nova(fresh, "PUT", path, {"forced_down": True}).status_code == 400
    assert nova(fresh, "PUT", path, {"forced_down": True}, version="2.52").status_code == 404


@pytest.mark.filterwarnings("ignore")  # the SDK warns about itself
def test_the_sdk_moves_servers(fresh: Served) -> None:
    server = running(fresh)
    with openstack.connect(**fresh.client_config("admin")) as admin:
        compute = admin.compute
        compute.migrate_server(server)
        compute.wait_for_server(compute.get_server(server), "VERIFY_RESIZE", interval=0.05, wait=5)
        compute.confirm_server_resize(server)
        compute.live_migrate_server(server, host=FIRST, block_migration="auto")
        moved = compute.wait_for_server(compute.get_server(server), interval=0.05, wait=5)
        assert moved.compute_host == FIRST
        down = next(s for s in compute.services(binary="nova-compute") if s.host == FIRST)
        compute.update_service_forced_down(down, forced=True)
        compute.evacuate_server(server)
        assert compute.get_server(server).compute_host == SECOND
