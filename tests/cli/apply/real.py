"""The commands from plan to destroy on a cloud that is there, each in a process of its own.

    python -m tests.cli.apply.real CLOUD [--json FILE]

CLOUD is a plain member's entry in clouds.yaml. Prints a row per step and what went wrong; the exit
status is 1 when anything did. See docs/real-cloud.md.
"""

import argparse
import itertools
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

WEB = """\
heat_template_version: 2021-04-16
parameters:
  prefix: {type: string}
  label: {type: string, default: blue}
  count: {type: number, default: 1}
  role: {type: string, default: web}
resources:
  net:
    type: OS::Neutron::Net
    properties: {name: {list_join: ["-", [{get_param: prefix}, {get_param: label}]]}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24, dns_nameservers: [192.0.2.1]}
  router:
    type: OS::Neutron::Router
    properties: {external_gateway_info: {network: public}}
  interface:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  group:
    type: OS::Neutron::SecurityGroup
    properties:
      description: {get_param: label}
      rules:
        - {protocol: tcp, port_range_min: 22, port_range_max: 22}
        - {protocol: icmp, remote_ip_prefix: 192.0.2.0/24}
  port:
    type: OS::Neutron::Port
    depends_on: subnet
    properties:
      network: {get_resource: net}
      security_groups: [{get_resource: group}]
  address:
    type: OS::Neutron::FloatingIP
    depends_on: interface
    properties: {floating_network: public, port_id: {get_resource: port}}
  volume:
    type: OS::Cinder::Volume
    properties: {size: 1, description: {get_param: label}, metadata: {for: web}}
  key:
    type: OS::Nova::KeyPair
    properties: {name: {list_join: ["-", [{get_param: prefix}, key]]}, save_private_key: true}
  server:
    type: OS::Nova::Server
    properties:
      key_name: {get_resource: key}
      image: cirros
      flavor: m1.tiny
      networks: [{port: {get_resource: port}}]
      metadata: {role: {get_param: role}}
      user_data: {get_param: label}
      user_data_update_policy: IGNORE
  attachment:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: server}, volume_id: {get_resource: volume}}
  tiers:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: count}
      resource_def:
        type: tier.yaml
        properties: {label: {get_param: label}, number: "%index%"}
  scaled:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 9
      desired_capacity: {get_param: count}
      resource:
        type: OS::Cinder::Volume
        properties: {size: 1, name: scaled, description: {get_param: label}}
outputs:
  address: {value: {get_attr: [address, floating_ip_address]}}
  net: {value: {get_resource: net}}
  volume: {value: {get_resource: volume}}
  group: {value: {get_resource: group}}
  server: {value: {get_resource: server}}
  tier_net: {value: {get_attr: [tiers, resource.0.net]}}
"""
TIER = """\
heat_template_version: 2021-04-16
parameters:
  label: {type: string}
  number: {type: string}
resources:
  net:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.8.0.0/24}
  port:
    type: OS::Neutron::Port
    depends_on: subnet
    properties: {network: {get_resource: net}, name: {get_param: label}}
  wait:
    type: OS::Heat::TestResource
    depends_on: subnet
    properties: {wait_secs: 3}
  disk:
    type: OS::Cinder::Volume
    depends_on: wait
    properties: {size: 1, name: {get_param: label}}
outputs:
  net: {value: {get_resource: net}}
"""
MORE = 4  # tiers after the apply that is killed
KILLED_AT = (1, 3)  # after so many lines about resources
UNREADABLE = {
    "OS::Heat::AutoScalingGroup", "OS::Heat::ResourceGroup", "OS::Heat::TestResource", "tier.yaml",
}  # fmt: skip
COMMAND = [sys.executable, "-m", "hearth.cli.main"]
COMMAND_S = 600
GONE_S = 60  # after a destroy, until the last object has left the lists
CHANGES = 2
FAILURES = (
    AssertionError, LookupError, OSError, ValueError, subprocess.SubprocessError,
)  # fmt: skip
Pairs = set[tuple[str, str]]
Rows = list[dict[str, Any]]


@dataclass
class Step:
    """A step of the story: what was wrong with it, and how long its command took."""

    name: str
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def expect(self, what: str, have: Any, want: Any) -> None:
        """Note a difference."""
        if have != want:
            self.wrong.append(f"{what}: expected {want!r}, got {have!r}")


@dataclass
class Commands:
    """A user's folder, the cloud and the steps so far."""

    folder: Path
    cloud: str
    connection: Any
    prefix: str
    steps: list[Step] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Take down a step of the story; an exception in it is what went wrong."""
        from openstack.exceptions import SDKException

        one = Step(name)
        try:
            yield one
        except (*FAILURES, SDKException) as error:
            one.wrong.append(f"{type(error).__name__}: {error}")
        self.steps.append(one)
        print("\n".join(line_of(one)), flush=True)

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command that prints JSON."""
        return subprocess.Popen(
            [*COMMAND, *arguments, "--cloud", self.cloud, "--json"], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, step: Step, *arguments: str, status: int = 0) -> Rows:
        """Run a command to its end, and return its objects."""
        began = time.monotonic()
        with self.begin(*arguments) as process:
            out, _ = process.communicate(timeout=COMMAND_S)
        step.seconds += time.monotonic() - began
        if process.returncode != status:
            step.wrong.append(f"hearth {arguments[0]}: exit status {process.returncode}: {out}")
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    def kill(self, step: Step, changes: int, *arguments: str) -> None:
        """Kill a command after so many lines about resources. Raises AssertionError if it ends."""
        began = time.monotonic()
        with self.begin(*arguments) as process:
            assert process.stdout is not None
            rows = (json.loads(line) for line in process.stdout if line.startswith("{"))
            seen = (row["type"] for row in rows if row["type"] != "plan")
            kinds = set(itertools.islice(seen, changes))
            process.send_signal(signal.SIGKILL)
        step.seconds = time.monotonic() - began
        assert kinds == {"resource"}, "it ended before it could be killed"

    def template(self, *more: str) -> list[str]:
        """The arguments of a plan or an apply of the template."""
        pairs = {"prefix": self.prefix, **self.parameters}.items()
        return ["web.yaml", *(f"--parameter={name}={text}" for name, text in pairs), *more]


def line_of(step: Step) -> list[str]:
    """A row of the table, and what went wrong."""
    state = "WRONG" if step.wrong else "ok"
    return [f"{state:5} {step.seconds:6.1f} s  {step.name}", *(f"    {one}" for one in step.wrong)]


def story(at: Commands) -> None:
    """Everything from the first plan to the last destroy."""
    before = _objects(at)
    (at.folder / "web.yaml").write_text(WEB)
    (at.folder / "tier.yaml").write_text(TIER)
    with at.step("plan of a create") as step:
        (plan,) = at.run(step, "plan", *at.template(), status=CHANGES)
        step.expect("summary", plan["summary"], {"create": 20})
        step.expect("new objects", sorted(_objects(at) - before), [])
    ids: Mapping[str, str] = {}
    with at.step("create") as step:
        end = at.run(step, "apply", *at.template("-y"))[-1]
        step.expect("status", end.get("status"), "CREATE_COMPLETE")
        ids = end["outputs"]
    if not step.wrong:
        _settled(at, "create")
        _changed(at)
        _repaired(at, ids)
        _refreshed(at, ids)
        _killed(at)
    with at.step("kill -9 of a destroy") as step:
        at.kill(step, KILLED_AT[-1], "destroy", "web", "-y")
    with at.step("destroy after kill -9") as step:
        *rows, end = at.run(step, "destroy", "web", "-y")
        step.expect("status", end.get("status"), "DELETE_COMPLETE")
        shown = {row["resource"].partition(".")[0] for row in rows if row["type"] == "resource"}
        step.expect("unknown places", shown - yaml.safe_load(WEB)["resources"].keys(), set())
    with at.step("nothing is left in the cloud") as step:
        step.expect("left", _left(at, before), [])


def _settled(at: Commands, after: str) -> None:
    """After an apply, there is nothing to do and nothing has drifted."""
    with at.step(f"plan after {after}") as step:
        plan = at.run(step, "plan", *at.template())[-1]
        step.expect("changes", sorted(set(plan["summary"]) - {"keep"}), [])
    with at.step(f"drift after {after}") as step:
        found = at.run(step, "drift", "web")[-1]
        step.expect("drifted", _drifted(found), set())
        step.expect("missing", _missing(found), set())
        step.expect("not checkable", _not_checkable(found), UNREADABLE)


def _changed(at: Commands) -> None:
    at.parameters.update(label="green", role="db")
    with at.step("plan of a change") as step:
        (plan,) = at.run(step, "plan", *at.template(), status=CHANGES)
        changed = {one["resource"] for one in plan["resources"] if one["action"] != "keep"}
        step.expect("changes", changed, {"net", "group", "volume", "server", "tiers", "scaled"})
    with at.step("change") as step:
        end = at.run(step, "apply", *at.template("-y"))[-1]
        step.expect("status", end.get("status"), "UPDATE_COMPLETE")
        name = at.connection.network.get_network(end["outputs"]["net"]).name
        step.expect("name of the network", name, f"{at.prefix}-green")
    _settled(at, "change")


def _repaired(at: Commands, ids: Mapping[str, str]) -> None:
    """Objects that somebody has changed: `hearth drift` finds them, `--converge` repairs them."""
    with at.step("drift after changes in the cloud") as step:
        painted = _paint(at, ids)
        found = at.run(step, "drift", "web", status=CHANGES)[-1]
        step.expect("drifted", _drifted(found), painted)
        step.expect("missing", _missing(found), {"attachment"})
    with at.step("plan --converge") as step:
        (plan,) = at.run(step, "plan", *at.template("--converge"), status=CHANGES)
        step.expect("deleted", plan["summary"].get("delete", 0), 0)
    with at.step("apply --converge") as step:
        end = at.run(step, "apply", *at.template("--converge", "-y"))[-1]
        step.expect("status", end.get("status"), "UPDATE_COMPLETE")
        step.expect("objects", {name: end["outputs"].get(name) for name in ids}, dict(ids))
        name = at.connection.network.get_network(ids["net"]).name
        step.expect("name of the network", name, f"{at.prefix}-green")
        status = at.connection.block_storage.get_volume(ids["volume"]).status
        step.expect("status of the volume", status, "in-use")
    _settled(at, "converge")


def _paint(at: Commands, ids: Mapping[str, str]) -> Pairs:
    """Change objects and detach the volume; the changed properties."""
    network, compute = at.connection.network, at.connection.compute
    network.update_network(ids["net"], name=f"{at.prefix}-painted")
    at.connection.block_storage.update_volume(ids["volume"], description="painted")
    rules = network.security_group_rules(security_group_id=ids["group"], protocol="icmp")
    network.delete_security_group_rule(next(iter(rules)))
    compute.set_server_metadata(ids["server"], role="painted")
    network.update_network(ids["tier_net"], is_admin_state_up=False)
    compute.delete_volume_attachment(ids["server"], ids["volume"])
    _free(at, ids["volume"])
    return {
        ("net", "name"), ("volume", "description"), ("group", "rules"),
        ("server", "metadata"), ("0.net", "admin_state_up"),
    }  # fmt: skip


def _free(at: Commands, volume: str) -> None:
    end = time.monotonic() + GONE_S
    while at.connection.block_storage.get_volume(volume).status != "available":
        assert time.monotonic() < end, "the volume is not detached"
        time.sleep(0.2)


def _refreshed(at: Commands, ids: Mapping[str, str]) -> None:
    """Objects that somebody has deleted are created again."""
    with at.step("drift after a delete in the cloud") as step:
        for port in at.connection.network.ports(network_id=ids["tier_net"], name="green"):
            at.connection.network.delete_port(port)
        at.connection.compute.delete_keypair(f"{at.prefix}-key")
        found = at.run(step, "drift", "web", status=CHANGES)[-1]
        step.expect("missing", _missing(found), {"0.port", "key"})
        step.expect("drifted", _drifted(found), set())
    with at.step("refresh") as step:
        end = at.run(step, "refresh", "web", status=1)[-1]
        step.expect("status", end.get("status"), "CHECK_FAILED")
    with at.step("apply after a refresh") as step:
        end = at.run(step, "apply", *at.template("-y"))[-1]
        step.expect("status", end.get("status"), "UPDATE_COMPLETE")
    _settled(at, "refresh")


def _killed(at: Commands) -> None:
    """`kill -9` in the middle of an apply; the next one finishes its work, and doubles nothing."""
    at.parameters["count"] = str(MORE)
    for lines in KILLED_AT:
        with at.step(f"kill -9 of an apply after {lines} changes") as step:
            at.kill(step, lines, "apply", *at.template("-y"))
    with at.step("apply after kill -9") as step:
        end = at.run(step, "apply", *at.template("-y"))[-1]
        step.expect("status", end.get("status"), "UPDATE_COMPLETE")
        names = [one.name for one in at.connection.block_storage.volumes()]
        counted = {name: names.count(name) for name in ("green", "scaled")}
        step.expect("volumes", counted, {"green": MORE, "scaled": MORE})
    _settled(at, "kill -9")


def _path(one: Mapping[str, Any]) -> str:
    above = f"{one['parent_resource']}." if one["parent_resource"] else ""
    return f"{above}{one['resource_name']}"


def _drifted(found: Mapping[str, Any]) -> Pairs:
    return {
        (_path(one), pair["property"]) for one in found["resources"] for pair in one["differences"]
    }


def _missing(found: Mapping[str, Any]) -> set[str]:
    return {_path(one) for one in found["resources"] if one["state"] == "missing"}


def _not_checkable(found: Mapping[str, Any]) -> set[str]:
    rows = (one for one in found["resources"] if one["state"] == "not checkable")
    return {one["resource_type"] for one in rows}


def _objects(at: Commands) -> set[str]:
    """What the user's project has."""
    cloud = at.connection
    project = {"project_id": cloud.session.get_project_id()}
    listed: Mapping[str, Callable[[], Any]] = {
        "network": lambda: cloud.network.networks(**project),
        "subnet": lambda: cloud.network.subnets(**project),
        "port": lambda: cloud.network.ports(**project),
        "router": lambda: cloud.network.routers(**project),
        "floating IP": lambda: cloud.network.ips(**project),
        "security group": lambda: cloud.network.security_groups(**project),
        "server": cloud.compute.servers,
        "key pair": cloud.compute.keypairs,
        "volume": cloud.block_storage.volumes,
    }
    return {f"{kind} {one.id} {one.name}" for kind, found in listed.items() for one in found()}


def _left(at: Commands, before: set[str]) -> list[str]:
    """What is there and was not there before; some services take a moment to forget."""
    end = time.monotonic() + GONE_S
    while (left := _objects(at) - before) and time.monotonic() < end:
        time.sleep(1)
    return sorted(left)


def as_json(steps: list[Step]) -> dict[str, Any]:
    """The result: each step with its duration and what went wrong."""
    rows = [
        {"step": one.name, "seconds": round(one.seconds, 1), "wrong": one.wrong} for one in steps
    ]
    return {
        "seconds": round(sum(one.seconds for one in steps), 1),
        "wrong": sum(bool(one.wrong) for one in steps),
        "steps": rows,
    }


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="The commands on a cloud that is there.")
    parser.add_argument("cloud", help="a plain member's entry in clouds.yaml")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work here, and keep it")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", module="openstack")
    import openstack

    with tempfile.TemporaryDirectory() as folder:
        connection = openstack.connect(cloud=given.cloud)
        place = given.keep or Path(folder)
        at = Commands(place, given.cloud, connection, f"t-{secrets.token_hex(3)}")
        story(at)
    result = as_json(at.steps)
    print(f"{len(at.steps)} steps, {result['wrong']} wrong, {result['seconds']} s")
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
