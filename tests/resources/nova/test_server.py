"""Servers on a real HTTP cloud: made, changed in place, suspended, removed with all they had."""

import asyncio
import base64
import json
from types import SimpleNamespace

import pytest

from hearth.cloud import CloudFault
from hearth.model.state import Action
from hearth.resources.base import Change
from hearth.resources.nova import interfaces
from hearth.resources.nova.server import block_devices
from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken, drive

SERVER = "OS::Nova::Server"
PLAIN = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"network": "inner"}]}


async def ground(driver):
    net = await driver.create("OS::Neutron::Net", {"name": "inner"}, "net")
    await driver.create(
        "OS::Neutron::Subnet",
        {"network": net.physical_id, "cidr": "10.1.0.0/24", "name": "low"},
        "subnet",
    )
    return net


def test_a_server_is_made_and_removed():
    async def story(driver):
        net = await ground(driver)
        server = await driver.create(SERVER, {**PLAIN, "metadata": {"a": {"b": 1}}}, "web")
        shown = await server.kind.attribute(server, "networks")
        addresses = await server.kind.attribute(server, "addresses")
        first = server.kind.recordable(server)["first_address"]
        body = server.body
        seen = await server.kind.observe(server)
        await driver.delete_all()
        return net.physical_id, shown, addresses, first, body, seen, driver.left()

    net, shown, addresses, first, body, seen, left = drive(story)
    assert body["status"] == "ACTIVE"
    assert body["metadata"] == {"a": '{"b": 1}'}
    assert seen["metadata"] == {"a": {"b": 1}}
    assert shown["inner"] == shown[net] == [first]
    assert addresses["inner"][0]["port"]
    assert left == {}


def test_a_server_that_is_slow_is_waited_for():
    async def story(driver):
        await ground(driver)
        server = await driver.create(SERVER, PLAIN)
        return server.body["status"]

    assert drive(story, build_s=0.2) == "ACTIVE"


def test_a_server_in_error_says_why_and_asks_for_another_try():
    async def story(driver):
        await ground(driver)
        driver.knobs({"match": {"method": "POST", "path_regex": "/servers$"},
                      "effect": {"error": True}})  # fmt: skip
        with pytest.raises(Broken, match="Went to status ERROR"):
            await driver.create(SERVER, PLAIN)
        server = driver.made[-1]
        assert await server.kind.replace_failed(server)
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}


def test_a_server_whose_answer_was_withheld_is_found():
    async def story(driver):
        await ground(driver)
        driver.knobs({"match": {"method": "POST", "path_regex": "/servers$", "times": 1},
                      "effect": {"withhold": 0.05}})  # fmt: skip
        await driver.create(SERVER, {**PLAIN, "name": "mine"})
        left = driver.left()
        await driver.delete_all()
        return left, driver.left()

    there, left = drive(story)
    assert there["compute.servers"] == 1
    assert left == {}


def test_a_port_of_its_own_is_made_for_a_subnet_and_removed_with_the_server():
    async def story(driver):
        await ground(driver)
        networks = [{"subnet": "low", "fixed_ip": "10.1.0.50"}]
        networks.append({"network": "inner", "port_extra_properties": {"no_fixed_ips": False}})
        server = await driver.create(SERVER, {**PLAIN, "networks": networks})
        shown = await server.kind.attribute(server, "networks")
        ports = json.loads(server.data["internal_ports"])
        await driver.delete_all()
        return shown["inner"], len(ports), driver.left()

    shown, ports, left = drive(story)
    assert "10.1.0.50" in shown
    assert ports == 2
    assert left == {}


def test_security_groups_are_those_of_the_ports():
    async def story(driver):
        await ground(driver)
        await driver.create("OS::Neutron::SecurityGroup", {"name": "web"}, "group")
        for networks in ([{"subnet": "low"}], [{"network": "inner"}]):
            given = {**PLAIN, "networks": networks, "security_groups": ["web"]}
            await driver.create(SERVER, given, "server")
        ports = await driver.cloud.listing("network", "/v2.0/ports")
        owned = [p for p in ports if p["device_owner"].startswith("compute:")]
        await driver.delete_all()
        return {tuple(port["security_groups"]) for port in owned}, len(owned), driver.left()

    groups, ports, left = drive(story)
    assert (len(groups), ports) == (1, 2)
    assert left == {}


def test_a_server_changes_in_place():
    async def story(driver):
        await ground(driver)
        server = await driver.create(SERVER, {**PLAIN, "metadata": {"a": "1", "b": "2"}})
        ident = server.physical_id
        await driver.update(
            server,
            {
                **PLAIN,
                "name": "new",
                "metadata": {"b": "3"},
                "tags": ["t"],
                "flavor": "m1.small",
                "image": "fedora-20.x86_64",
                "admin_pass": "x",
            },
        )
        body = await server.kind.show(server)
        await driver.delete_all()
        return ident == server.physical_id, body, driver.left()

    same, body, left = drive(story)
    assert same
    assert (body["name"], body["metadata"], body["tags"]) == ("new", {"b": "3"}, ["t"])
    assert body["flavor"]["id"] == "2"
    assert body["status"] == "ACTIVE"
    assert left == {}


def test_networks_change_in_place():
    async def story(driver):
        await ground(driver)
        other = await driver.create("OS::Neutron::Net", {"name": "other"}, "other")
        await driver.create(
            "OS::Neutron::Subnet", {"network": other.physical_id, "cidr": "10.2.0.0/24"}, "sub2"
        )
        server = await driver.create(SERVER, PLAIN)
        await driver.update(server, {**PLAIN, "networks": [{"network": "other"}]})
        one = await server.kind.attribute(server, "networks")
        both = [{"network": "other"}, {"subnet": "low"}]
        await driver.update(server, {**PLAIN, "networks": both})
        two = await server.kind.attribute(server, "networks")
        await driver.update(server, {**PLAIN, "networks": [{"network": "other"}]})
        three = await server.kind.attribute(server, "networks")
        await driver.delete_all()
        return one, two, three, driver.left()

    one, two, three, left = drive(story)
    assert "inner" not in one
    assert "other" in one
    assert {"inner", "other"} <= two.keys()
    assert "inner" not in three
    assert left == {}


def test_a_server_is_suspended_and_resumed():
    async def story(driver):
        await ground(driver)
        server = await driver.create(SERVER, PLAIN)
        await driver.run(server, Action.SUSPEND)
        asleep = server.body["status"]
        await driver.run(server, Action.RESUME)
        awake = server.body["status"]
        await driver.run(server, Action.CHECK)
        await driver.delete_all()
        return asleep, awake

    assert drive(story) == ("SUSPENDED", "ACTIVE")


def test_a_server_whose_resize_is_not_confirmed_is_healthy():
    async def story(driver):
        await ground(driver)
        server = await driver.create(SERVER, PLAIN)
        flavors = await driver.cloud.listing("compute", "/flavors")
        (larger,) = [one["id"] for one in flavors if one["name"] == "m1.medium"]
        path = f"/servers/{server.physical_id}"
        resize = {"resize": {"flavorRef": larger}}
        await driver.cloud.request("compute", "POST", f"{path}/action", json=resize)
        status = ""
        while status != "VERIFY_RESIZE":
            await asyncio.sleep(0.02)
            answer = await driver.cloud.request("compute", "GET", path)
            status = answer.part("server")["status"]
        await driver.run(server, Action.CHECK)
        await driver.delete_all()
        return status

    assert drive(story) == "VERIFY_RESIZE"


def test_a_snapshot_is_an_image():
    async def story(driver):
        await ground(driver)
        server = await driver.create(SERVER, PLAIN)
        await driver.run(server, Action.SNAPSHOT)
        image = await driver.cloud.member("image", "/v2/images", server.data["snapshot_image_id"])
        return image["status"]

    assert drive(story) == "active"


def test_user_data_is_a_multipart_by_default_and_plain_when_raw():
    async def story(driver):
        await ground(driver)
        await driver.create(SERVER, {**PLAIN, "user_data": "#!/bin/sh\necho hello\n"})
        raw = {**PLAIN, "user_data": "hello", "user_data_format": "RAW"}
        await driver.create(SERVER, raw)
        servers = driver.running.cloud.store.all("compute.servers")
        return [base64.b64decode(one.hidden["user_data"]).decode() for one in servers]

    multipart, raw = sorted(drive(story), key=len, reverse=True)
    assert raw == "hello"
    assert "multipart/mixed" in multipart
    for name in ("boothook.sh", "part-handler.py", "cfn-userdata", "provision.sh"):
        assert f'filename="{name}"' in multipart
    assert "echo hello" in multipart


def test_when_a_server_must_be_replaced():
    kind = builtin_types()[SERVER]

    def why(name, before, after):
        return kind.must_replace(Change(before, after, frozenset({name})))

    assert why("flavor", {}, {"flavor_update_policy": "REPLACE"})
    assert not why("flavor", {}, {"flavor_update_policy": "RESIZE"})
    assert why("user_data", {}, {"user_data_update_policy": "REPLACE"})
    assert not why("user_data", {}, {"user_data_update_policy": "IGNORE"})
    assert not why("image", {"image": "a"}, {"image": "b", "image_update_policy": "REBUILD"})
    assert why("image", {"image": "a"}, {"image": "b", "image_update_policy": "REPLACE"})


def test_ports_are_removed_when_the_server_never_came_to_be():
    async def story(driver):
        await ground(driver)
        match = {"method": "POST", "path_regex": "/servers$"}
        driver.knobs({"match": match, "effect": {"status": 400}})
        with pytest.raises(CloudFault):
            await driver.create(SERVER, {**PLAIN, "networks": [{"subnet": "low"}]})
        there = driver.left()
        await driver.delete_all()
        return there, driver.left()

    there, left = drive(story)
    assert there["network.ports"] == 1
    assert left == {}


def test_a_port_that_turns_up_later_is_a_stray():
    async def story(driver):
        net = await ground(driver)
        server = await driver.create(SERVER, {**PLAIN, "networks": [{"subnet": "low"}]})
        late = {"network_id": net.physical_id, "description": f"hearth:{server.key}:0:late"}
        await driver.cloud.request("network", "POST", "/v2.0/ports", json={"port": late})
        orphans = await server.kind.orphans(server)
        for one in orphans:
            await server.kind.delete_orphan(server, one)
        await driver.delete_all()
        return len(orphans), driver.left()

    assert drive(story) == (1, {})


def test_a_server_that_is_replaced_yields_its_ports_and_can_have_them_back():
    async def story(driver):
        net = await ground(driver)
        port = await driver.create("OS::Neutron::Port", {"network": net.physical_id}, "port")
        wanted = {**PLAIN, "networks": [{"port": port.physical_id}]}
        old = await driver.create(SERVER, wanted, "old")
        for step in old.kind.replaced_steps(old):
            await step.do(old)
        new = await driver.create(SERVER, wanted, "new")
        held = [i["port_id"] for i in await interfaces.attached(new)]
        for step in new.kind.replaced_steps(new):
            await step.do(new)
        await driver.run(old, Action.RESTORE)
        back = [i["port_id"] for i in await interfaces.attached(old)]
        return port.physical_id, held, back

    port, held, back = drive(story)
    assert held == back == [port]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([{"network": "inner"}], [{"subnet": "low"}]),
        ([{"subnet": "low"}], [{"network": "inner"}]),
        ([{"subnet": "low"}], [{"network": "inner", "subnet": "low"}]),
        (
            [
                {"network": "inner"},
                {"network": "inner", "fixed_ip": "10.1.0.33"},
                {"subnet": "low"},
            ],
            [{"subnet": "low"}, {"network": "inner"}, {"network": "inner", "subnet": "low"}],
        ),
    ],
)
def test_a_port_stays_where_its_network_is_only_said_in_another_way(before, after):
    async def story(driver):
        await ground(driver)
        server = await driver.create(SERVER, {**PLAIN, "networks": before})
        ports = [{i["port_id"] for i in await interfaces.attached(server)}]
        for networks in (after, before, after):
            await driver.update(server, {**PLAIN, "networks": networks})
            ports.append({i["port_id"] for i in await interfaces.attached(server)})
        await driver.delete_all()
        return ports, driver.left()

    ports, left = drive(story)
    assert ports[0] == ports[1] == ports[2] == ports[3]
    assert left == {}


def test_a_port_goes_where_another_is_asked_for():
    async def story(driver):
        await ground(driver)
        seen = []
        extra = {"network": "inner", "port_extra_properties": {"no_fixed_ips": False}}
        server = await driver.create(SERVER, {**PLAIN, "networks": [extra]})
        for one in ({"network": "inner"}, {"network": "inner", "fixed_ip": "10.1.0.77"}, extra):
            seen.append({i["port_id"] for i in await interfaces.attached(server)})
            await driver.update(server, {**PLAIN, "networks": [one]})
        seen.append({i["port_id"] for i in await interfaces.attached(server)})
        await driver.delete_all()
        return seen, driver.left()

    seen, left = drive(story)
    assert len(set.union(*seen)) == 4
    assert left == {}


@pytest.mark.parametrize(
    ("disks", "image", "boot"),
    [
        ([{"volume_id": "v"}], None, [0]),
        ([{"image": "i", "volume_size": 1}], None, [0]),
        ([{"snapshot_id": "s"}, {"volume_id": "v"}], None, [0, None]),
        ([{"swap_size": 1}, {"volume_id": "v"}], None, [-1, 0]),
        ([{"volume_id": "v"}, {"volume_id": "w", "boot_index": 0}], None, [None, 0]),
        ([{"volume_id": "v", "boot_index": 1}], None, [1]),
        ([{"volume_id": "v"}], "i", [0, None]),
    ],
)
def test_the_first_disk_that_can_boot_does_unless_another_is_told_to(disks, image, boot):
    ctx = SimpleNamespace(given={"block_device_mapping_v2": disks, "image": image}.get)
    assert [disk.get("boot_index") for disk in block_devices(ctx)] == boot


def test_more_metadata_than_the_service_allows_is_refused_before_anything_is_made():
    kind = builtin_types()["OS::Nova::Server"]

    async def story(driver):
        return [
            await kind.refused({"metadata": {str(n): "x" for n in range(entries)}}, driver.cloud)
            for entries in (0, 128, 129)
        ]

    none, most, more = drive(story)
    assert (none, most) == ((), ())
    assert more == ("metadata: 129 entries are more than the service allows, 128",)
