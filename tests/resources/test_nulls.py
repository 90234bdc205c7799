"""A resource without an object is deleted without the values of its required properties.

An earlier release accepted null for them, and stored such resources.
"""

import asyncio

import pytest

from hearth.engine.worker.node import orphans
from hearth.model.state import Action
from hearth.resources.actions import action_steps
from hearth.resources.base import ResourceContext, StackFacts
from tests.types.case import kinds


def required_of(kind):
    return [name for name, prop in kind.properties.items() if prop.required and not prop.nullable]


def context_of(kind, properties, **more):
    return ResourceContext(
        record_id="r", name="thing", type_name=kind.name, stack=StackFacts("s", "web", "p"),
        action=Action.DELETE, physical_id=None, physical_name="web-thing", key="k",
        properties=properties, cloud=None, kind=kind, **more,
    )  # fmt: skip


CASES = [(kind, name) for kind in kinds().values() for name in required_of(kind)]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{k.name}.{n}" for k, n in CASES])
def test_nothing_is_called_for_a_resource_without_an_object_and_a_required_value(kind, name):
    properties = {**dict.fromkeys(required_of(kind), "x"), name: None}
    ctx = context_of(kind, properties)  # there is no cloud, so each call would fail
    assert action_steps(kind, Action.DELETE, ctx) == ()
    assert asyncio.run(orphans.search(None, kind, ctx)) == ()


def test_what_is_recorded_of_a_resource_is_deleted_whatever_its_properties_are():
    kind = kinds()["OS::Neutron::RouterInterface"]
    recorded = context_of(kind, {})
    recorded.physical_id = "router:subnet_id=subnet"
    assert [step.name for step in action_steps(kind, Action.DELETE, recorded)] == ["detach"]


def test_what_an_earlier_step_recorded_is_deleted_without_a_required_value():
    kind = kinds()["OS::Heat::SoftwareDeployment"]
    assert action_steps(kind, Action.DELETE, context_of(kind, {}, data={"user_id": "u"}))
