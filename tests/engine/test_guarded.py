"""What contains a secret because the template took it from another resource."""

import pytest

from hearth.engine.core.predict import PlannedAction, PredictedWorld
from hearth.engine.core.record import COLLECTED, Held, Record
from hearth.engine.guarded import (
    guarded_names,
    guards,
    guards_reference,
    hidden_names,
)
from hearth.model.state import Action, Status
from hearth.resources.heat.group import COLLECTING
from hearth.resources.registry import builtin_types
from hearth.template.evaluated import METADATA

TYPES = builtin_types()
VALUE, GROUP = "OS::Heat::Value", "OS::Heat::ResourceGroup"
GIVEN = Held(guarded=("value",))
INNER = Held(guarded_outputs=("told",))
HIDING = Held(guarded_outputs=("told",), hidden_outputs=("told",))


@pytest.mark.parametrize(
    ("type_name", "held", "attribute", "guarded"),
    [
        ("OS::Nova::KeyPair", Held(), "private_key", True),
        ("OS::Nova::KeyPair", Held(), "public_key", False),
        (VALUE, Held(), "value", False),
        (VALUE, GIVEN, "value", True),
        (VALUE, GIVEN, "show", True),
        ("OS::Nova::Server", Held(guarded=("user_data",)), "first_address", False),
        ("OS::Nova::Server", Held(guarded=(METADATA,)), "name", False),
        (GROUP, Held(), "resource.0.value", True),
        (GROUP, INNER, "told", True),
        (GROUP, INNER, "attributes", True),
        (GROUP, INNER, "refs", False),
        (GROUP, GIVEN, "refs", True),
        ("AWS::CloudFormation::Stack", INNER, "Outputs.told", True),
        ("AWS::CloudFormation::Stack", INNER, "Outputs.other", False),
    ],
)
def test_an_attribute(type_name: str, held: Held, attribute: str, guarded: bool) -> None:
    assert guards(held, TYPES[type_name], attribute) is guarded


@pytest.mark.parametrize(
    ("held", "attribute", "hidden"),
    [
        (INNER, "told", False),
        (HIDING, "told", True),
        (HIDING, "other", False),
        (HIDING, "attributes", True),
        (INNER, "attributes", False),
        (HIDING, "resource.0.told", True),
        (HIDING, "resource.0.other", False),
        (HIDING, "Outputs.told", True),
        (HIDING, "Outputs.other", False),
    ],
)
def test_an_attribute_with_hidden_values(held: Held, attribute: str, hidden: bool) -> None:
    assert held.hides(attribute) is hidden


def test_a_prediction_knows_hidden_outputs() -> None:
    done = Action.CREATE, Status.COMPLETE
    record = Record("id", "child", GROUP, 1, 1.0, *done, physical_id="it", held=HIDING)
    world = PredictedWorld()
    world.add("child", record, PlannedAction.KEEP)
    assert world.secret("child", "told")
    assert not world.secret("child", "other")


def test_what_collects_from_members_is_the_same_for_hidden_values() -> None:
    assert COLLECTING.keys() == COLLECTED


def test_of_an_unknown_type_the_properties_of_the_same_name_count() -> None:
    assert guards(GIVEN, None, "value")
    assert not guards(GIVEN, None, "other")


def test_a_reference() -> None:
    assert guards_reference(Held(), TYPES["OS::Heat::RandomString"])
    assert not guards_reference(Held(), TYPES[VALUE])
    outside = Held(guarded_outputs=("OS::stack_id",))
    assert guards_reference(outside, TYPES["AWS::CloudFormation::Stack"])
    assert not guards_reference(INNER, TYPES["AWS::CloudFormation::Stack"])


def test_the_attributes_of_a_group_by_those_of_a_member() -> None:
    recorded = {"value": "x", "show": None}
    member = Held(attributes=recorded)
    assert guarded_names(member, TYPES[VALUE]) == set()
    assert guarded_names(member, TYPES["OS::Heat::RandomString"]) == {"value", "refs", "refs_map"}
    hidden = Held(attributes=recorded, secret=("value",))
    assert guarded_names(hidden, TYPES[VALUE]) == {"value", "show", "refs", "refs_map"}


def test_the_attributes_of_a_group_that_hide_by_those_of_a_member() -> None:
    recorded = {"value": "x", "told": "y"}
    assert hidden_names(Held(attributes=recorded)) == set()
    hidden = Held(attributes=recorded, secret=("value",))
    assert hidden_names(hidden) == {*recorded, "refs", "refs_map"}
    nested = Held(attributes=recorded, guarded_outputs=("value",), hidden_outputs=("told",))
    assert hidden_names(nested) == {"told"}
