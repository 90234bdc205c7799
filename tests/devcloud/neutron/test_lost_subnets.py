"""What becomes of the ports in a subnet that is gone."""

from tests.devcloud.neutron.caller import Network

SLAAC = {"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}


def test_a_lost_subnet_takes_the_interface_of_its_router_along(demo: Network) -> None:
    net, subnet, router = demo.routed()
    port = demo.make("ports", "port", network_id=net["id"])
    demo.served.call("DELETE", f"/devcloud/objects/{subnet['id']}")
    assert demo("GET", f"networks/{net['id']}").json()["network"]["subnets"] == []
    assert demo("GET", f"ports/{port['id']}").json()["port"]["fixed_ips"] == []
    owner = {"device_id": router["id"], "device_owner": "network:router_interface"}
    query = "&".join(f"{name}={value}" for name, value in owner.items())
    assert demo("GET", f"ports?{query}").json()["ports"] == []
    again = demo.make("subnets", "subnet", network_id=net["id"], cidr="10.9.0.0/24", ip_version=4)
    path, leg = f"routers/{router['id']}", {"subnet_id": again["id"]}
    for verb in ("add", "remove"):
        assert demo("PUT", f"{path}/{verb}_router_interface", leg).status_code == 200
    assert demo("DELETE", path).status_code == 204


def test_an_interface_in_two_subnets_stays_in_the_other_one(demo: Network) -> None:
    net = demo.make("networks", "network")
    given = {"network_id": net["id"], "ip_version": 6}
    cidrs = ("fd00:1::/64", "fd00:2::/64")
    lost, kept = (demo.make("subnets", "subnet", **given, cidr=cidr) for cidr in cidrs)
    places = [{"subnet_id": one["id"]} for one in (lost, kept)]
    port = demo.make("ports", "port", network_id=net["id"], fixed_ips=places)
    router = demo.make("routers", "router")
    leg = {"port_id": port["id"]}
    assert demo("PUT", f"routers/{router['id']}/add_router_interface", leg).status_code == 200
    demo.served.call("DELETE", f"/devcloud/objects/{lost['id']}")
    fixed = demo("GET", f"ports/{port['id']}").json()["port"]["fixed_ips"]
    assert [one["subnet_id"] for one in fixed] == [kept["id"]]


def test_no_subnet_is_deleted_while_a_router_is_connected_to_it(demo: Network) -> None:
    net = demo.make("networks", "network")
    given = {"network_id": net["id"], "ip_version": 6, "cidr": "fd00:3::/64", **SLAAC}
    subnet, router = demo.make("subnets", "subnet", **given), demo.make("routers", "router")
    path, leg = f"routers/{router['id']}", {"subnet_id": subnet["id"]}
    assert demo("PUT", f"{path}/add_router_interface", leg).status_code == 200
    subnet_path = f"subnets/{subnet['id']}"
    assert demo.refused("DELETE", subnet_path) == (409, "SubnetInUse")
    assert demo("PUT", f"{path}/remove_router_interface", leg).status_code == 200
    assert demo("DELETE", subnet_path).status_code == 204
