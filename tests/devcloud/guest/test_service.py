"""What a guest reads of its server: both trees, the password, the config drive."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from hearth_devcloud.cloud import DevCloud
from hearth_devcloud.guest import drive, service, versions
from hearth_devcloud.guest.server import server_at
from hearth_devcloud.http import Reply
from hearth_devcloud.store import Resource

SCRIPT = b"#!/bin/sh\necho \xe2\x82\xac\n"
KEY = "stack_key"


class Guest:
    """A server of a cloud, and what its metadata service answers."""

    def __init__(self, **more: Any) -> None:
        self.cloud = DevCloud()
        self.token = self._token()
        network = next(
            n for n in self.cloud.store.all("network.networks") if n.body["name"] == "private"
        )
        image = next(iter(self.cloud.store.all("image.images")))
        server = {
            "name": "web 1",
            "flavorRef": "1",
            "imageRef": image.id,
            "networks": [{"uuid": network.id}],
            "user_data": base64.b64encode(SCRIPT).decode(),
            "key_name": KEY,
            "metadata": {"role": "web"},
            **more,
        }
        made = self.call("POST", "/compute/v2.1/servers", {"server": server})
        assert made.status == 202, made.body
        self.id = made.body["server"]["id"]
        for _ in range(3):
            self.call("GET", f"/compute/v2.1/servers/{self.id}")
        assert self.server.body["status"] == "ACTIVE"

    def _token(self) -> str:
        user = {"name": "demo", "domain": {"id": "default"}, "password": "secret"}
        auth = {"identity": {"methods": ["password"], "password": {"user": user}}}
        reply = self.cloud.request(
            "POST", "/identity/v3/auth/tokens", {}, json.dumps({"auth": auth}).encode()
        )
        return reply.headers["X-Subject-Token"]

    def call(self, method: str, target: str, body: Any = None) -> Reply:
        raw = json.dumps(body).encode() if body is not None else b""
        return self.cloud.request(method, target, {"X-Auth-Token": self.token}, raw)

    @property
    def server(self) -> Resource:
        return self.cloud.store.table("compute.servers")[self.id]

    @property
    def address(self) -> str:
        port = self.cloud.store.table("network.ports")[self.server.hidden["ports"][0]]
        return str(port.body["fixed_ips"][0]["ip_address"])

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"") -> Reply:
        return service.answer(self.cloud.store, self.server, method, path, body)

    def text(self, path: str) -> str:
        reply = self.ask(path)
        assert reply.status == 200, path
        return reply.body if isinstance(reply.body, str) else reply.body.decode()

    def json(self, path: str) -> Any:
        return json.loads(self.text(path))


@pytest.fixture(scope="module")
def guest() -> Guest:
    return Guest()


def test_a_server_is_found_by_its_address_on_a_network(guest: Guest):
    store = guest.cloud.store
    port = store.table("network.ports")[guest.server.hidden["ports"][0]]
    network = port.body["network_id"]
    assert server_at(store, network, guest.address) is guest.server
    assert server_at(store, network, "10.0.0.254") is None
    assert server_at(store, "another", guest.address) is None


def test_the_openstack_tree_lists_its_versions_and_files(guest: Guest):
    assert guest.text("/openstack").split("\n") == [*versions.OPENSTACK, "latest"]
    assert guest.text("/openstack/") == guest.text("/openstack")
    assert set(guest.text("/openstack/latest").split("\n")) == {
        "meta_data.json",
        "user_data",
        "password",
        "vendor_data.json",
        "vendor_data2.json",
        "network_data.json",
    }
    assert set(guest.text("/openstack/2012-08-10").split("\n")) == {"meta_data.json", "user_data"}


def test_every_listed_file_is_there_in_every_version_and_no_other(guest: Guest):
    latest = set(guest.text("/openstack/latest").split("\n"))
    for version in guest.text("/openstack").split("\n"):
        listed = set(guest.text(f"/openstack/{version}").split("\n"))
        for name in latest:
            status = guest.ask(f"/openstack/{version}/{name}").status
            assert status == (200 if name in listed else 404), (version, name)


def test_meta_data_describes_the_server(guest: Guest):
    found = guest.json("/openstack/latest/meta_data.json")
    assert found["uuid"] == guest.id
    assert found["name"] == "web 1"
    assert found["hostname"] == "web-1.novalocal"
    assert found["meta"] == {"role": "web"}
    assert found["project_id"] == guest.server.project_id
    assert found["availability_zone"] == "nova"
    assert list(found["public_keys"]) == [KEY]
    assert found["keys"][0] == {"name": KEY, "type": "ssh", "data": found["public_keys"][KEY]}
    assert len(base64.b64decode(found["random_seed"])) == 512
    old = guest.json("/openstack/2012-08-10/meta_data.json")
    assert set(found) - set(old) == {
        "keys",
        "random_seed",
        "project_id",
        "devices",
        "dedicated_cpus",
    }


def test_user_data_comes_byte_for_byte(guest: Guest):
    assert guest.ask("/openstack/latest/user_data").body == SCRIPT
    assert guest.ask("/latest/user-data").body == SCRIPT
    assert guest.ask("/2009-04-04/user-data").body == SCRIPT


def test_a_server_without_user_data_and_key_has_neither():
    bare = Guest(user_data=None, key_name=None, metadata={})
    assert bare.ask("/openstack/latest/user_data").status == 404
    assert bare.ask("/latest/user-data").status == 404
    assert bare.text("/latest") == "meta-data/"
    assert bare.ask("/latest/meta-data/public-keys/").status == 404
    found = bare.json("/openstack/latest/meta_data.json")
    assert not {"public_keys", "keys", "meta"} & set(found)


def test_network_data_has_the_port_with_its_address(guest: Guest):
    found = guest.json("/openstack/latest/network_data.json")
    port = guest.cloud.store.table("network.ports")[guest.server.hidden["ports"][0]]
    (link,) = found["links"]
    assert link["vif_id"] == port.id
    assert link["ethernet_mac_address"] == port.body["mac_address"]
    (network,) = found["networks"]
    assert network["type"] == "ipv4_dhcp"
    assert network["link"] == link["id"]
    subnet = guest.cloud.store.table("network.subnets")[port.body["fixed_ips"][0]["subnet_id"]]
    subnet.body["enable_dhcp"] = False
    subnet.body["dns_nameservers"] = ["192.0.2.1"]
    try:
        found = guest.json("/openstack/latest/network_data.json")
    finally:
        subnet.body["enable_dhcp"] = True
        subnet.body["dns_nameservers"] = []
    (network,) = found["networks"]
    assert (network["type"], network["ip_address"]) == ("ipv4", guest.address)
    assert network["netmask"] == "255.255.255.0"
    assert network["routes"] == [
        {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1"}
    ]
    assert found["services"] == [{"type": "dns", "address": "192.0.2.1"}]


def test_the_ec2_tree_is_walked_by_its_listings(guest: Guest):
    assert guest.text("/").split("\n") == [*versions.EC2, "latest"]
    seen = {}

    def walk(folder: str) -> None:
        for name in guest.text(folder).split("\n"):
            name = name.partition("=")[0] + "/" if "=" in name else name
            if name.endswith("/"):
                walk(folder + name)
            else:
                seen[folder + name] = guest.text(folder + name)

    walk("/latest/")
    data = "/latest/meta-data/"
    assert seen[data + "local-ipv4"] == guest.address
    assert seen[data + "hostname"] == "web-1.novalocal"
    assert seen[data + "instance-type"] == "m1.tiny"
    assert seen[data + "placement/availability-zone"] == "nova"
    assert seen[data + "public-keys/0/openssh-key"].startswith("ssh-ed25519 ")
    assert seen[data + "security-groups"] == "default"
    assert seen[data + "instance-id"].startswith("i-")
    assert guest.text(data + "public-keys/") == f"0={KEY}"
    assert guest.ask("/1.0/meta-data/local-ipv4").status == 404
    assert guest.ask("/2009-04-04/meta-data/local-ipv4").status == 200


@pytest.mark.parametrize(
    "path",
    ["/openstack/1999-01-01", "/openstack/latest/x", "/openstack/latest/user_data/x", "/x",
     "/latest/meta-data/x", "/latest/meta-data/hostname/x"],
)  # fmt: skip
def test_what_is_not_there_is_404(guest: Guest, path: str):
    assert guest.ask(path).status == 404


def test_only_the_password_can_be_posted_and_once():
    guest = Guest()
    path = "/openstack/latest/password"
    assert guest.text(path) == ""
    assert guest.ask("/openstack/latest/user_data", method="POST", body=b"x").status == 404
    assert guest.ask("/openstack/2012-08-10/password", method="POST", body=b"x").status == 404
    assert guest.ask("/latest/user-data", method="POST", body=b"x").status == 404
    assert guest.ask(path, method="POST", body=b"x" * 1021).status == 400
    assert guest.ask(path, method="POST", body=b"c2VjcmV0").status == 200
    assert guest.text(path) == "c2VjcmV0"
    assert guest.ask(path, method="POST", body=b"other").status == 409
    shown = guest.call("GET", f"/compute/v2.1/servers/{guest.id}/os-server-password")
    assert shown.body == {"password": "c2VjcmV0"}
    gone = guest.call("DELETE", f"/compute/v2.1/servers/{guest.id}/os-server-password")
    assert gone.status == 204
    assert guest.text(path) == ""


def test_the_drive_holds_what_the_service_answers(guest: Guest):
    files = drive.files(guest.cloud.store, guest.server)
    for version in guest.text("/openstack").split("\n"):
        for name in guest.text(f"/openstack/{version}").split("\n"):
            if name == "password":
                assert f"openstack/{version}/password" not in files
            else:
                body = guest.ask(f"/openstack/{version}/{name}").body
                assert files[f"openstack/{version}/{name}"] == body
    assert files["ec2/latest/user-data"] == SCRIPT
    found = json.loads(files["ec2/latest/meta-data.json"])
    assert found["local-ipv4"] == guest.address
    assert found["public-keys"]["0"]["_name"] == f"0={KEY}"
