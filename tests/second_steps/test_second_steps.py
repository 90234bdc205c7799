"""A fixed part of the table of second steps; `make second-steps`: all of it."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.second_steps import clusters, killed_clusters
from tests.second_steps.cells import Cell
from tests.second_steps.clusters import Rows
from tests.second_steps.killed import killed, mortal
from tests.second_steps.run import Choice, TypeResult, examine
from tests.second_steps.stack import Outcome
from tests.second_steps.watch import watching
from tests.types.cloud import in_a_box

pytestmark = pytest.mark.slow

FIXED = {
    "a volume keeps its data": Choice(("OS::Cinder::Volume",), "update size", "400", 1, "same"),
    "a volume goes back": Choice(("OS::Cinder::Volume",), "update name", "400", 1, "back"),
    "a share keeps its data": Choice(("OS::Manila::Share",), "update name", "400", 1, "back"),
    "a zone is no dead end": Choice(("OS::Designate::Zone",), "update ttl", "400", 1, "same"),
    "a new net gets its tags": Choice(("OS::Neutron::Net",), "create", "400", 3, "same"),
    "a half-made subnet gives way": Choice(("OS::Neutron::Subnet",), "create", "400", 3, "check"),
    "a user without its role goes": Choice(("OS::Mistral::Workflow",), "create", "400", 3, "same"),
    "a quota is not reset": Choice(("OS::Nova::Quota",), "update cores", "400", 1, "unhealthy"),
    "a listener in error gives way": Choice(
        ("OS::Octavia::Listener",), "update admin_state_up", "error", 1, "same"
    ),
    "a share that is gone is made again": Choice(
        ("OS::Manila::Share",), "update access_rules", "gone before", 0, "same"
    ),
    "a lost volume is made again": Choice(
        ("OS::Cinder::Volume",), "update name", "gone before", 0, "same"
    ),
    "a server in error is replaced": Choice(
        ("OS::Nova::Server",), "update name", "in error", 0, "same"
    ),
    "a port in error gives its MAC address away": Choice(
        ("OS::Neutron::Port",), "update value_specs", "in error", 0, "check"
    ),
    "what goes gives way": Choice(
        ("OS::Neutron::FlowClassifier",), "replace destination_ip_prefix", "400", 3, "back"
    ),
    "a group that was not scaled is scaled": Choice(
        ("OS::Heat::AutoScalingGroup",), "scaling group of volumes: signal more", "400", 1, "same"
    ),
    "a trust is made again": Choice(
        ("OS::Cinder::Volume",), "update name", "dead trust", 0, "same"
    ),
    "a rollback that fails is no dead end": Choice(
        ("OS::Neutron::Net",), "rollback of update admin_state_up", "400", 2, "same"
    ),
    "an adopted net is adopted again": Choice(("OS::Neutron::Net",), "adopt", "400", 1, "same"),
    "a deployment that failed is repaired": Choice(
        ("OS::Heat::SoftwareDeployment",), "deployment by call: create", "guest fails", 0, "same"
    ),
    "a lost server leaves its port": Choice(
        ("OS::Nova::Server",), "server on a port: replace user_data", "gone before", 0, "same"
    ),
    "a stopped server is resized": Choice(
        ("OS::Nova::Server",), "server on a port: update flavor", "stopped", 0, "same"
    ),
    "a stopped server keeps its password": Choice(
        ("OS::Nova::Server",), "update admin_pass", "stopped", 0, "back"
    ),
    "a quota is no equal rule": Choice(
        ("OS::Neutron::SecurityGroup",), "create", "409", 3, "another"
    ),
    "a trunk is disabled after its ports have left": Choice(
        ("OS::Neutron::Trunk",), "update sub_ports", "500 to a read", 0, "back"
    ),
    "what was never made is deleted": Choice(
        ("OS::Neutron::RouterInterface",), "create", "null", 1, "delete"
    ),
    "what was never adopted is deleted": Choice(
        ("OS::Octavia::PoolMember",), "adopt", "409", 1, "delete"
    ),
    "what could not be read is read again": Choice(
        ("OS::Designate::RecordSet",), "adopt", "409", 1, "back"
    ),
    "what was not read is no null": Choice(
        ("OS::Neutron::PoolMember",), "adopt", "400", 1, "unhealthy"
    ),
    "a connection of a failed update goes": Choice(
        ("OS::Neutron::NetworkGateway",), "update connections", "500 after", 2, "delete"
    ),
    "old routes give way": Choice(
        ("OS::Neutron::ExtraRouteSet",), "update routes", "409", 1, "unhealthy"
    ),
    "a balancer in error gives way": Choice(
        ("OS::Neutron::LBaaS::LoadBalancer",), "update admin_state_up", "error", 1, "same"
    ),
    "a stopped server sleeps": Choice(
        ("OS::Nova::Server",), "server on a port: update metadata", "stopped", 0, "sleep"
    ),
    "a volume leaves a server in error": Choice(
        ("OS::Cinder::VolumeAttachment",), "suspend", "error", 2, "sleep"
    ),
    "an attachment goes with its server": Choice(
        ("AWS::EC2::VolumeAttachment",), "resume", "error", 1, "delete"
    ),
    "an instance in error is replaced": Choice(("AWS::EC2::EIP",), "suspend", "error", 1, "sleep"),
    "nobody waits for the guest of a server in error": Choice(
        ("OS::Heat::SoftwareDeployment",), "deployment by call: restore", "error", 1, "sleep"
    ),
    "the place of a deployment's results may be gone": Choice(
        ("OS::Heat::SoftwareDeployment",), "deployment by object: delete", "400", 3, "delete"
    ),
    "a restored volume stays": Choice(("OS::Cinder::Volume",), "restore", "502 after", 1, "check"),
    "a delete that failed is tried again": Choice(
        ("OS::Cinder::Volume",), "delete", "error", 1, "delete"
    ),
    "a volume that could not grow stays": Choice(
        ("OS::Cinder::Volume",), "update size", "error", 1, "same"
    ),
    "an empty container goes": Choice(
        ("OS::Heat::SwiftSignalHandle",), "delete", "409", 3, "delete twice"
    ),
    "a lost subnet is in the way of nobody": Choice(
        ("AWS::EC2::Subnet",), "replace CidrBlock", "gone before", 0, "back"
    ),
    "a delete goes on": Choice(("OS::Neutron::Router",), "create", "500 after", 1, "delete twice"),
}

BY_ITSELF = frozenset({"OS::Neutron::PoolMember"})
"""Types whose reads other stacks would share: such a call may carry the trace of another stack."""

KILLED = (
    "OS::Cinder::Volume",
    "OS::Heat::AutoScalingGroup",
    "OS::Heat::SoftwareDeploymentGroup",
    "OS::Neutron::Net",
    "OS::Nova::Server",
)
CLUSTER = Cell(clusters.CLUSTER, "group create", clusters.NO_FLAVORS, 0, "delete")
KILLED_CLUSTER = Cell(clusters.CLUSTER, "create", "killed before", 1, "delete")


@pytest.fixture(scope="module", autouse=True)
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Future[Any]]]:
    """The cells of the cluster service and those with a kill, in clouds of their own, beside the
    other cells."""
    with ThreadPoolExecutor(3) as pool:
        yield {
            "cluster": pool.submit(of_cluster, tmp_path_factory.mktemp("cluster")),
            "killed": pool.submit(of_killed, tmp_path_factory.mktemp("killed")),
            "both": pool.submit(of_killed_cluster, tmp_path_factory.mktemp("both")),
        }


def of_cluster(folder: Path) -> Rows:
    with in_a_box(folder, in_a_hurry=True) as place:
        return clusters.rows(place, CLUSTER.__eq__, CLUSTER.first, 0, every=True)


def of_killed_cluster(folder: Path) -> Rows:
    chosen, first = KILLED_CLUSTER.__eq__, KILLED_CLUSTER.first
    with mortal(folder) as (place, hearth):
        return killed_clusters.rows(place, hearth, chosen, first, 0, every=True)


def of_killed(folder: Path) -> list[Outcome]:
    with mortal(folder) as (place, hearth):
        found = killed(place, hearth, KILLED, lambda cell: True, seed=0)
        assert place.left_over() == []
        return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, TypeResult]]:
    """All types at once but those by themselves, and nothing left over; cells of a type would be in
    each other's way."""
    by_type: dict[str, list[str]] = {}
    for name, choice in FIXED.items():
        by_type.setdefault(choice.types[0], []).append(name)
    with (
        in_a_box(tmp_path_factory.mktemp("hearth"), in_a_hurry=True) as place,
        watching(place) as watch,
        ThreadPoolExecutor(len(by_type)) as pool,
    ):

        def lived(type_name: str) -> dict[str, TypeResult]:
            return {
                name: examine(place, watch, type_name, replace(FIXED[name], prefix=f"c{number}"))
                for number, name in enumerate(by_type[type_name])
            }

        together = [type_name for type_name in by_type if type_name not in BY_ITSELF]
        some = [*pool.map(lived, together), *map(lived, sorted(BY_ITSELF))]
        yield {name: one for found in some for name, one in found.items()}
        assert place.left_over() == []


@pytest.mark.parametrize("name", FIXED)
def test_what_comes_next_succeeds(results: Mapping[str, TypeResult], name: str) -> None:
    result = results[name]
    assert len(result.outcomes) == 1
    assert [outcome.wrong for outcome in result.outcomes] == [""]


def test_a_cluster_whose_group_was_never_created_is_deleted(
    others: Mapping[str, Future[Rows]],
) -> None:
    rows = others["cluster"].result()
    assert rows.wrong == []
    assert [(one.cell, one.wrong) for one in rows.outcomes] == [(CLUSTER, "")]


def test_a_cluster_whose_conductor_was_killed_is_made_and_deleted(
    others: Mapping[str, Future[Rows]],
) -> None:
    rows = others["both"].result()
    assert rows.wrong == []
    assert [(one.cell, one.wrong) for one in rows.outcomes] == [(KILLED_CLUSTER, "")]


def test_what_comes_next_succeeds_after_a_kill(
    others: Mapping[str, Future[list[Outcome]]],
) -> None:
    outcomes = others["killed"].result()
    assert [one.cell.type_name for one in outcomes] == list(KILLED)
    assert [one.wrong for one in outcomes] == [""] * len(KILLED)
