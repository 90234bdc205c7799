import pytest

from hearth.model.problem import Rejected
from hearth.template import Environment
from hearth.template.environment import TemplateEntry, TypeEntry
from hearth.template.parameters import ParameterType
from tests.adapters.catalog import Catalog

CATALOG = Catalog()


def find(registry, type_name, resource="web", base=None):
    environment = Environment.parse({"resource_registry": registry}, base=base)
    return environment.find(type_name, resource, CATALOG)


def test_a_type_without_entry_is_the_built_in_one():
    assert find({}, "OS::Heat::Value") == TypeEntry("OS::Heat::Value")
    assert find({}, "OS::Heat::Vaule") is None


def test_aliases_are_followed_and_wildcards_keep_the_tail():
    registry = {"My::*": "OS::Heat::*", "A": "My::Value"}
    assert find(registry, "A") == TypeEntry("OS::Heat::Value")


def test_an_entry_for_one_resource_beats_the_others():
    registry = {"OS::Heat::Value": "a.yaml", "resources": {"web": {"OS::Heat::Value": "b.yaml"}}}
    assert find(registry, "OS::Heat::Value") == TemplateEntry("b.yaml", "OS::Heat::Value")
    assert find(registry, "OS::Heat::Value", "db") == TemplateEntry("a.yaml", "OS::Heat::Value")


def test_user_entries_beat_those_of_the_operator():
    base = Environment.parse({"resource_registry": {"A": "op.yaml", "B": "op.yaml"}})
    assert find({"A": "OS::Heat::None"}, "A", base=base) == TypeEntry("OS::Heat::None")
    assert find({}, "B", base=base) == TemplateEntry("op.yaml", "B", by_operator=True)


@pytest.mark.parametrize("registry", [{"A": "B", "B": "A"}, {"A": "A"}, {"A*": "A*"}])
def test_circles_of_aliases_lead_nowhere(registry):
    assert find(registry, "A") is None


def test_a_child_loses_the_entry_that_made_it_and_keeps_its_own_subtree():
    environment = Environment.parse(
        {
            "parameters": {"p": 1},
            "parameter_defaults": {"d": 2},
            "resource_registry": {
                "A": "a.yaml",
                "B": "b.yaml",
                "resources": {
                    "outer": {"inner": {"hooks": "pre-create"}},
                    "out*": {"inner": {"hooks": "pre-update"}, "x": {"hooks": "pre-delete"}},
                    "other": {"y": {"hooks": "pre-create"}},
                },
            },
        }
    )
    child = environment.for_child("outer", TemplateEntry("a.yaml", "A"))
    assert child.parameters == {}
    assert child.parameter_defaults == {"d": 2}
    assert set(child.resource_registry) == {"B", "resources"}
    assert child.hooks("inner") == {"pre-create"}
    assert child.hooks("x") == {"pre-delete"}
    assert child.hooks("y") == frozenset()


def test_hooks_and_restrictions_of_all_fitting_patterns_add_up():
    environment = Environment.parse(
        {
            "resource_registry": {
                "resources": {
                    "we?": {"hooks": "pre-create", "restricted_actions": "update"},
                    "web": {"hooks": ["post-create"], "restricted_actions": ["replace"]},
                }
            }
        }
    )
    assert environment.hooks("web") == {"pre-create", "post-create"}
    assert environment.restricted_actions("web") == {"update", "replace"}


def test_everything_wrong_in_an_environment_is_told_with_its_place():
    text = (
        "parametres: {}\nparameters:\nresource_registry:\n  resources:\n    web:\n"
        "      hooks: pre-creat\n      restricted_actions: [replac]\n"
        "event_sinks: [{type: carrier-pigeon}]\n"
    )
    with pytest.raises(Rejected) as caught:
        Environment.parse(text, "env.yaml")
    problems = caught.value.problems
    assert [(one.kind, one.at.line) for one in problems] == [
        ("HTTPBadRequest", 1),
        ("HTTPBadRequest", 2),
        ("InvalidBreakPointHook", 6),
        ("InvalidRestrictedAction", 7),
        ("Invalid", 8),
    ]
    assert "did you mean parameters?" in problems[0].message
    assert "did you mean pre-create?" in problems[2].message


def test_event_sinks_are_checked_each_at_its_place():
    text = (
        "event_sinks:\n- {type: zaqar-queue, target: q, ttl: 60}\n- {target: q}\n- q\n"
        "- {type: zaqar-queue}\n- {type: zaqar-queue, target: q, tll: 5}\n"
        "- {type: zaqar-queue, target: q, ttl: soon}\n- {type: zaqar-queue, target: [q]}\n"
    )
    with pytest.raises(Rejected) as caught:
        Environment.parse(text, "env.yaml")
    told = [(one.kind, one.at.line, one.message) for one in caught.value.problems]
    assert [line for _, line, _ in told] == [3, 4, 5, 6, 7, 8]
    assert {kind for kind, _, _ in told} == {"Invalid"}
    assert "the type of an event sink must be zaqar-queue, not None" in told[0][2]
    assert "not q" in told[1][2]
    assert "name of a queue" in told[2][2]
    assert 'no "tll"; did you mean ttl?' in told[3][2]
    assert "number of seconds, not soon" in told[4][2]
    assert caught.value.problems[5].at.path == "event_sinks[6]"


def test_files_are_merged_in_order_each_with_its_strategies():
    types = {"s": ParameterType.STRING, "j": ParameterType.JSON, "l": ParameterType.LIST}
    files = {
        "a": "parameters: {s: one, j: {a: [1]}, l: x}\n"
        "parameter_merge_strategies: {j: deep_merge, l: merge}\n",
        "b": "parameters: {s: two, j: {a: [2], b: null}, l: 'y,z', unknown: 1}\n",
    }
    merged = Environment().merge(["a", "b"], files, types)
    assert merged.parameters == {"s": "two", "j": {"a": [1, 2]}, "l": "x,y,z"}


def test_the_first_file_that_sets_a_name_fixes_its_strategy():
    types = {"s": ParameterType.STRING}
    files = {
        "a": "parameters: {s: one}\n",
        "b": "parameters: {s: two}\nparameter_merge_strategies: {s: merge}\n",
    }
    assert Environment().merge(["b", "a"], files, types).parameters == {"s": "twoone"}
    with pytest.raises(Rejected) as caught:
        Environment().merge(["a", "b"], files, types)
    assert caught.value.problems[0].kind == "ConflictingMergeStrategyForParam"


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(Rejected):
        Environment().merge(["a"], {}, {})


@pytest.mark.parametrize(
    "registry",
    [
        {"*": "OS::Heat::*"},
        {"A*": "AA*", "AA*": "A::*"},
        {"*": "AB*", "A*": "AC*", "AA*": "ACA*"},
    ],
)
def test_wildcards_that_make_longer_names_for_ever_lead_nowhere(registry):
    assert Environment(resource_registry=registry).find("A::A", "r", CATALOG) is None


def test_what_is_given_for_one_resource_is_no_name_in_its_nested_stack():
    given = {"My::*": "b.yaml", "My::Other": "c.yaml", "hooks": "pre-create", "x": {"hooks": []}}
    registry = {"My::Thing": "a.yaml", "resources": {"web": given}}
    environment = Environment.parse({"resource_registry": registry})
    assert find(registry, "My::Thing", "web") == TemplateEntry("a.yaml", "My::Thing")
    child = environment.for_child("web", TemplateEntry("a.yaml", "My::Thing"))
    assert child.resource_registry == {"resources": {"x": {"hooks": []}}}
    assert Environment.parse(child.as_map()).resource_registry == child.resource_registry
