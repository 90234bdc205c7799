"""The mark by which objects are found again is nothing that a template sees."""

import asyncio
from types import SimpleNamespace

import pytest

from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import CollectionResource
from hearth.resources.mark import MARK, unmarked
from hearth.resources.registry import builtin_types
from hearth.resources.shown import shown_attribute
from tests.resources.driver import drive

OWN = f"{MARK}6f1d8a52-3c0e-4b7a-9a41-5e2f0c9d7b13"


@pytest.mark.parametrize(
    ("shown", "seen"),
    [
        ({"description": OWN}, {"description": ""}),
        ({"description": f"{OWN}:0:ab12cd"}, {"description": ""}),
        ({"tags": ["mine", OWN]}, {"tags": ["mine"]}),
        ({"metadata": {"hearth-key": OWN, "a": "b"}}, {"metadata": {"a": "b"}}),
        ({"specs": {"hearth_key": OWN}}, {"specs": {}}),
        ({"x-container-meta-hearth-key": OWN, "etag": "1"}, {"etag": "1"}),
        ({"rules": [{"description": OWN, "id": 1}]}, {"rules": [{"description": "", "id": 1}]}),
        (OWN, ""),
    ],
)
def test_no_mark_is_left_at_any_depth(shown, seen):
    assert unmarked(shown) == seen


def test_a_service_that_shows_null_for_no_description_still_does():
    assert unmarked({"description": OWN}, None) == {"description": None}


@pytest.mark.parametrize(
    "own",
    ["hearth: a fire", "hearth:my-app", f"see {OWN}", {"hearth_key": "mine"}, ["a", ""], None, 3],
)
def test_what_users_wrote_stays(own):
    assert unmarked({"description": own}) == {"description": own}


MARKED = [
    kind
    for kind in builtin_types().values()
    if isinstance(kind, CollectionResource)
    and kind.identified_by is IntentKey.TAG
    and kind.collection.key_field is not None
]


@pytest.mark.parametrize("kind", MARKED, ids=lambda kind: kind.name)
def test_a_mark_is_no_difference_from_what_was_asked_for(kind, monkeypatch):
    """Where the text given was empty, a converging update compares with what the service shows."""
    field = kind.collection.key_field

    empty = {n: "" for n in kind.properties if kind.renamed.get(n, n) == field}
    ctx = SimpleNamespace(properties=empty, given=empty.get, physical_name="")

    async def show(_, ctx):
        return {field: OWN}

    monkeypatch.setattr(type(kind), "show", show)
    found = asyncio.run(CollectionResource.observe(kind, ctx))
    assert set(found.values()) <= {""}


def test_an_update_keeps_the_users_description_and_the_mark_of_tags():
    async def story(driver):
        seen = []
        rule = await driver.create("OS::Neutron::SecurityGroup", {"description": "before"})
        await driver.update(rule, {"description": "after"})
        seen.append((await shown_attribute(rule.kind, rule, "show"))["description"])
        net = await driver.create("OS::Neutron::Net", {}, "net")
        subnet = await driver.create(
            "OS::Neutron::Subnet", {"network": net.physical_id, "cidr": "10.0.0.0/24"}, "subnet"
        )
        balancer = await driver.create(
            "OS::Octavia::LoadBalancer", {"vip_subnet": subnet.physical_id}, "lb"
        )
        pool = await driver.create(
            "OS::Octavia::Pool",
            {
                "loadbalancer": balancer.physical_id,
                "protocol": "HTTP",
                "lb_algorithm": "ROUND_ROBIN",
            },
            "pool",
        )
        wanted = {"pool": pool.physical_id, "address": "10.0.0.9", "protocol_port": 80}
        member = await driver.create("OS::Octavia::PoolMember", {**wanted, "tags": ["a"]}, "one")
        await driver.update(member, {**wanted, "tags": ["b"]})
        seen.append((await member.kind.show(member))["tags"])
        seen.append(f"{MARK}{member.key}")
        await driver.delete_all()
        return seen

    described, tags, own = drive(story)
    assert described == "after"
    assert tags == ["b", own]
