"""Servers and the ports and volumes that go with them."""

from __future__ import annotations

from typing import Any

import pytest

from hearth_devcloud.fixed_ids import fixed
from tests.devcloud.running import Served

SERVERS = "/compute/v2.1/servers"
PRIVATE = fixed("network", "private")


def boot(served: Served, **more: Any) -> str:
    server = {
        "name": "box",
        "imageRef": fixed("image", "cirros"),
        "flavorRef": "1",
        "networks": [{"uuid": PRIVATE}],
        **more,
    }
    reply = served.call("POST", SERVERS, {"server": server})
    assert reply.status_code == 202, reply.text
    return str(reply.json()["server"]["id"])


def port(served: Served, **more: Any) -> dict[str, Any]:
    body = {"port": {"network_id": PRIVATE, **more}}
    found: dict[str, Any] = served.call("POST", "/network/v2.0/ports", body).json()["port"]
    return found


def test_a_given_port_is_bound_and_stays_when_the_server_goes(served: Served) -> None:
    given = port(served)
    server = boot(served, networks=[{"port": given["id"]}])
    path = f"/network/v2.0/ports/{given['id']}"
    bound = served.call("GET", path).json()["port"]
    assert (bound["device_id"], bound["device_owner"]) == (server, "compute:nova")
    assert bound["status"] == "ACTIVE"
    addresses = served.call("GET", f"{SERVERS}/{server}").json()["server"]["addresses"]
    assert addresses["private"][0]["addr"] == given["fixed_ips"][0]["ip_address"]
    served.call("DELETE", f"{SERVERS}/{server}")
    assert served.call("GET", path).json()["port"]["device_id"] == ""


def test_a_port_made_for_a_server_goes_with_it_and_is_implicit(served: Served) -> None:
    server = boot(served)
    ports = f"/network/v2.0/ports?device_id={server}"
    made = served.call("GET", ports).json()["ports"]
    assert len(made) == 1
    alive = served.call("GET", "/devcloud/objects").json()["objects"]
    assert [o["implicit"] for o in alive if o["id"] == made[0]["id"]] == [True]
    served.call("DELETE", f"{SERVERS}/{server}")
    assert served.call("GET", ports).json()["ports"] == []


def test_a_volume_of_an_image_goes_with_the_server_when_asked(served: Served) -> None:
    device = {
        "uuid": fixed("image", "cirros"),
        "source_type": "image",
        "destination_type": "volume",
        "boot_index": 0,
        "volume_size": 1,
        "delete_on_termination": True,
    }
    server = boot(served, imageRef="", block_device_mapping_v2=[device])
    volumes = "/volume/v3/volumes/detail"
    assert [v["status"] for v in served.call("GET", volumes).json()["volumes"]] == ["in-use"]
    served.call("DELETE", f"{SERVERS}/{server}")
    assert served.call("GET", volumes).json()["volumes"] == []


def test_a_floating_ip_is_among_the_addresses(served: Served) -> None:
    """The private network reaches the public one from the start, as devstack's does."""
    public = fixed("network", "public")
    given = port(served)
    server = boot(served, networks=[{"port": given["id"]}])
    body = {"floatingip": {"floating_network_id": public, "port_id": given["id"]}}
    floating = served.call("POST", "/network/v2.0/floatingips", body).json()["floatingip"]
    addresses = served.call("GET", f"{SERVERS}/{server}").json()["server"]["addresses"]
    assert [(a["addr"], a["OS-EXT-IPS:type"]) for a in addresses["private"]] == [
        (given["fixed_ips"][0]["ip_address"], "fixed"),
        (floating["floating_ip_address"], "floating"),
    ]


def test_user_data_is_shown_to_admins_only(served: Served) -> None:
    path = f"{SERVERS}/{boot(served, user_data='IyE=')}"
    newer = {"OpenStack-API-Version": "compute 2.3"}
    shown = served.call("GET", path, user="admin", headers=newer).json()["server"]
    assert shown["OS-EXT-SRV-ATTR:user_data"] == "IyE="
    assert "OS-EXT-SRV-ATTR:user_data" not in served.call("GET", path).json()["server"]


@pytest.mark.parametrize("networks", ["auto", "none"])
def test_networks_are_words_from_2_37(served: Served, networks: str) -> None:
    server = {"name": "w", "imageRef": fixed("image", "cirros"), "flavorRef": "1"}
    body = {"server": {**server, "networks": networks}}
    newer = {"OpenStack-API-Version": "compute 2.37"}
    assert served.call("POST", SERVERS, body).status_code == 400
    assert served.call("POST", SERVERS, body, headers=newer).status_code == 202


def test_a_fault_says_why_a_server_is_in_error(served: Served) -> None:
    path = f"{SERVERS}/{boot(served, metadata={'devcloud': 'fail'})}"
    server = served.call("GET", path).json()["server"]
    assert server["status"] == "ERROR"
    assert server["fault"]["message"]
