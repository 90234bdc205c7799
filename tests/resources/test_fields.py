"""What a declaration makes of properties: the fields of create and update calls."""

import pytest

from hearth.resources.base import Change
from hearth.resources.registry import builtin_types
from tests.resources.fake import context_of


def made(name, properties):
    ctx = context_of(name, properties)
    return ctx.kind.fields(ctx)


def changed(name, before, after):
    old, ctx = context_of(name, before), context_of(name, after)
    names = {*old.properties, *ctx.properties}
    ctx.before = old.properties
    ctx.changed = frozenset(
        one for one in names if old.properties.get(one) != ctx.properties.get(one)
    )
    return ctx.kind.changed_fields(ctx)


ROUTER = "OS::Neutron::Router"
ADDRESS = "OS::Neutron::FloatingIP"


def test_entries_of_maps_have_their_own_names_and_null_ones_are_left_out():
    info = {"network": "n", "external_fixed_ips": [{"subnet": "s"}]}
    assert made(ROUTER, {"external_gateway_info": info})["external_gateway_info"] == {
        "network_id": "n",
        "external_fixed_ips": [{"subnet_id": "s"}],
    }


def test_free_maps_stay_as_they_are():
    free = {"a": None, "b": {"c": None}}
    assert made(ROUTER, {"value_specs": free}).items() >= free.items()


def test_what_is_taken_away_is_cleared_in_the_words_of_the_service():
    given = {"external_gateway_info": {"network": "n"}}
    assert changed(ROUTER, given, {}) == {"external_gateway_info": {}}


def test_a_value_can_stand_for_null():
    assert made("OS::Neutron::FirewallRule", {"protocol": "any"})["protocol"] is None
    assert made("OS::Neutron::FirewallRule", {"protocol": "tcp"})["protocol"] == "tcp"


def test_properties_that_belong_together_are_sent_together():
    base = {"floating_network": "n", "port_id": "p"}
    assert changed(ADDRESS, base, {**base, "fixed_ip_address": "10.0.0.4"}) == {
        "port_id": "p",
        "fixed_ip_address": "10.0.0.4",
    }


def test_a_field_can_have_another_name_in_the_create_call_only():
    name, key = "OS::Cinder::VolumeType", "os-volume-type-access:is_public"
    assert made(name, {"name": "x", "is_public": False}) == {"name": "x", key: False}
    public, private = {"name": "x"}, {"name": "x", "is_public": False}
    assert changed(name, public, private) == {"is_public": False}


def test_what_has_no_name_gets_the_generated_one():
    fields = made("OS::Nova::Flavor", {"ram": 1, "vcpus": 1})
    assert (fields["name"], fields["id"]) == ("web-thing-abc", "web-thing-abc")


def test_what_parts_settle_is_in_no_call_unless_the_create_call_has_it():
    assert "hosts" not in made("OS::Nova::HostAggregate", {"name": "x", "hosts": ["h"]})
    rows = [{"port": "q", "segmentation_id": 1, "segmentation_type": "vlan"}]
    trunk = made("OS::Neutron::Trunk", {"port": "p", "sub_ports": rows})
    assert trunk["sub_ports"] == [
        {"port_id": "q", "segmentation_id": 1, "segmentation_type": "vlan"}
    ]
    assert changed("OS::Neutron::Trunk", {"port": "p"}, {"port": "p", "sub_ports": rows}) == {}


@pytest.mark.parametrize(
    ("name", "field"),
    [("OS::Octavia::AvailabilityZone", "name"), ("OS::Neutron::NetworkGateway", "devices")],
)
def test_a_change_that_replaces_says_why(name, field):
    kind = builtin_types()[name]
    assert kind.must_replace(Change({}, {}, frozenset({field})))
    assert kind.must_replace(Change({}, {}, frozenset())) is None
