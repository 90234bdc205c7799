"""Groups: members, removal, what is shown of them."""

import asyncio
import json

import pytest

from hearth.resources.heat.resource_group import member_names
from hearth.resources.registry import default_catalog
from hearth.template import Environment, compile_template
from hearth.template.world import NOWHERE
from tests.resources.fake import context_of

GROUP = "OS::Heat::ResourceGroup"
MEMBER = {"type": "OS::Nova::Server", "properties": {"name": "web-%index%", "n": [1, "%index%"]}}


def group(properties, **more):
    return context_of(GROUP, {"resource_def": MEMBER, **properties}, **more)


def names(ctx):
    return list(ctx.kind.child(ctx).template["resources"])


def test_members_are_numbered_and_their_texts_filled_in():
    ctx = group({"count": 2})
    members = ctx.kind.child(ctx).template["resources"]
    assert list(members) == ["0", "1"]
    assert members["1"]["properties"] == {"name": "web-1", "n": [1, "1"]}


def test_keys_of_a_scaled_member_that_have_no_effect_are_ignored():
    kept = {"type": "OS::Heat::Value", "deletion_policy": "Retain", "metadata": {"a": 1}}
    ignored = {"propertes": {}, "condition": "no", "external_id": "x", "depends_on": "y"}
    sizes = {"min_size": 1, "max_size": 2}
    ctx = context_of(
        "OS::Heat::AutoScalingGroup", {"resource": {**kept, **ignored}, **sizes}, new_id=lambda: "m"
    )
    assert [*ctx.kind.child(ctx).template["resources"].values()] == [kept]
    assert ctx.kind.nested_definition(ctx.properties)["resources"] == {"0": kept}


def test_removed_names_are_skipped_and_replaced_by_the_next_free_ones():
    assert member_names(3, ["1"]) == ["0", "2", "3"]


def test_a_removal_takes_effect_at_unchanged_count_and_is_kept():
    policies = [{"resource_list": ["1", "id-2", "unknown"]}]
    members = {str(n): {"reference": f"id-{n}", "attributes": {}} for n in range(3)}
    ctx = group({"count": 3, "removal_policies": policies}, physical_id="child", members=members)
    child = ctx.kind.child(ctx)
    assert list(child.template["resources"]) == ["0", "3", "4"]
    assert json.loads(child.data["name_blacklist"]) == ["1", "2"]
    later = group({"count": 3}, physical_id="child", data=dict(child.data))
    assert names(later) == ["0", "3", "4"]


def test_a_group_with_removal_policies_tells_the_references_of_its_members():
    ctx = group({"count": 2, "removal_policies": [{"resource_list": []}]})
    expected = {"0": {"get_resource": "0"}, "1": {"get_resource": "1"}}
    assert ctx.kind.child(ctx).template["outputs"] == {"refs_map": {"value": expected}}
    assert "outputs" not in group({"count": 2}).kind.child(group({"count": 2})).template


def test_mode_update_decides_anew():
    kept = {"name_blacklist": '["1"]'}
    ctx = group({"count": 2, "removal_policies_mode": "update"}, physical_id="child", data=kept)
    assert names(ctx) == ["0", "1"]


def test_what_is_shown_of_members():
    members = {
        "10": {"reference": "k", "attributes": {"ip": "10"}},
        "2": {"reference": "c", "attributes": {"ip": "2"}},
    }
    ctx = group({"count": 2}, members=members, physical_id="child")

    def shown(name):
        return asyncio.run(ctx.kind.attribute(ctx, name))

    assert shown("refs") == ["c", "k"]
    assert shown("refs_map") == {"2": "c", "10": "k"}
    assert shown("attributes") == {"ip": {"2": "2", "10": "10"}}
    assert shown("ip") == ["2", "10"]
    assert shown("resource.10") == "k"
    assert shown("resource.10.ip") == "10"
    with pytest.raises(LookupError, match="the group has no member '7'"):
        shown("resource.7")


def test_steps_into_an_attribute_of_members_are_taken_in_each():
    kind = group({}).kind
    disks = [{"size": 1}, {"size": 2}, None]
    assert kind.within("disk", disks, ["size"]) == [1, 2, None]
    by_name = {"disk": {"0": disks[0], "1": disks[1]}}
    assert kind.within("attributes", by_name, ["disk", "size"]) == {"0": 1, "1": 2}
    assert kind.within("attributes", by_name, ["disk"]) == by_name["disk"]
    assert kind.within("attributes", by_name, ["other"]) is None
    assert kind.within("refs_map", {"0": "r"}, ["0"]) == "r"
    assert kind.within("refs", ["r", "q"], [1]) == "q"
    assert kind.within("disk", None, ["size"]) is None


def test_what_a_group_without_members_collects_is_empty():
    kind = group({}).kind
    assert kind.within("attributes", {}, ["other"]) == {}
    assert kind.within("attributes", {}, ["other", "size"]) == {}
    assert kind.within("outputs", {}, ["other"]) == {}
    assert kind.within("outputs_list", {}, ["other", 0]) == []
    assert kind.within("attributes", None, ["other"]) is None


def test_one_member_stands_for_all_in_validation_and_none_for_none():
    kind = group({}).kind
    assert list(kind.nested_definition({"count": 9, "resource_def": MEMBER})["resources"]) == ["0"]
    assert kind.nested_definition({"count": 0, "resource_def": MEMBER}) is None


def test_a_reference_in_a_member_is_no_name_to_look_for_before_it_is_known():
    def looked_for(network):
        template = (
            "heat_template_version: 2021-04-16\n"
            "resources:\n  net: {type: OS::Neutron::Net}\n  g:\n    type: OS::Heat::ResourceGroup\n"
            "    properties:\n      resource_def:\n        type: OS::Neutron::Port\n"
            f"        properties: {{network: {network}, qos_policy: slow}}\n"
        )
        module = compile_template(
            template, files={}, environment=Environment.parse({}), catalog=default_catalog()
        )
        program = module.specialise({}, stack_name="s", project_id="p")
        return {look.value for look in program.check_values(NOWHERE).lookups}

    assert looked_for("{get_resource: net}") == {"slow"}
    assert looked_for("net") == {"net", "slow"}
