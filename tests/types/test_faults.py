"""What may befall each type: forbidden, no answer, an error state, deleted behind our back."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from hearth.resources.capabilities import MakesObject
from tests.selection import part_of
from tests.types.case import Subject, Template, kinds, subject, without_refs
from tests.types.cloud import QUOTAS, UNLIMITED, Place, in_a_box, limit
from tests.types.fleet import fleet

pytestmark = pytest.mark.slow
TYPES = kinds()
NAMES = [
    name
    for name, kind in TYPES.items()
    if kind.service not in (None, "orchestration", "container-infra")
    and isinstance(kind, MakesObject)
]
"""The types that change something in the cloud in a box."""

CHOSEN = part_of(NAMES, 12)
LIMITED = {  # types of which a project may have so many
    "AWS::EC2::EIP",
    "AWS::EC2::Instance",
    "AWS::EC2::NetworkInterface",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::EC2::Volume",
    "AWS::ElasticLoadBalancing::LoadBalancer",
    "OS::Cinder::Volume",
    "OS::Neutron::FloatingIP",
    "OS::Neutron::FlowClassifier",
    "OS::Neutron::LBaaS::HealthMonitor",
    "OS::Neutron::LBaaS::L7Policy",
    "OS::Neutron::LBaaS::L7Rule",
    "OS::Neutron::LBaaS::Listener",
    "OS::Neutron::LBaaS::LoadBalancer",
    "OS::Neutron::LBaaS::Pool",
    "OS::Neutron::LBaaS::PoolMember",
    "OS::Neutron::LoadBalancer",
    "OS::Neutron::Net",
    "OS::Neutron::Pool",
    "OS::Neutron::PoolMember",
    "OS::Neutron::Port",
    "OS::Neutron::PortChain",
    "OS::Neutron::PortPair",
    "OS::Neutron::PortPairGroup",
    "OS::Neutron::ProviderNet",
    "OS::Neutron::RBACPolicy",
    "OS::Neutron::Router",
    "OS::Neutron::SecurityGroup",
    "OS::Neutron::SecurityGroupRule",
    "OS::Neutron::Subnet",
    "OS::Neutron::SubnetPool",
    "OS::Neutron::Trunk",
    "OS::Nova::FloatingIP",
    "OS::Nova::KeyPair",
    "OS::Nova::Server",
    "OS::Nova::ServerGroup",
    "OS::Octavia::HealthMonitor",
    "OS::Octavia::L7Policy",
    "OS::Octavia::L7Rule",
    "OS::Octavia::Listener",
    "OS::Octavia::LoadBalancer",
    "OS::Octavia::Pool",
    "OS::Octavia::PoolMember",
    "OS::Trove::Cluster",
    "OS::Trove::Instance",
}
KNOB_SERVICES = {"block-storage": "volume"}
OF_TWO = {"OS::Cinder::VolumeAttachment": "compute"}  # the service that takes the calls
STATEFUL = {  # types whose examples make something that has a state
    "AWS::EC2::Instance",
    "AWS::EC2::Volume",
    "AWS::ElasticLoadBalancing::LoadBalancer",
    "OS::Barbican::Order",
    "OS::Blazar::Lease",
    "OS::Cinder::Volume",
    "OS::Designate::Domain",
    "OS::Designate::Record",
    "OS::Designate::RecordSet",
    "OS::Designate::Zone",
    "OS::Manila::Share",
    "OS::Neutron::Firewall",
    "OS::Neutron::IPsecSiteConnection",
    "OS::Neutron::LBaaS::HealthMonitor",
    "OS::Neutron::LBaaS::L7Policy",
    "OS::Neutron::LBaaS::L7Rule",
    "OS::Neutron::LBaaS::Listener",
    "OS::Neutron::LBaaS::LoadBalancer",
    "OS::Neutron::LBaaS::Pool",
    "OS::Neutron::LBaaS::PoolMember",
    "OS::Neutron::LoadBalancer",
    "OS::Neutron::Pool",
    "OS::Neutron::PoolMember",
    "OS::Neutron::TaaS::TapFlow",
    "OS::Neutron::TaaS::TapService",
    "OS::Nova::Server",
    "OS::Nova::ServerGroup",
    "OS::Octavia::HealthMonitor",
    "OS::Octavia::L7Policy",
    "OS::Octavia::L7Rule",
    "OS::Octavia::Listener",
    "OS::Octavia::LoadBalancer",
    "OS::Octavia::Pool",
    "OS::Octavia::PoolMember",
    "OS::Zun::Container",
    "OS::Trove::Cluster",
    "OS::Trove::Instance",
}
WORDS = "the moon stands in the wrong house"
BODIES = {
    "alarming": {"error_message": {"faultcode": "Client", "faultstring": WORDS}},
    "network": {"NeutronError": {"type": "PolicyNotAuthorized", "message": WORDS, "detail": ""}},
    "identity": {"error": {"title": "Forbidden", "message": WORDS, "code": 403}},
    "load-balancer": {"faultcode": "Client", "faultstring": WORDS, "debuginfo": None},
    "image": WORDS,
    "key-manager": {"title": "Forbidden", "description": WORDS, "code": 403},
    "dns": {"type": "forbidden", "message": WORDS, "code": 403},
    "reservation": {"error_code": 403, "error_message": WORDS, "error_name": 403},
}
OTHERS = {"forbidden": {"message": WORDS, "code": 403}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with in_a_box(tmp_path_factory.mktemp("hearth"), in_a_hurry=True) as found:
        yield found


def without(one: Subject) -> Template:
    """The example without the resource under test and without what refers to it."""
    return without_refs(one.template, one.resource)


def writes(service: str, effect: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Rules for all calls of a service that change something."""
    name = KNOB_SERVICES.get(service, service)
    paths = dict.fromkeys(("POST", "PUT", "PATCH"), "(?<!/tokens)$")
    if name == "volume":
        paths["GET"] = "/(dis)?associate"  # which change something all the same
    return [
        {"match": {"service": name, "method": method, "path_regex": path, **more}, "effect": effect}
        for method, path in paths.items()
    ]


def example(one: Subject) -> Template | str:
    return one.example


def test_a_refusal_is_told_in_the_words_of_the_cloud(place: Place):
    with fleet(place, CHOSEN, "no") as stacks:
        assert stacks.create(without) == {}
        for service in sorted({OF_TWO.get(n) or TYPES[n].service or "" for n in CHOSEN}):
            effect = {"status": 403, "body": BODIES.get(service, OTHERS)}
            place.knobs(writes(service, effect))
        said = stacks.update(example)
        assert {name for name in CHOSEN if WORDS not in said.get(name, "")} == set()
        for name in CHOSEN:
            shown = stacks.resource(name)
            assert shown["resource_status"] == "CREATE_FAILED", name
            assert WORDS in shown["resource_status_reason"], name
        place.knobs_off()
        assert stacks.update(example) == {}


def test_a_limit_is_told_and_nothing_is_left_over(place: Place):
    admin = place.connections["admin"]
    with fleet(place, CHOSEN, "full") as stacks:
        assert stacks.create(without) == {}
        limit(admin, 0, QUOTAS)
        try:
            said = stacks.update(example)
        finally:
            limit(admin, UNLIMITED, QUOTAS)
        assert set(NAMES) >= LIMITED
        assert said.keys() == LIMITED & set(CHOSEN)
        told = re.compile("Quota exceeded|Quota has been met|Maximum number of volumes allowed")
        assert {name for name in said if told.search(said[name]) is None} == set()
        assert stacks.update(example) == {}


def test_what_goes_into_an_error_state_fails_and_is_made_again(place: Place):
    with fleet(place, CHOSEN, "ill") as stacks:
        assert stacks.create(without) == {}
        for service in sorted({TYPES[name].service or "" for name in CHOSEN}):
            place.knobs(writes(service, {"error": True}))
        said = stacks.update(example)
        assert set(NAMES) >= STATEFUL
        assert said.keys() == STATEFUL & set(CHOSEN)
        told = re.compile(r"Went to status (?i:error) due to|failed: 500 - Process failure")
        assert {name for name in said if told.search(said[name]) is None} == set()
        place.knobs_off()
        assert stacks.update(example) == {}
        assert stacks.check() == {}


def test_what_was_deleted_behind_our_back_is_noticed_and_made_again(place: Place):
    names = [name for name in CHOSEN if "lost" not in subject(name).case]
    with fleet(place, names, "gone") as stacks:
        assert stacks.create(example) == {}
        for name in names:
            physical = stacks.resource(name)["physical_resource_id"]
            assert place.admin("DELETE", f"objects/{physical.rpartition('/')[2]}")["lost"], name
        said = stacks.check()
        missed = {name for name in names if subject(name).resource not in said.get(name, "")}
        assert missed == set()
        assert stacks.update(example) == {}
        assert stacks.check() == {}
