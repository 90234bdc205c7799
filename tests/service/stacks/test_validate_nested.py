"""What a validation shows of nested stacks, and what it leaves to a create."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, Inside

from hearth.model.problem import Rejected
from hearth.service.stacks.create import create_stack
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.validate import validate
from tests.service.stacks.test_types_used import Rules, played, refusal

KID = """
heat_template_version: 2018-08-31
parameters:
  a: {type: string, default: d}
  l: {type: comma_delimited_list, default: "x,y"}
  j: {type: json, default: {k: 1}}
"""
MADE, LATER = {"get_resource": "other"}, {"get_attr": ["other", "value"]}
OTHER = {"type": "OS::Heat::RandomString"}


def validated(path: Path, resources: Any, kid: str = KID, *, cfn: bool = False) -> Any:
    """The nested parameters, or the problems."""
    hot = {"heat_template_version": "2018-08-31", "resources": resources}
    old = {"HeatTemplateFormatVersion": "2012-12-12", "Resources": resources}
    request = StackRequest(json.dumps(old if cfn else hot), files={"kid.yaml": kid})

    async def story(running: Inside, rules: Rules) -> Any:
        rules.in_force = False
        try:
            shown = await validate(
                running.services, CALLER, request, show_nested=True, any_service=True
            )
        except Rejected as rejected:
            return [one.text for one in rejected.problems]
        return shown.get("NestedParameters", {})

    return played(path, story)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"a": MADE}, {"a": "other"}),
        ({"a": LATER}, {}),
        ({"a": {"list_join": ["-", [MADE, LATER, "x"]]}}, {"a": "other--x"}),
        ({"l": ["x", "y"]}, {"l": "x,y"}),
        ({"l": "x,y"}, {"l": "x,y"}),
        ({"l": [MADE, LATER, "b"]}, {"l": "other,,b"}),
        ({"j": {"k": MADE, "i": LATER}}, {"j": {"k": "other", "i": None}}),
        ({"l": []}, {}),
    ],
)
def test_nested_parameters_have_the_values_before_anything_exists(
    tmp_path: Path, given: Any, shown: Any
) -> None:
    kid = {"type": "kid.yaml", "properties": given}
    parameters = validated(tmp_path, {"other": OTHER, "kid": kid})["kid"]["Parameters"]
    values = {name: one["Value"] for name, one in parameters.items() if "Value" in one}
    assert values == shown


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("ResourceChain", {"resources": []}),
        ("SoftwareDeploymentGroup", {"config": "c", "servers": {}}),
        ("SoftwareDeploymentGroup", {"config": "c", "servers": LATER}),
    ],
)
def test_a_group_whose_members_are_not_known_is_shown(
    tmp_path: Path, kind: str, properties: Any
) -> None:
    group = {"type": f"OS::Heat::{kind}", "properties": properties}
    shown = validated(tmp_path, {"other": OTHER, "g": group})
    assert shown == {
        "g": {"Type": f"OS::Heat::{kind}", "Description": "No description", "Parameters": {}}
    }


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("ResourceGroup", {"count": 0, "resource_def": {"type": "kid.yaml"}}),
        ("AutoScalingGroup", {"min_size": 0, "max_size": 1, "resource": {"type": "kid.yaml"}}),
    ],
)
def test_an_empty_group_is_shown_with_one_member(
    tmp_path: Path, kind: str, properties: Any
) -> None:
    shown = validated(tmp_path, {"g": {"type": f"OS::Heat::{kind}", "properties": properties}})
    assert list(shown["g"]["NestedParameters"]["0"]["Parameters"]) == ["a", "l", "j"]


GROUPS = [
    ("ResourceGroup", {"count": 1}, "resource_def"),
    ("ResourceGroup", {"count": 0}, "resource_def"),
    ("AutoScalingGroup", {"min_size": 1, "max_size": 1}, "resource"),
]


@pytest.mark.parametrize(("kind", "properties", "member"), GROUPS)
@pytest.mark.parametrize(
    "kid",
    [
        KID.replace("default: d", "default: d, constraints: [{allowed_values: [x]}]"),
        KID + f"resources: {{r: {{type: {OTHER['type']}, properties: {{lenght: 1}}}}}}",
        KID.replace("a:", "b:"),
    ],
)
def test_what_is_left_to_the_create_is_so_in_groups(
    tmp_path: Path, kind: str, properties: Any, member: str, kid: str
) -> None:
    one = {"type": "kid.yaml", "properties": {"a": "d"}}
    group = {"type": f"OS::Heat::{kind}", "properties": {**properties, member: one}}
    shown = validated(tmp_path, {"g": group}, kid)["g"]["NestedParameters"]["0"]["Parameters"]
    assert len(shown) == 3

    if 0 in properties.values():
        return  # without members, a create has nothing to refuse

    async def story(running: Inside, rules: Rules) -> str:
        rules.in_force = False
        template = json.dumps({"heat_template_version": "2018-08-31", "resources": {"g": group}})
        request = StackRequest(template, files={"kid.yaml": kid})
        return await refusal(create_stack(running.services, CALLER, "s", request))

    (tmp_path / "create").mkdir()
    assert played(tmp_path / "create", story) != "accepted"


@pytest.mark.parametrize("wrong", [{"a": 1}, {"a": MADE}, {"a": LATER}, [LATER]])
@pytest.mark.parametrize("value", [MADE, LATER])
def test_values_before_anything_exists_beside_a_value_of_the_wrong_type(
    tmp_path: Path, wrong: Any, value: Any
) -> None:
    kid = KID + "  n: {type: number}\n"
    one = {"type": "kid.yaml", "properties": {"a": value, "n": wrong}}
    groups = {
        f"g{number}": {"type": f"OS::Heat::{kind}", "properties": {**properties, member: one}}
        for number, (kind, properties, member) in enumerate(GROUPS)
    }
    shown = validated(tmp_path, {"other": OTHER, "kid": one, **groups}, kid)
    assert json.loads(json.dumps(shown)) == shown
    assert shown["kid"]["Parameters"]["a"].get("Value") == ("other" if value == MADE else None)


def test_a_bad_default_of_a_nested_template_is_left_to_the_create(tmp_path: Path) -> None:
    kid = KID.replace("default: d", "default: d, constraints: [{allowed_values: [x]}]")
    shown = validated(tmp_path, {"kid": {"type": "kid.yaml"}}, kid)
    assert shown["kid"]["Parameters"]["a"]["Default"] == "d"


def test_a_ref_to_nothing_is_left_to_the_create_and_other_references_are_not(
    tmp_path: Path,
) -> None:
    def using(call: Any) -> Any:
        return {"a": {"Type": "OS::Heat::RandomString", "Properties": {"salt": call}}}

    joined = {"Fn::Join": ["", ["a", {"Ref": "Nothing"}]]}
    for call in ({"Ref": "Nothing"}, joined):
        assert validated(tmp_path, using(call), cfn=True) == {}
    missing = 'there is no resource "Nothing"'
    assert validated(tmp_path, using({"Fn::GetAtt": ["Nothing", "x"]}), cfn=True) == [missing]
    made = {"a": {**OTHER, "properties": {"salt": {"get_resource": "Nothing"}}}}
    assert validated(tmp_path, made) == [missing]
