"""A wrong name in the declarations of a type fails when its class is created."""

from typing import Any

import pytest

from hearth.resources.collection import Collection, CollectionResource, Elsewhere
from hearth.resources.declarations import WrongDeclaration
from hearth.resources.neutron.order import Legs, Subnets
from hearth.resources.parts import Call, Entries
from hearth.schema import (
    LIST,
    MAP,
    STRING,
    AtMostOne,
    Attr,
    Custom,
    Distinct,
    Each,
    Needs,
    NotAbove,
    Plain,
    Prop,
    Resolve,
    Where,
)

NAME = "Acme::Share"
ROW = Prop(MAP, "A rule.", schema={"access": Prop(STRING, "Who."), "level": Prop(STRING, "What.")})
RIGHT: dict[str, Any] = {
    "__module__": __name__,
    "type_name": NAME,
    "collection": Collection("share", "/shares", body="share"),
    "properties": {
        "network": Prop(STRING, "Its network.", constraint="neutron.network"),
        "rules": Prop(LIST, "Who may use it.", schema=ROW),
        "size": Prop(STRING, "Gigabytes."),
    },
    "attributes": {"export": Attr(STRING, "Its address.")},
}
CALL = Call("PUT", "/shares/{id}")


def first(declared: dict[str, Any]) -> str:
    return next(iter(declared))


def share(**declared: Any) -> Any:
    """Return the class of a type with these declarations."""
    return type("Share", (CollectionResource,), {**RIGHT, **declared})


@pytest.mark.parametrize(
    "declared",
    [
        {"not_sent": frozenset({"sizes"})},
        {"hidden_properties": frozenset({"sizes"})},
        {"unobserved": {"sizes": "because"}},
        {"ends_with": "sizes"},
        {"member_property": "sizes"},
        {"mirrors": {"export": "sizes"}},
        {"collection": Collection("share", "/networks/{sizes}/shares", body="share")},
        {"parts": (Entries(property="sizes", put=CALL),)},
        {"parts": (Entries(property="size", unless="sizes", put=CALL),)},
        {"relations": (AtMostOne("sizes", "network"),)},
        {"relations": (Needs("network", "sizes"),)},
        {"relations": (NotAbove("sizes", 3),)},
        {"relations": (Where("network", ("x",), Plain(Needs("sizes", "network"))),)},
        {"translation": (Resolve(("sizes",), "neutron.network"),)},
        {"comes_after": (Subnets(("sizes",)),)},
        {"comes_after": (Legs(("sizes",)),)},
    ],
    ids=first,
)
def test_a_wrong_property_is_named_with_the_one_that_may_be_meant(declared: dict[str, Any]):
    with pytest.raises(WrongDeclaration) as raised:
        share(**declared)
    place = next(iter(declared))
    words = 'there is no property "sizes"; did you mean size? (network, rules, size)'
    assert str(raised.value).startswith(f"{NAME}: {place}")
    assert str(raised.value).endswith(words)


@pytest.mark.parametrize(
    "declared",
    [
        {"renamed": {"rules.acces": "access_to"}},
        {"relations": (Each("rules", AtMostOne("acces", "level")),)},
        {"relations": (Distinct("rules", "acces"),)},
    ],
    ids=first,
)
def test_a_wrong_entry_of_a_property_is_named(declared: dict[str, Any]):
    with pytest.raises(WrongDeclaration) as raised:
        share(**declared)
    words = '.rules: there is no property "acces"; did you mean access? (access, level)'
    assert str(raised.value) == f"{NAME}: {next(iter(declared))}{words}"


@pytest.mark.parametrize(
    "declared", [{"elsewhere": {"exports": Elsewhere("/x")}}, {"mirrors": {"exports": "size"}}]
)
def test_a_wrong_attribute_is_named(declared: dict[str, Any]):
    words = 'there is no attribute "exports"; did you mean export? (export, show)'
    with pytest.raises(WrongDeclaration) as raised:
        share(**declared)
    assert str(raised.value) == f"{NAME}: {next(iter(declared))}: {words}"


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        ({"properties": {"a": Prop(STRING, constraint="manila.shar")}}, "properties.a"),
        (
            {"properties": {"a": Prop(LIST, schema=Prop(STRING, constraint="manila.shar"))}},
            "properties.a.*",
        ),
        (
            {"properties": {"a": Prop(MAP, schema={"b": Prop(STRING, constraint="manila.shar")})}},
            "properties.a.b",
        ),
        (
            {"properties": {"a": Prop(STRING, constraints=(Custom("manila.shar"),))}},
            "properties.a",
        ),
        ({"translation": (Resolve(("size",), "manila.shar"),)}, "translation"),
    ],
)
def test_a_wrong_constraint_is_named_with_the_property(declared: dict[str, Any], place: str):
    with pytest.raises(WrongDeclaration) as raised:
        share(**declared)
    words = 'there is no constraint "manila.shar"; did you mean manila.share_type?'
    assert str(raised.value).startswith(f"{NAME}: {place}: {words} (barbican.container, ")


@pytest.mark.parametrize("place", ["ready", "failing", "under_way", "staying"])
def test_states_are_in_capitals(place: str):
    states: Any = {place: frozenset({"AVAILABLE", "available"})}
    with pytest.raises(WrongDeclaration) as raised:
        share(collection=Collection("share", "/shares", body="share", **states))
    assert str(raised.value) == (
        f"{NAME}: collection.{place}: states are compared in capitals: "
        'expected "AVAILABLE", got "available"'
    )


def test_right_names_are_accepted():
    share(
        not_sent=frozenset({"size"}),
        renamed={"rules.access": "access_to", "network": "network_id"},
        relations=(Each("rules", AtMostOne("access", "level")), AtMostOne("size", "network")),
        translation=(Resolve(("network",), "neutron.{size}"),),
        mirrors={"export": "size"},
        elsewhere={"export": Elsewhere("/x")},
        parts=(Entries(property="size", put=CALL),),
    )


def test_a_type_without_a_schema_may_name_any_property():
    share(accepts_any_property=True, not_sent=frozenset({"sizes"}))
