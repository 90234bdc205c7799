"""The `openstack` command on the cloud in a box: each main kind made, listed, changed, deleted."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.clients.dev import Dev, wait_for
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
ADMIN = "hearth-admin"


@dataclass(frozen=True)
class Kind:
    """A noun of the command, what makes one, what changes it, and how that shows."""

    noun: str
    create: str
    change: tuple[str, ...] = ()
    shows: dict[str, Any] = field(default_factory=dict)
    cloud: str = "hearth"
    key: str = "name"  # of the answer, by which it is found; empty: by its name


DESCRIBE, DESCRIBED = ("--description changed",), {"description": "changed"}
PROPERTY, PROPERTIES = ("--property a=b",), {"properties": {"a": "b"}}
KINDS = [
    Kind("domain", "c-domain", (*DESCRIBE, "--disable"), {**DESCRIBED, "enabled": False}, ADMIN),
    Kind("project", "--domain default c-project", DESCRIBE, DESCRIBED, ADMIN),
    Kind("group", "--description first c-group", DESCRIBE, DESCRIBED, ADMIN),
    Kind("user", "--password a c-user", ("--email b@a.com",), {"email": "b@a.com"}, ADMIN),
    Kind("role", "c-role", DESCRIBE, DESCRIBED, ADMIN),
    Kind("region", "c-region", DESCRIBE, DESCRIBED, ADMIN, "region"),
    Kind("service", "--name c-service c-type", DESCRIBE, DESCRIBED, ADMIN, "id"),
    Kind(
        "endpoint", "--region RegionOne nova public http://a.com", ("--url http://b.com",),
        {"url": "http://b.com"}, ADMIN, "id",
    ),
    Kind("application credential", "c-credential", key="Name"),
    Kind("flavor", "--ram 64 --disk 1 c-flavor", PROPERTY, PROPERTIES, ADMIN),
    Kind("keypair", "c-key", key=""),
    Kind("server group", "--policy anti-affinity c-servers", (), {"policy": "anti-affinity"}),
    Kind("aggregate", "--zone c-zone c-hosts", PROPERTY, PROPERTIES, ADMIN),
    Kind(
        "server", "--image cirros --flavor m1.tiny --network private --wait c-server",
        (*PROPERTY, *DESCRIBE), {**PROPERTIES, **DESCRIBED, "status": "ACTIVE"},
    ),
    Kind("network", "c-net", DESCRIBE, DESCRIBED),
    Kind(
        "subnet", "--network private --subnet-range 10.99.0.0/24 --dns-nameserver 1.1.1.1 c-subnet",
        (*DESCRIBE, "--host-route destination=10.98.0.0/24,gateway=10.99.0.9"),
        {**DESCRIBED, "host_routes": [{"destination": "10.98.0.0/24", "nexthop": "10.99.0.9"}]},
    ),
    Kind(
        "port", "--network private --allowed-address ip-address=10.0.0.200 c-port",
        (*DESCRIBE, "--no-allowed-address"), {**DESCRIBED, "allowed_address_pairs": []},
    ),
    Kind(
        "router", "--external-gateway public c-router", (*DESCRIBE, "--disable"),
        {**DESCRIBED, "admin_state_up": False},
    ),
    Kind("floating ip", "public", DESCRIBE, DESCRIBED, key="id"),
    Kind("security group", "c-group", DESCRIBE, DESCRIBED),
    Kind(
        "security group rule", "--protocol tcp --dst-port 80:90 --remote-ip 10.0.0.0/8 default",
        (), {"port_range_max": 90}, key="id",
    ),
    Kind(
        "subnet pool", "--pool-prefix 10.96.0.0/16 --default-prefix-length 24 c-pool", DESCRIBE,
        DESCRIBED,
    ),
    Kind("address scope", "--ip-version 4 c-scope", ("--name c-scope",), {"ip_version": 4}),
    Kind("address group", "--address 10.1.0.0/16 c-addresses", DESCRIBE, DESCRIBED),
    Kind("network qos policy", "c-qos", DESCRIBE, DESCRIBED, ADMIN),
    Kind(
        "network rbac", "--type network --action access_as_shared --target-project demo public",
        ("--target-project service",), {"action": "access_as_shared"}, ADMIN, "id",
    ),
    Kind(
        "network segment", "--network public --network-type vxlan --segment 77 c-segment",
        DESCRIBE, DESCRIBED, ADMIN,
    ),
    Kind("network meter", "--description first c-meter", cloud=ADMIN),
    Kind("volume", "--size 1 c-volume", (*DESCRIBE, *PROPERTY), {**DESCRIBED, **PROPERTIES}),
    Kind("volume type", "c-type", (*DESCRIBE, *PROPERTY), {**DESCRIBED, **PROPERTIES}, ADMIN),
    Kind("volume qos", "--property a=a c-spec", PROPERTY, PROPERTIES, ADMIN),
    Kind("container", "c-container", PROPERTY, {"properties": {"A": "b"}}, key="container"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
def test_one_is_made_listed_shown_changed_and_deleted(dev: Dev, kind: Kind):
    dev.mark()
    noun, cloud = kind.noun.split(), kind.cloud

    def known_by() -> set[str]:
        listed = dev.json(*noun, "list", cloud=cloud)
        return {str(one[key]) for one in listed for key in one if key in {"ID", "Name", "Region"}}

    if kind.key:
        made = dev.json(*noun, "create", *kind.create.split(), cloud=cloud)
        made = made[0] if isinstance(made, list) else made
        name = str(made[kind.key])
    else:
        dev.shell(*noun, "create", *kind.create.split(), cloud=cloud)
        name = kind.create.split()[-1]
    assert name in known_by()
    for change in kind.change:
        dev.shell(*noun, "set", *change.split(), name, cloud=cloud)
    shown = dev.json(*noun, "show", name, cloud=cloud)
    assert {key: shown[key] for key in kind.shows} == kind.shows
    dev.shell(*noun, "delete", name, cloud=cloud)
    assert name not in known_by()
    assert dev.left_over() == []


def run(dev: Dev, script: str, cloud: str = "hearth") -> None:
    """A command on each line."""
    for line in script.strip().splitlines():
        dev.shell(*line.split(), cloud=cloud)


def test_a_server_goes_through_its_states(dev: Dev):
    dev.mark()
    run(dev, "server create --image cirros --flavor m1.tiny --network private --wait c-vm")
    states = {
        "stop": "SHUTOFF", "start": "ACTIVE", "reboot --wait": "ACTIVE", "pause": "PAUSED",
        "unpause": "ACTIVE", "suspend": "SUSPENDED", "resume": "ACTIVE",
        "shelve --wait": "SHELVED_OFFLOADED", "unshelve --wait": "ACTIVE", "rescue": "RESCUE",
        "unrescue": "ACTIVE", "rebuild --wait --image cirros": "ACTIVE",
        "resize --wait --flavor m1.small": "VERIFY_RESIZE", "resize confirm": "ACTIVE",
    }  # fmt: skip
    with dev.sdk() as cloud:
        server = cloud.compute.find_server("c-vm")
        for action, wanted in states.items():
            run(dev, f"server {action} c-vm")
            cloud.compute.wait_for_server(server, wanted, interval=0.05, wait=10)
    assert dev.json("server", "show", "c-vm")["flavor"]["name"] == "m1.small"
    assert "login" in dev.shell("console", "log", "show", "c-vm")
    assert dev.json("console", "url", "show", "c-vm")["type"] == "novnc"
    run(dev, "server image create --wait --name c-snapshot c-vm")
    assert dev.json("image", "show", "c-snapshot")["status"] == "active"
    run(dev, "image delete c-snapshot\nserver delete --wait c-vm")
    assert dev.left_over() == []


def test_a_server_has_volumes_ports_and_groups_given_and_taken(dev: Dev):
    dev.mark()
    run(
        dev,
        """
        server create --image cirros --flavor m1.tiny --network private --wait c-vm
        volume create --size 1 c-disk
        port create --network private c-nic
        security group create c-rules
        server add volume c-vm c-disk
        server add port c-vm c-nic
        server add security group c-vm c-rules
        """,
    )
    assert dev.json("volume", "show", "c-disk")["status"] == "in-use"
    assert len(dev.json("server", "volume", "list", "c-vm")) == 1
    shown = dev.json("server", "show", "c-vm")
    assert len(shown["addresses"]["private"]) == 2
    assert {one["name"] for one in shown["security_groups"]} == {"default", "c-rules"}
    run(
        dev,
        """
        server remove volume c-vm c-disk
        server remove port c-vm c-nic
        server remove security group c-vm c-rules
        """,
    )
    shown = dev.json("server", "show", "c-vm")
    assert (len(shown["addresses"]["private"]), shown["volumes_attached"]) == (1, [])
    run(dev, "server delete --wait c-vm\nport delete c-nic\nvolume delete c-disk")
    run(dev, "security group delete c-rules")
    assert dev.left_over() == []


def test_a_router_joins_networks_and_a_trunk_carries_them(dev: Dev):
    dev.mark()
    run(
        dev,
        """
        network create c-net
        subnet create --network c-net --subnet-range 10.7.0.0/24 c-subnet
        router create c-router
        router add subnet c-router c-subnet
        router set --external-gateway public c-router
        router set --route destination=10.6.0.0/24,gateway=10.7.0.9 c-router
        port create --network c-net c-parent
        port create --network private c-child
        floating ip create --port c-parent --description c-ip public
        network trunk create --parent-port c-parent c-trunk
        network trunk set --subport port=c-child,segmentation-type=vlan,segmentation-id=5 c-trunk
        """,
    )
    shown = dev.json("router", "show", "c-router")
    assert shown["routes"] == [{"destination": "10.6.0.0/24", "nexthop": "10.7.0.9"}]
    assert len(shown["interfaces_info"]) == 1
    (address,) = dev.json("floating", "ip", "list")
    assert address["Fixed IP Address"].startswith("10.7.0.")
    (child,) = dev.json("network", "subport", "list", "--trunk", "c-trunk")
    assert child["Segmentation ID"] == 5
    run(
        dev,
        f"""
        network trunk unset --subport c-child c-trunk
        network trunk delete c-trunk
        floating ip delete {address["ID"]}
        router unset --route destination=10.6.0.0/24,gateway=10.7.0.9 c-router
        router unset --external-gateway c-router
        router remove subnet c-router c-subnet
        router delete c-router
        port delete c-parent c-child
        network delete c-net
        """,
    )
    assert dev.left_over() == []


def test_an_admin_sets_rules_for_the_quality_of_a_network(dev: Dev):
    dev.mark()
    rules = {
        "bandwidth-limit": "--max-kbps 100 --egress",
        "dscp-marking": "--dscp-mark 8",
        "minimum-bandwidth": "--min-kbps 8 --egress",
        "minimum-packet-rate": "--min-kpps 8 --egress",
    }
    known = {one["Type"] for one in dev.json("network", "qos", "rule", "type", "list", cloud=ADMIN)}
    assert {one.replace("-", "_") for one in rules} <= known
    run(dev, "network qos policy create c-quality", ADMIN)
    for kind, options in rules.items():
        run(dev, f"network qos rule create --type {kind} {options} c-quality", ADMIN)
    listed = dev.json("network", "qos", "rule", "list", "c-quality", cloud=ADMIN)
    assert {one["Type"].replace("_", "-") for one in listed} == set(rules)
    run(
        dev,
        """
        network set --qos-policy c-quality private
        network set --no-qos-policy private
        network qos policy delete c-quality
        """,
        ADMIN,
    )
    assert dev.left_over() == []


def test_volumes_grow_are_copied_and_backed_up(dev: Dev):
    dev.mark()
    run(
        dev,
        """
        volume create --size 1 c-disk
        volume snapshot create --volume c-disk c-then
        volume snapshot set --description changed --property a=b c-then
        volume create --snapshot c-then c-again
        volume create --source c-disk c-copy
        volume create --size 1 --image cirros --bootable c-boot
        volume backup create --name c-kept c-disk
        """,
    )
    for name in ("c-again", "c-copy", "c-boot"):
        wait_for(
            lambda name=name: dev.json("volume", "show", name)["status"] == "available" or None,
            name,
        )
    assert dev.json("volume", "snapshot", "show", "c-then")["properties"] == {"a": "b"}
    assert dev.json("volume", "backup", "show", "c-kept")["size"] == 1
    assert dev.json("volume", "show", "c-boot")["bootable"] is True
    run(
        dev,
        """
        volume backup delete c-kept
        volume snapshot delete c-then
        volume set --size 2 c-disk
        """,
    )
    assert dev.json("volume", "show", "c-disk")["size"] == 2
    run(dev, "volume delete c-disk c-again c-copy c-boot")
    wait_for(lambda: dev.left_over() == [] or None, "nothing left")


def test_an_image_and_an_object_are_sent_and_fetched(dev: Dev, tmp_path: Path):
    dev.mark()
    sent, fetched = tmp_path / "sent", tmp_path / "fetched"
    sent.write_bytes(b"some bytes")
    run(
        dev,
        f"""
        image create --disk-format raw --container-format bare --file {sent} c-image
        image set --property a=b --min-ram 8 --tag t c-image
        image save --file {fetched} c-image
        """,
    )
    shown = dev.json("image", "show", "c-image")
    assert (shown["min_ram"], shown["tags"], shown["properties"]["a"]) == (8, ["t"], "b")
    assert fetched.read_bytes() == b"some bytes"
    run(
        dev,
        f"""
        image delete c-image
        container create c-box
        object create --name c-object c-box {sent}
        object save --file {fetched} c-box c-object
        """,
    )
    assert [one["Name"] for one in dev.json("object", "list", "c-box")] == ["c-object"]
    assert dev.json("object", "show", "c-box", "c-object")["content-length"] == "10"
    run(dev, "object delete c-box c-object\ncontainer delete c-box")
    assert dev.left_over() == []


def test_roles_are_given_and_quotas_set(dev: Dev):
    give = ("--user", "demo", "--project", "admin", "reader")
    dev.shell("role", "add", *give, cloud=ADMIN)
    listed = ("role", "assignment", "list", "--names", "--user", "demo", "--project", "admin")
    assert [one["Role"] for one in dev.json(*listed, cloud=ADMIN)] == ["reader"]
    dev.shell("role", "remove", *give, cloud=ADMIN)
    assert dev.json(*listed, cloud=ADMIN) == []
    run(dev, "quota set --instances 20 --volumes 21 --networks 22 demo", ADMIN)
    limits = {one["Resource"]: one["Limit"] for one in dev.json("quota", "show")}
    assert [limits[one] for one in ("instances", "volumes", "networks")] == [20, 21, 22]
    run(dev, "quota delete demo", ADMIN)


@pytest.mark.parametrize(
    "command",
    ["catalog list", "token issue", "extension list", "versions show", "limits show --absolute",
     "availability zone list", "volume type list", "flavor list", "keypair list"],
)  # fmt: skip
def test_what_the_cloud_offers_is_listed_to_all(dev: Dev, command: str):
    assert dev.json(*command.split())


@pytest.mark.parametrize(
    "command",
    ["hypervisor list", "hypervisor show devcloud", "compute service list", "volume service list",
     "project list --long", "user list --long", "service list", "endpoint list"],
)  # fmt: skip
def test_what_runs_the_cloud_is_listed_to_admins(dev: Dev, command: str):
    assert dev.json(*command.split(), cloud=ADMIN)
