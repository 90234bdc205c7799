"""What a request asks for, before anything is stored."""

import pytest

from hearth.service.stacks.request import StackRequest, revision_of
from hearth.store.rows import Revision
from hearth.template.environment import Environment

TEMPLATE = "heat_template_version: 2021-04-16\nparameters: {l: {type: comma_delimited_list}}\n"


@pytest.mark.parametrize(
    ("strategy", "value"), [("merge", ["a", "b"]), ("overwrite", "a"), (None, "a")]
)
def test_a_value_of_the_request_is_merged_where_a_file_says_so_and_wins_elsewhere(strategy, value):
    chosen = f"parameter_merge_strategies: {{l: {strategy}}}\n" if strategy else ""
    request = StackRequest(
        template=TEMPLATE,
        parameters={"l": "a"},
        files={"e.yaml": f"{chosen}parameters: {{l: b}}\n"},
        environment_files=("e.yaml",),
    )
    found = revision_of(request).environment["parameters"]["l"]
    assert (found.split(",") if isinstance(value, list) else found) == value


GUARD = {"restricted_actions": "replace"}
HOOK = {"hooks": "pre-update"}
STORED = {
    "parameters": {"l": "stored"},
    "parameter_defaults": {"d": 1, "e": 1},
    "resource_registry": {
        "My::A": "OS::Heat::None",
        "My::B": "OS::Heat::None",
        "resources": {"a": GUARD, "g": {"inner": GUARD}, "My*": HOOK},
    },
    "event_sinks": [{"type": "zaqar-queue", "target": "q"}],
}
MERGED = [
    ("parameters", {}, {"l": "stored"}),
    ("parameters", {"l": "given"}, {"l": "given"}),
    ("parameter_defaults", {"e": 2, "f": 2}, {"d": 1, "e": 2, "f": 2}),
    ("resource_registry", {}, STORED["resource_registry"]),
    (
        "resource_registry",
        {"My::B": "b.yaml", "My::C": "c.yaml"},
        {**STORED["resource_registry"], "My::B": "b.yaml", "My::C": "c.yaml"},
    ),
    (
        "resource_registry",
        {"resources": {"b": {"hooks": []}}},
        {
            **STORED["resource_registry"],
            "resources": {**STORED["resource_registry"]["resources"], "b": {"hooks": []}},
        },
    ),
    (
        "resource_registry",
        {"resources": {"a": HOOK, "g": {"inner": HOOK}}},
        {
            **STORED["resource_registry"],
            "resources": {"a": GUARD | HOOK, "g": {"inner": GUARD | HOOK}, "My*": HOOK},
        },
    ),
    ("event_sinks", [], STORED["event_sinks"]),
    (
        "event_sinks",
        [{"type": "zaqar-queue", "target": "r"}],
        [{"type": "zaqar-queue", "target": "r"}],
    ),
]


@pytest.mark.parametrize(("section", "given", "merged"), MERGED)
@pytest.mark.parametrize("existing", [True, False])
def test_each_stored_map_is_merged_with_what_is_given(section, given, merged, existing):
    current = Revision(TEMPLATE, {"kept.yaml": "1", "changed.yaml": "1"}, STORED)
    request = StackRequest(
        template=TEMPLATE,
        environment={section: given},
        files={"changed.yaml": "2"},
        existing=existing,
    )
    found = revision_of(request, current)
    expected = Environment.parse(STORED if existing else {}).as_map()
    assert found.environment == {**expected, section: merged if existing else given}
    assert found.files == {**({"kept.yaml": "1"} if existing else {}), "changed.yaml": "2"}


@pytest.mark.parametrize("given", [{}, {"l": "given"}])
def test_a_cleared_parameter_loses_its_stored_value_only(given):
    current = Revision(TEMPLATE, {}, STORED)
    request = StackRequest(parameters=given, clear_parameters=("l",), existing=True)
    assert revision_of(request, current).environment["parameters"] == given
