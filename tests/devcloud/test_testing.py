"""The cloud in tests of other projects: the fixtures of pytest, snapshots, fault rules."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openstack
import pytest

from hearth_devcloud.admin import SNAPSHOTS_MAX
from hearth_devcloud.testing import Refused, TestCloud

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.filterwarnings("ignore")  # the SDK warns about itself

README = ROOT / "packages" / "hearth-devcloud" / "README.md"


@pytest.fixture(scope="module")
def cloud() -> Iterator[TestCloud]:
    with TestCloud() as cloud:
        yield cloud


def test_a_state_that_is_restored_is_complete(cloud: TestCloud):
    login = cloud.project("restored")
    with openstack.connect(**login.config) as connection:
        network = connection.network.create_network(name="before")
        connection.network.create_subnet(
            network_id=network.id, cidr="10.0.0.0/24", ip_version=4, name="subnet"
        )
        state = cloud.snapshot()
        objects, calls = cloud.objects(), len(cloud.calls())
        connection.network.delete_network(network.id)
        connection.network.create_network(name="after")
        assert cloud.objects() != objects

        cloud.restore(state)
        assert cloud.objects() == objects
        assert len(cloud.calls()) == calls
        assert connection.network.get_network(network.id).name == "before"
        port = connection.network.create_port(network_id=network.id)
        assert port.fixed_ips[0]["ip_address"].startswith("10.0.0.")

        cloud.restore(state)  # a second time: the snapshot has not changed
        assert cloud.objects() == objects


def test_a_snapshot_can_be_forgotten_and_their_number_has_a_limit(cloud: TestCloud):
    states = [cloud.snapshot() for _ in range(SNAPSHOTS_MAX - len(cloud._running.cloud.snapshots))]
    with pytest.raises(Refused, match=r"409 .*delete one"):
        cloud.snapshot()
    for state in states:
        cloud._control("DELETE", f"snapshots/{state}")
    with pytest.raises(Refused, match=r"404 .*no snapshot"):
        cloud.restore(states[0])


def test_a_project_has_its_roles_and_no_other_rights(cloud: TestCloud):
    flavor = {"name": "mine", "ram": 512, "vcpus": 1, "disk": 1}
    member, admin = cloud.project("of-a-member"), cloud.project("of-an-admin", "admin", "member")
    with (
        openstack.connect(**member.config) as connection,
        pytest.raises(openstack.exceptions.ForbiddenException),
    ):
        connection.compute.create_flavor(**flavor)
    with openstack.connect(**admin.config) as connection:
        connection.compute.create_flavor(**flavor)
    with pytest.raises(Refused, match="409"):
        cloud.project("of-a-member")


def test_the_page_shows_tests_that_pass_in_a_project_of_its_own(tmp_path: Path):
    """Also: the fixtures come with the package, without any configuration."""
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "test_mine.py").write_text(example)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "3 passed" in done.stdout, done.stdout
