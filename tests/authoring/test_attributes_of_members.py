"""An attribute that the members of a group do not have is refused by a create and by lint."""

import json
from typing import Any

import pytest

from tests.authoring.test_agreement import linted, refused

RANDOM = {"type": "OS::Heat::RandomString"}
CHAIN = ("OS::Heat::ResourceChain", {"resources": ["OS::Heat::RandomString"]})
KID = json.dumps(
    {"heat_template_version": "rocky", "outputs": {"o": {"value": 1}}, "resources": {"r": RANDOM}}
)


def group(member: Any, count: Any = 2) -> tuple[str, dict[str, Any]]:
    return "OS::Heat::ResourceGroup", {"count": count, "resource_def": member}


def scaled(member: Any) -> tuple[str, dict[str, Any]]:
    return "OS::Heat::AutoScalingGroup", {"min_size": 1, "max_size": 3, "resource": member}


def template(kind: str, properties: dict[str, Any], read: list[Any], *, output: bool) -> str:
    call = {"get_attr": ["g", *read]}
    document: dict[str, Any] = {
        "heat_template_version": "2018-08-31",
        "resources": {"g": {"type": kind, "properties": properties}},
    }
    if output:
        document["outputs"] = {"o": {"value": call}}
    else:
        document["resources"]["v"] = {"type": "OS::Heat::Value", "properties": {"value": call}}
    return json.dumps(document)


STACK = {"type": "OS::Heat::Stack", "properties": {"template": KID}}
REFUSED = [
    (*group(RANDOM), ["nope"]),
    (*group(RANDOM), ["nope", 0]),
    (*group(RANDOM), ["attributes", "nope"]),
    (*group(RANDOM), ["resource.0.nope"]),
    (*group(RANDOM), ["resource.0", "nope"]),
    (*group(STACK), ["nope"]),
    (*scaled(RANDOM), ["outputs", "nope"]),
    (*scaled(RANDOM), ["outputs_list", "nope", 0]),
    (*scaled(RANDOM), ["resource.0.nope"]),
]
ONLY_WITH_VALUES = [
    (*CHAIN, ["nope"]),
    (*CHAIN, ["attributes", "nope"]),
    (*CHAIN, ["resource.0.nope"]),
]
ACCEPTED = [
    (*group(RANDOM), ["value"]),
    (*group(RANDOM), ["show"]),
    (*group(RANDOM), ["refs", 0]),
    (*group(RANDOM), ["attributes"]),
    (*group(RANDOM), ["attributes", "value"]),
    (*group(RANDOM), ["resource.0"]),
    (*group(RANDOM), ["resource.0.value"]),
    (*group({"type": "OS::Heat::None"}), ["nope"]),
    (*scaled(RANDOM), ["nope"]),
    (*scaled(RANDOM), ["current_size"]),
    (*scaled(RANDOM), ["outputs_list", "value"]),
    (*CHAIN, ["value"]),
]


def ids(rows: Any) -> list[str]:
    return [f"{row[0]}-{row[2]}" for row in rows]


@pytest.mark.parametrize("output", [True, False])
@pytest.mark.parametrize(
    ("kind", "properties", "read"),
    REFUSED + ONLY_WITH_VALUES,
    ids=ids(REFUSED + ONLY_WITH_VALUES),
)
def test_what_no_member_has_is_refused(kind: str, properties: Any, read: Any, output: bool) -> None:
    text = template(kind, properties, read, output=output)
    words = 'the members of "g" have no attribute "nope"'
    assert refused(text) == [words]
    if (kind, properties, read) in REFUSED:
        assert linted(text) == [words]


@pytest.mark.parametrize("output", [True, False])
@pytest.mark.parametrize(("kind", "properties", "read"), ACCEPTED, ids=ids(ACCEPTED))
def test_what_members_have_is_accepted(kind: str, properties: Any, read: Any, output: bool) -> None:
    text = template(kind, properties, read, output=output)
    assert refused(text) == linted(text) == []


def test_a_group_without_members_may_be_asked_for_anything() -> None:
    kind, properties = group(RANDOM, 0)
    assert refused(template(kind, properties, ["nope"], output=True)) == []
