"""The comparison itself; `make compare` asks a running Heat and a Hearth the same requests."""

from tests.comparison.differences import KNOWN, Difference, differences
from tests.comparison.run import CLASSES
from tests.comparison.sides import Answer, Request
from tests.comparison.story import steps
from tests.walk.ground import ROUTES


def test_a_difference_is_told_by_its_place():
    one = Answer(200, {"a": [{"name": "x", "b": 1}, {"name": "y"}], "c": None})
    other = Answer(200, {"a": [{"name": "y"}, {"name": "x", "b": 2}], "d": None})
    assert differences(one, one) == []
    assert [found.place for found in differences(one, other)] == ["a[].b", "c", "d"]
    turned = Answer(200, {**one.body, "a": one.body["a"][::-1]})
    assert [found.place for found in differences(one, turned)] == ["order"]
    assert [found.place for found in differences(one, Answer(404, None))] == ["status"]
    nested = [[{"name": "z"}], {"name": "x"}, {"name": "y"}]
    here, there = Answer(200, {"a": nested}), Answer(200, {"a": nested[1:] + nested[:1]})
    assert [found.place for found in differences(here, there)] == ["order"]


def test_no_name_explains_a_success_where_the_original_refuses():
    request = Request("GET", "/stacks/s")
    pair = Answer(404, None), Answer(200, {})
    (found,) = differences(*pair)
    assert not [entry.name for entry in KNOWN if entry.matches(request, found, *pair)]
    lost = Difference("stack.outputs", [1], "<absent>")
    assert not [entry.name for entry in KNOWN if entry.matches(request, lost, *pair)]


def test_names_are_of_the_classes_and_said_once():
    assert {entry.kind for entry in KNOWN} <= set(CLASSES)
    names = [entry.name for entry in KNOWN]
    assert len(names) == len(set(names))


def test_the_story_comes_to_every_route():
    asked = [
        (step.method, step.path.partition("?")[0].strip("/").split("/"))
        for step in steps()
        if isinstance(step, Request)
    ]

    def reached(method: str, path: str) -> bool:
        parts = path.removeprefix("/{tenant_id}").strip("/").split("/")
        return any(
            method == way
            and len(parts) == len(given)
            and all(p == g or p.startswith("{") for p, g in zip(parts, given, strict=True))
            for way, given in asked
        )

    contract = [one for one in ROUTES if not one.beyond_heat]
    assert [f"{o.method} {o.path}" for o in contract if not reached(o.method, o.path)] == []
