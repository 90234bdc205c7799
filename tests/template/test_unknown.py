"""What is not known yet stays Unknown on its way into nested stacks; it never becomes null."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.model.unknown import UNKNOWN, Unknown
from hearth.resources.capabilities import NestedType
from hearth.resources.registry import builtin_types, default_catalog
from hearth.template import NOWHERE, Environment, Program, compile_template

READ = {"get_attr": ["h", "value"]}
VERSION = "2018-08-31"
TEXTS = st.sampled_from(["", "a", "n-%index%", "get_attr"])
KEYS = st.sampled_from(["k", "l", "m"])


def around(inner: Any) -> Any:
    """A list or map with `inner` somewhere in it."""
    beside = st.lists(TEXTS, max_size=2)
    lists = st.tuples(beside, inner, beside).map(lambda parts: [*parts[0], parts[1], *parts[2]])
    maps = st.tuples(st.dictionaries(KEYS, TEXTS, max_size=2), KEYS, inner).map(
        lambda parts: {**parts[0], parts[1]: parts[2]}
    )
    return lists | maps


VALUES = st.recursive(st.just(READ), around, max_leaves=5).map(lambda value: {"top": value})
NESTS = {
    "OS::Heat::ResourceGroup": lambda member: {"count": 2, "resource_def": member},
    "OS::Heat::AutoScalingGroup": lambda member: {
        "min_size": 2,
        "max_size": 3,
        "resource": member,
    },
    "OS::Heat::ResourceChain": lambda member: {
        "resources": [member["type"]] * 2,
        "resource_properties": member["properties"],
    },
    **dict.fromkeys(
        (
            "AWS::CloudWatch::Alarm",
            "OS::Heat::SoftwareDeploymentGroup",
            "OS::Heat::SoftwareDeployments",
            "OS::Heat::StructuredDeploymentGroup",
            "OS::Heat::StructuredDeployments",
        )
    ),
    "child.yaml": None,
}
"""What makes a child of its properties; None: what the members are is given in another way."""
OF_MEMBERS = sorted(name for name, make in NESTS.items() if make or name == "child.yaml")
CHILD = "child.yaml"


def template(resources: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {"heat_template_version": VERSION, **sections, "resources": resources}


def nested(value: Any, nests: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """A resource whose value is inside these nests, outer ones first, and the files for it."""
    files: dict[str, str] = {}
    seen = {"get_param": "v"} if CHILD in nests else value
    member: dict[str, Any] = {"type": "OS::Heat::Value", "properties": {"value": seen}}
    for depth, nest in enumerate(reversed(nests)):
        if nest != CHILD:
            member = {"type": nest, "properties": NESTS[nest](member)}
            continue
        name = f"{depth}-{CHILD}"
        files[name] = json.dumps(template({"in": member}, parameters={"v": {"type": "json"}}))
        outer = value if CHILD not in nests[: len(nests) - 1 - depth] else {"get_param": "v"}
        member = {"type": name, "properties": {"v": outer}}
    return member, files


def program_of(member: dict[str, Any], files: dict[str, str]) -> Program:
    made = {"h": {"type": "OS::Heat::RandomString"}, "g": member}
    module = compile_template(
        template(made), files=files, environment=Environment.parse({}), catalog=default_catalog()
    )
    return module.specialise({}, stack_name="s")


def innermost(program: Program, name: str, depth: int) -> Any:
    """The properties of the first resource inside so many nests, before anything is made."""
    definition = program.resources[name]
    evaluated = definition.evaluate(NOWHERE)
    if not depth:
        return evaluated.properties
    below = program.inside(definition, evaluated)
    assert below is not None
    return innermost(below, next(iter(below.resources)), depth - 1)


def expected(value: Any, *, counted: bool) -> Any:
    if value == READ:
        return UNKNOWN
    match value:
        case str():
            return value.replace("%index%", "0") if counted else value
        case dict():
            return {key: expected(inner, counted=counted) for key, inner in value.items()}
        case _:
            return [expected(inner, counted=counted) for inner in value]


def anonymous(value: Any) -> Any:
    """The value with all unknowns alike."""
    match value:
        case Unknown():
            return UNKNOWN
        case dict():
            return {key: anonymous(inner) for key, inner in value.items()}
        case list():
            return [anonymous(inner) for inner in value]
        case _:
            return value


@given(VALUES, st.lists(st.sampled_from(OF_MEMBERS), min_size=1, max_size=3))
def test_no_null_stands_for_what_is_not_known(value, nests):
    program = program_of(*nested(value, nests))

    seen = innermost(program, "g", len(nests))

    counted = "OS::Heat::ResourceGroup" in nests
    assert anonymous(seen["value"]) == expected(value, counted=counted)
    assert program.check_values(NOWHERE).problems == []


def test_every_type_that_makes_a_child_of_its_properties_is_among_the_nests():
    types = builtin_types()
    made = {
        name
        for name in types
        if isinstance(types[name], NestedType)
        and type(types[name]).nested_definition is not NestedType.nested_definition
    }
    assert made == NESTS.keys() - {CHILD}


WHOLE = {"get_attr": ["m", "value"]}
PART = {
    "count": ("OS::Heat::ResourceGroup", {"count": WHOLE, "resource_def": {"type": "c.yaml"}}),
    "type": ("OS::Heat::ResourceGroup", {"resource_def": {"type": WHOLE}}),
    "definition": ("OS::Heat::ResourceGroup", {"resource_def": WHOLE}),
    "properties": (
        "OS::Heat::ResourceGroup",
        {"resource_def": {"type": "c.yaml", "properties": WHOLE}},
    ),
    "metadata": (
        "OS::Heat::ResourceGroup",
        {"resource_def": {"type": "OS::Heat::None", "metadata": WHOLE}},
    ),
    "index variable": (
        "OS::Heat::ResourceGroup",
        {
            "index_var": WHOLE,
            "resource_def": {"type": "OS::Heat::RandomString", "properties": {"length": "%i%"}},
        },
    ),
    "size": (
        "OS::Heat::AutoScalingGroup",
        {"min_size": WHOLE, "max_size": WHOLE, "resource": {"type": "OS::Heat::None"}},
    ),
    "desired": (
        "OS::Heat::AutoScalingGroup",
        {
            "min_size": 0,
            "max_size": 3,
            "desired_capacity": WHOLE,
            "resource": {"type": "OS::Heat::None", "properties": WHOLE},
        },
    ),
    "resource": ("OS::Heat::AutoScalingGroup", {"min_size": 1, "max_size": 3, "resource": WHOLE}),
    "policy": (
        "OS::Heat::AutoScalingGroup",
        {
            "min_size": 1,
            "max_size": 3,
            "resource": {"type": "OS::Heat::None", "deletion_policy": WHOLE, "depends_on": WHOLE},
        },
    ),
    "types": ("OS::Heat::ResourceChain", {"resources": WHOLE}),
    "one type": ("OS::Heat::ResourceChain", {"resources": [WHOLE, "OS::Heat::None"]}),
    "shared properties": (
        "OS::Heat::ResourceChain",
        {"resources": ["c.yaml"], "resource_properties": WHOLE},
    ),
}
"""Parts of a nest that are not known as a whole."""


@pytest.mark.parametrize("part", PART)
@pytest.mark.parametrize("below", [False, True], ids=["directly", "through-a-parameter"])
def test_what_a_nest_is_made_of_may_be_unknown_as_a_whole(part, below):
    kind, properties = PART[part]
    files = {
        "c.yaml": json.dumps(
            template(
                {"r": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "w"}}}},
                parameters={"w": {"type": "string"}},
            )
        )
    }
    if part == "count":
        properties["resource_def"]["properties"] = {"w": READ}
    member = {"type": kind, "properties": properties}
    if below:
        inner = json.loads(json.dumps(member).replace(json.dumps(WHOLE), '{"get_param": "v"}'))
        inner = json.loads(json.dumps(inner).replace(json.dumps(READ), '"x"'))
        resource = template({"in": inner}, parameters={"v": {"type": "string"}})
        files["p.yaml"] = json.dumps(resource)
        member = {"type": "p.yaml", "properties": {"v": WHOLE}}
    made = {
        "h": {"type": "OS::Heat::RandomString"},
        "m": {"type": "OS::Heat::Value", "properties": {"value": "x"}},
        "g": member,
    }
    module = compile_template(
        template(made), files=files, environment=Environment.parse({}), catalog=default_catalog()
    )
    program = module.specialise({}, stack_name="s")
    assert program.check_values(NOWHERE).problems == []


def test_a_mistake_beside_an_unknown_value_is_still_told():
    member = {
        "type": "OS::Heat::RandomString",
        "properties": {"salt": READ, "length": "many"},
    }
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": member}}
    [problem] = program_of(group, {}).check_values(NOWHERE).problems
    assert '"many" is not an integer' in problem.message


def test_a_property_that_a_member_lacks_is_told_beside_unknown_ones():
    member = {"type": "c.yaml", "properties": {"given": READ}}
    text = json.dumps(
        template({}, parameters={"given": {"type": "string"}, "lacking": {"type": "string"}})
    )
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": member}}
    [problem] = program_of(group, {"c.yaml": text}).check_values(NOWHERE).problems
    assert "lacking" in problem.message
