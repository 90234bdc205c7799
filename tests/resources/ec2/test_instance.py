"""Servers in AWS's words: volumes one after the other, ports in their order, disks of snapshots."""

import base64
from email import message_from_string

import pytest

from hearth.model.state import Action
from hearth.resources.actions import handles
from hearth.resources.registry import builtin_types
from tests.resources.driver import drive
from tests.resources.neutron.test_topology import plumbing

INSTANCE = "AWS::EC2::Instance"
PLAIN = {"ImageId": "cirros", "InstanceType": "m1.tiny"}


async def disks(driver, number):
    given = {"AvailabilityZone": "nova", "Size": 1}
    return [await driver.create("AWS::EC2::Volume", given, f"disk{n}") for n in range(number)]


def volumes(disks, letters="bcd"):
    return [
        {"VolumeId": disk.physical_id, "Device": f"/dev/vd{letter}"}
        for disk, letter in zip(disks, letters, strict=False)
    ]


async def attached(driver, server):
    path = f"/servers/{server.physical_id}/os-volume_attachments"
    return [one["volumeId"] for one in await driver.cloud.listing("compute", path)]


def test_volumes_are_attached_in_their_order_and_a_lost_answer_doubles_nothing():
    async def story(driver):
        _, subnet = await plumbing(driver)
        two = await disks(driver, 2)
        driver.knobs({"match": {"method": "POST", "path_regex": "volume_attach", "times": 1},
                      "effect": {"withhold": 0.05}})  # fmt: skip
        given = {**PLAIN, "SubnetId": subnet.physical_id, "Volumes": volumes(two)}
        server = await driver.create(INSTANCE, given, "web")
        found = await attached(driver, server)
        shown = server.kind.recordable(server)
        await driver.delete_all()
        return found == [disk.physical_id for disk in two], shown, driver.left()

    in_order, shown, left = drive(story)
    assert in_order
    assert shown["AvailabilityZone"] == "nova"
    assert {shown[n] for n in shown if n != "AvailabilityZone"} == {shown["PublicIp"]}
    assert shown["PublicIp"].startswith("10.1.0.")
    assert left == {}


def test_a_replaced_server_gives_its_volumes_up_and_takes_them_back():
    async def story(driver):
        _, subnet = await plumbing(driver)
        one = await disks(driver, 1)
        given = {**PLAIN, "SubnetId": subnet.physical_id, "Volumes": volumes(one)}
        server = await driver.create(INSTANCE, given, "web")
        counts = []
        for steps in (server.kind.replaced_steps, server.kind.taken_back_steps):
            for step in steps(server):
                driver.absorb(server, await driver.call(step, server))
                if step.poll:
                    await driver.poll(step, server)
            counts.append(len(await attached(driver, server)))
        await driver.delete_all()
        return counts, driver.left()

    assert drive(story) == ([0, 1], {})


def test_ports_are_plugged_in_by_their_index():
    async def story(driver):
        net, _ = await plumbing(driver)
        port = {"network": net.physical_id}
        first, second = [await driver.create("OS::Neutron::Port", port, n) for n in ("a", "b")]
        ports = [
            {"NetworkInterfaceId": second.physical_id, "DeviceIndex": "1"},
            {"NetworkInterfaceId": first.physical_id, "DeviceIndex": 0},
        ]
        server = await driver.create(INSTANCE, {**PLAIN, "NetworkInterfaces": ports}, "web")
        path = f"/servers/{server.physical_id}/os-interface"
        found = [one["port_id"] for one in await driver.cloud.listing("compute", path)]
        await driver.delete_all()
        return found == [first.physical_id, second.physical_id], driver.left()

    assert drive(story) == (True, {})


def test_the_guest_gets_script_and_metadata_for_its_tools():
    async def story(driver):
        _, subnet = await plumbing(driver)
        given = {**PLAIN, "SubnetId": subnet.physical_id, "UserData": "#!/bin/sh\n:"}
        given["Tags"] = [{"Key": "role", "Value": "web"}]
        metadata = {"AWS::CloudFormation::Init": {"config": {}}}
        server = await driver.create(INSTANCE, given, "web", metadata=metadata)
        kept = driver.running.cloud.store.get("compute.servers", server.physical_id)
        data = next(v for k, v in {**kept.hidden, **kept.body}.items() if k.endswith("user_data"))
        body = await server.kind.show(server)
        await driver.delete_all()
        return data, body["metadata"]

    data, tags = drive(story)
    parts = {
        part.get_filename(): part.get_payload(decode=True).decode()
        for part in message_from_string(base64.b64decode(data).decode()).walk()
        if part.get_filename()
    }
    assert parts["cfn-userdata"] == "#!/bin/sh\n:"
    assert "AWS::CloudFormation::Init" in parts["cfn-init-data"]
    assert tags == {"role": "web"}


def test_disks_are_made_from_snapshots():
    async def story(driver):
        _, subnet = await plumbing(driver)
        (disk,) = await disks(driver, 1)
        wanted = {"snapshot": {"volume_id": disk.physical_id, "name": "s"}}
        answer = await driver.cloud.request("block-storage", "POST", "/snapshots", json=wanted)
        snapshot = answer.part("snapshot")["id"]
        mapping = {"DeviceName": "vdb", "Ebs": {"SnapshotId": snapshot, "VolumeSize": "1"}}
        given = {**PLAIN, "SubnetId": subnet.physical_id, "BlockDeviceMappings": [mapping]}
        server = await driver.create(INSTANCE, given, "web")
        found = len(await attached(driver, server))
        await driver.delete(server)
        path = f"/snapshots/{snapshot}"
        await driver.cloud.request("block-storage", "DELETE", path)
        await driver.delete_all()
        return found, driver.left()

    assert drive(story) == (1, {})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"BlockDeviceMappings": [{"DeviceName": "vdb"}]}, "Ebs is needed"),
        ({"NetworkInterfaces": [{"DeviceIndex": "0"}]}, "NetworkInterfaceId"),
        ({"NetworkInterfaces": [{"NetworkInterfaceId": "p", "DeviceIndex": "x"}]}, "DeviceIndex"),
        ({"NetworkInterfaces": ["p"], "SecurityGroups": ["g"]}, "exclude"),
    ],
)
def test_what_makes_no_sense_together_is_refused(more, words):
    (wrong,) = builtin_types()[INSTANCE].conflicts({**PLAIN, **more})
    assert words in str(wrong)


def test_a_snapshot_of_the_stack_passes_it_over():
    assert not handles(builtin_types()[INSTANCE], Action.SNAPSHOT)
    assert handles(builtin_types()[INSTANCE], Action.SUSPEND)
