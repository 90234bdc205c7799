import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from hearth.model.problem import Rejected
from hearth.model.unknown import Unknown, unknown_in
from hearth.template import (
    NOWHERE,
    Environment,
    Facade,
    Limits,
    NullWorld,
    compile_template,
    module_key,
    walk,
)
from hearth.template.evaluated import METADATA
from tests.adapters.catalog import Catalog
from tests.growth import growth

HOT = "heat_template_version: 2021-04-16\n"
TWO = (
    HOT
    + """
parameters:
  name: {type: string, default: n}
  key: {type: string, default: k, hidden: true}
resources:
  a: {type: OS::Heat::Value, properties: {value: {get_param: name}}}
  b:
    type: OS::Heat::Value
    properties:
      value:
        plain: [1, {get_attr: [a, value, x, 0]}]
        joined: {list_join: ["-", [p, {get_attr: [a, value]}]]}
    metadata: {of: {get_resource: a}}
  c: {type: OS::Heat::TestResource, properties: {value: {get_param: key}, fail: false}}
outputs:
  o: {value: {get_attr: [b, value, joined]}}
"""
)


@dataclass
class World:
    """Recorded values, by resource and attribute."""

    values: dict[tuple[str, str], Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    facade: Facade | None = None

    def reference(self, name):
        return self.ids.get(name, Unknown(frozenset({name})))

    def attribute(self, name, attribute, path):
        if (name, attribute) not in self.values:
            return Unknown(frozenset({name}))
        return walk(self.values[name, attribute], path)


def module_of(text, files=None, environment=None, **limits):
    return compile_template(
        text,
        files=files or {},
        environment=environment or Environment(),
        catalog=Catalog(),
        limits=Limits(**limits),
    )


def program_of(text, parameters=None, **options):
    return module_of(text, **options).specialise(parameters or {}, stack_name="s", stack_id="i")


def test_resources_require_what_they_refer_to_and_come_in_that_order():
    program = program_of(TWO)
    assert program.requires == {"a": frozenset(), "b": {"a"}, "c": frozenset()}
    assert program.order.index("a") < program.order.index("b")


def test_what_is_read_of_a_resource_is_known():
    program = program_of(TWO)
    assert program.reads["a"] == {("value", "x", 0), ("value",)}
    assert program.reads["b"] == {("value", "joined")}
    assert program.reads["c"] == frozenset()


def test_a_value_is_unknown_until_the_resource_it_comes_from_exists():
    definition = program_of(TWO).resources["b"]
    evaluated = definition.evaluate(NOWHERE)
    assert evaluated.unknown == {"a"}
    assert evaluated.open_properties == {"value"}
    value = evaluated.properties["value"]
    assert value["plain"][0] == 1
    assert isinstance(value["plain"][1], Unknown)
    assert isinstance(value["joined"], Unknown)

    known = definition.evaluate(World({("a", "value"): {"x": ["y"]}}, {"a": "id-a"}))
    assert known.properties["value"] == {"plain": [1, "y"], "joined": 'p-{"x": ["y"]}'}
    assert known.metadata == {"of": "id-a"}
    assert not known.unknown


def test_a_null_world_reads_null_where_nothing_is_known():
    value = program_of(TWO).resources["b"].evaluate(NullWorld(NOWHERE))
    assert value.properties["value"] == {"plain": [1, None], "joined": "p-"}
    assert value.metadata == {"of": "a"}


@pytest.mark.parametrize(
    "call",
    [
        "{str_replace: {template: 'x', params: {x: {get_attr: [a, value]}}}}",
        "{list_join: [',', [{get_attr: [a, value]}]]}",
        "{str_split: [',', {get_attr: [a, value]}]}",
        "{digest: [md5, {get_attr: [a, value]}]}",
        "{yaql: {expression: $.data, data: {get_attr: [a, value]}}}",
        "{map_merge: [{a: 1}, {get_attr: [a, value]}]}",
        "{list_concat: [[1], {get_attr: [a, value]}]}",
        "{list_concat_unique: [[1], {get_attr: [a, value]}]}",
        "{filter: [[1], {get_attr: [a, value]}]}",
        "{contains: [1, {get_attr: [a, value]}]}",
        "{repeat: {template: '%i%', for_each: {'%i%': {get_attr: [a, value]}}}}",
        "{map_replace: [{get_attr: [a, value]}, {keys: {a: b}}]}",
        "{make_url: {scheme: http, host: {get_attr: [a, value]}}}",
        "{get_attr: [b, value, {get_attr: [a, value]}]}",
        "{get_resource: a}",
    ],
)
def test_unknown_goes_through_every_function(call):
    text = HOT + (
        "resources:\n  a: {type: OS::Heat::Value, properties: {value: 1}}\n"
        "  b: {type: OS::Heat::Value, properties: {value: 1}}\n"
        f"  c: {{type: OS::Heat::Value, properties: {{value: {call}}}}}\n"
    )
    world = World({("b", "value"): {"x": 1}})
    value = program_of(text).resources["c"].evaluate(world).properties["value"]
    assert unknown_in(value).until == {"a"}


def test_unknown_stays_inside_where_a_function_only_moves_values():
    text = HOT + (
        "resources:\n  a: {type: OS::Heat::Value, properties: {value: 1}}\n"
        "  c: {type: OS::Heat::Value, properties: {value: "
        "{map_merge: [{k: {get_attr: [a, value]}}, {l: 2}]}}}\n"
    )
    value = program_of(text).resources["c"].evaluate(NOWHERE).properties["value"]
    assert value["l"] == 2
    assert isinstance(value["k"], Unknown)


def test_a_property_that_reads_a_hidden_parameter_is_secret():
    program = program_of(TWO)
    assert program.resources["c"].evaluate(NOWHERE).secret == {"value"}
    assert program.resources["a"].evaluate(NOWHERE).secret == frozenset()
    assert program.parameters["key"].text == "******"


def test_secrecy_goes_through_functions_and_conditions_are_free_of_it():
    text = HOT + (
        "parameters: {key: {type: string, default: k, hidden: true}}\n"
        "resources:\n  c: {type: OS::Heat::Value, properties: "
        "{value: [x, {digest: [md5, {get_param: key}]}]}}\n"
    )
    assert program_of(text).resources["c"].evaluate(NOWHERE).secret == {"value"}


def test_defaults_are_applied_and_values_coerced():
    properties = program_of(TWO).resources["c"].evaluate(NOWHERE).properties
    assert properties["wait_secs"] == 0
    assert properties["fail"] is False


def test_fingerprints_tell_whether_a_definition_changed():
    one = program_of(TWO).resources
    same = program_of(TWO.replace("value: {get_param: name}", "value: n")).resources
    other = program_of(TWO, {"name": "m"}).resources
    assert one["a"].fingerprint == same["a"].fingerprint
    assert one["a"].fingerprint != other["a"].fingerprint
    assert one["b"].fingerprint == other["b"].fingerprint
    described = program_of(TWO.replace("  c: {type", "  c: {description: hello, type")).resources
    assert one["c"].fingerprint == described["c"].fingerprint


def test_switched_off_resources_are_absent_and_what_needs_them_is_told():
    text = HOT + (
        "parameters: {sw: {type: boolean, default: false}}\n"
        "conditions: {c: {get_param: sw}}\n"
        "resources:\n  a: {type: OS::Heat::Value, condition: c, properties: {value: 1}}\n"
        "  b: {type: OS::Heat::Value, properties: {value: {if: [c, {get_attr: [a, value]}, 0]}}}\n"
        "outputs: {x: {value: {if: [c, {get_attr: [a, value]}]}}}\n"
    )
    module = module_of(text)
    assert list(module.specialise({}, stack_name="s").resources) == ["b"]
    both = module.specialise({"sw": True}, stack_name="s")
    assert both.requires["b"] == {"a"}
    assert list(module.specialise({}, stack_name="s").resources) == ["b"]


def test_a_module_serves_many_stacks_and_none_sees_another():
    module = module_of(TWO)
    first = module.specialise({"name": "1"}, stack_name="s1")
    second = module.specialise({"name": "2"}, stack_name="s2")
    values = [p.resources["a"].evaluate(NOWHERE).properties["value"] for p in (first, second)]
    assert values == ["1", "2"]
    assert second.parameters["OS::stack_name"].value == "s2"


def test_a_module_travels_between_processes():
    module = pickle.loads(pickle.dumps(module_of(TWO)))
    program = module.specialise({}, stack_name="s")
    assert program.resources["b"].evaluate(NOWHERE).unknown == {"a"}


def test_the_key_of_a_module_follows_content_only():
    def key(text=TWO, files=None, environment=None):
        return module_key(text, files=files or {}, environment=environment or Environment())

    assert key() == key(environment=Environment(parameters={"name": "x"}))
    assert key() != key(TWO + "\n")
    assert key() != key(files={"a": "b"})
    assert key() != key(environment=Environment(resource_registry={"A": "B"}))


def test_an_output_that_fails_tells_why_and_leaves_the_others_alone():
    text = HOT + "outputs: {x: {value: {get_param: zip}}, y: {value: 1}}\n"
    outputs = program_of(text).outputs
    value, error = outputs["x"].evaluate(NOWHERE)
    assert value is None
    assert "zip" in error
    assert outputs["y"].evaluate(NOWHERE) == (1, None)


def test_a_child_reads_the_facade_that_stands_for_it():
    text = HOT + (
        "resources:\n  a:\n    type: OS::Heat::Value\n"
        "    properties: {value: {resource_facade: metadata}}\n"
    )
    definition = program_of(text).resources["a"]
    evaluated = definition.evaluate(World(facade=Facade({"role": "web"})))
    assert evaluated.properties["value"] == {"role": "web"}
    assert definition.evaluate(NOWHERE).problems


def test_a_child_template_is_checked_with_the_values_it_will_get():
    child = HOT + "parameters: {n: {type: number, constraints: [{range: {max: 3}}]}}\n"
    text = HOT + "resources:\n  k: {type: kid.yaml, properties: {n: 4}}\n"
    (problem,) = program_of(text, files={"kid.yaml": child}).check_values(NOWHERE).problems
    assert problem.at.path.startswith("resources.k")


def test_members_of_a_group_are_checked_like_a_child():
    text = HOT + (
        "resources:\n  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n"
        "      resource_def: {type: OS::Heat::RandomString, properties: {length: x%index%}}\n"
    )
    (problem,) = program_of(text).check_values(NOWHERE).problems
    assert problem.at.path == "resources.g<nested_stack>.resources.0.properties.length"


def test_parameter_defaults_fill_parameters_of_every_level():
    environment = Environment.parse({"parameter_defaults": {"n": 3}})
    child = HOT + "parameters: {n: {type: number}}\noutputs: {o: {value: {get_param: n}}}\n"
    text = HOT + "parameters: {n: {type: number}}\nresources: {k: {type: kid.yaml}}\n"
    program = program_of(text, files={"kid.yaml": child}, environment=environment)
    assert program.parameters["n"].value == 3
    assert not program.check_values(NOWHERE).problems
    inner = program.resources["k"].child.specialise({}, stack_name="k")
    assert inner.outputs["o"].evaluate(NOWHERE) == (3, None)


def test_children_deeper_than_the_limit_are_refused():
    files = {"kid.yaml": HOT + "resources: {k: {type: kid.yaml}}\n"}
    with pytest.raises(Rejected) as caught:
        module_of(HOT + "resources: {k: {type: kid.yaml}}\n", files=files)
    assert "Recursion depth exceeds 5." in str(caught.value)


def _chain(count):
    rows = "".join(
        f"  r{n}:\n    type: OS::Heat::Value\n"
        f"    properties: {{value: {{get_attr: [r{n - 1}, value]}}}}\n"
        for n in range(1, count)
    )
    first = "  r0: {type: OS::Heat::Value, properties: {value: 1}}\n"
    return HOT + "resources:\n" + first + rows


def test_compiling_and_checking_grow_with_the_template_and_no_faster():
    def checked(count):
        program = module_of(_chain(count)).specialise({}, stack_name="s")
        assert not program.check_values(NOWHERE).problems

    assert growth(checked, 100, 1000) < 2


def test_evaluating_grows_with_the_template_and_no_faster():
    modules = {count: module_of(_chain(count)) for count in (100, 1000)}

    def evaluated(count):
        for definition in modules[count].specialise({}, stack_name="s").resources.values():
            definition.evaluate(NOWHERE)

    assert growth(evaluated, 100, 1000) < 2


def test_a_world_can_say_that_an_attribute_is_secret():
    class Discreet(World):
        def secret(self, name, attribute):
            return (name, attribute) == ("a", "value")

    definition = program_of(TWO).resources["b"]
    assert definition.evaluate(Discreet({("a", "value"): 1})).secret == {"value"}
    assert definition.evaluate(World({("a", "value"): 1})).secret == frozenset()


def test_what_reads_a_secret_of_another_resource_is_guarded():
    class Guarding(World):
        def guarded(self, name, attribute):
            return name == "a"

        def guarded_reference(self, name):
            return name == "b"

    text = """
heat_template_version: 2021-04-16
resources:
  a: {type: OS::Heat::Value}
  b: {type: OS::Heat::Value}
  one: {type: OS::Heat::Value, properties: {value: {list_join: ["-", [{get_attr: [a, value]}]]}}}
  two: {type: OS::Heat::Value, properties: {value: {get_resource: b}, type: string}}
  three: {type: OS::Heat::Value, metadata: {x: {get_attr: [a, value]}}, properties: {value: 1}}
outputs: {o: {value: {get_attr: [a, value]}}, p: {value: {get_attr: [b, value]}}}
"""
    program = program_of(text)
    world = Guarding({("a", "value"): 1, ("b", "value"): 2})
    guarded = {name: one.evaluate(world).guarded for name, one in program.resources.items()}
    assert guarded["one"] == guarded["two"] == {"value"}
    assert guarded["three"] == {METADATA}
    assert guarded["a"] == set()
    assert program.outputs["o"].reveals(world) == (False, True)
    assert program.outputs["p"].reveals(world) == (False, False)


def test_conditions_that_refer_to_each_other_without_end_are_refused():
    rows = "".join(f"  c{n}: {{not: c{n + 1}}}\n" for n in range(2000))
    used = "resources: {r: {type: OS::Heat::None, condition: c0}}\n"
    with pytest.raises(Rejected) as caught:
        program_of(HOT + "conditions:\n" + rows + "  c2000: true\n" + used)
    assert "more than 50 levels deep" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    ["{equals: [{get_param: nope}, true]}", "{not: c}", "{contains: [a, {get_param: number}]}"],
)
def test_a_wrong_condition_refuses_what_uses_it(wrong: str):
    def refused(resources: str) -> bool:
        conditions = f"conditions: {{c: {wrong}, never: false}}\n"
        parameters = "parameters: {number: {type: number, default: 1}}\n"
        try:
            program_of(HOT + parameters + conditions + f"resources: {resources}\n")
        except Rejected:
            return True
        return False

    value = "{type: OS::Heat::Value, %s properties: {value: {if: [c, 1, 2]}}}"
    assert not refused("{r: {type: OS::Heat::None}}")
    assert refused("{r: {type: OS::Heat::None, condition: c}}")
    assert refused(f"{{r: {value % ''}}}")
    assert refused(f"{{r: {value % 'condition: never,'}}}")


def test_an_update_policy_is_checked_against_that_of_the_type():
    text = HOT + (
        "resources:\n  g:\n    type: OS::Heat::ResourceGroup\n"
        "    update_policy: {batch_create: {max_batch_size: 0}}\n"
        "    properties: {count: 0, resource_def: {type: 'OS::Heat::None'}}\n"
    )
    program = program_of(text)
    (problem,) = program.check_values(NOWHERE).problems
    assert problem.at.path == "resources.g.update_policy.batch_create.max_batch_size"
    assert problem.at.line == 5
    policy = program_of(text.replace("size: 0", "size: 2")).resources["g"].policy(NOWHERE)
    assert policy["batch_create"]["max_batch_size"] == 2


def test_only_resources_that_are_switched_on_count_against_the_limit():
    rows = "".join(f"  r{n}: {{type: OS::Heat::None, condition: false}}\n" for n in range(5))
    assert not program_of(HOT + "resources:\n" + rows, max_resources_per_stack=2).resources


def test_no_message_holds_the_value_of_a_hidden_parameter():
    text = HOT + (
        "parameters:\n  key: {type: string, hidden: true, constraints: [{length: {min: 3}}]}\n"
        "resources:\n  r: {type: OS::Heat::RandomString, properties: {length: {get_param: key}}}\n"
        "outputs: {x: {value: {list_concat: {get_param: key}}}}\n"
    )
    program = program_of(text, {"key": "hunter2"})
    (problem,) = program.check_values(NOWHERE).problems
    assert "******" in problem.message
    assert "hunter2" not in problem.message
    value, error = program.outputs["x"].evaluate(NOWHERE)
    assert value is None
    assert "hunter2" not in error
    with pytest.raises(Rejected) as caught:
        program_of(text, {"key": "pw"})
    assert '"pw"' not in str(caught.value)


def test_what_a_member_of_a_group_does_not_know_yet_is_not_missing():
    text = HOT + (
        "resources:\n  a: {type: OS::Heat::Value, properties: {value: 1}}\n"
        "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      resource_def:\n"
        "        type: OS::Heat::Value\n        properties: {value: {get_attr: [a, value]}}\n"
    )
    assert not program_of(text).check_values(NOWHERE).problems
    without = text.replace("value: {get_attr: [a, value]}", "type: string")
    assert len(program_of(without).check_values(NOWHERE).problems) == 1


def test_a_template_that_is_not_among_the_files_is_named_so_that_it_can_be_fetched():
    text = HOT + "resources: {k: {type: 'http://host/kid.yaml'}, l: {type: lid.yaml}}\n"
    with pytest.raises(Rejected) as caught:
        module_of(text)
    missing = [problem.template for problem in caught.value.problems]
    assert missing == ["http://host/kid.yaml", "lid.yaml"]
    assert {problem.kind for problem in caught.value.problems} == {"StackValidationFailed"}


@pytest.mark.parametrize(
    "call",
    [
        "contains: [{if: [false, a]}, []]",
        "filter: [[a], {if: [false, a]}]",
        "digest: [{if: [false, a]}, b]",
        "list_join: [{if: [false, a]}, [b]]",
        "repeat: {template: a, for_each: {if: [false, a]}}",
        "str_replace: {template: a, params: {if: [false, a]}}",
    ],
)
def test_an_argument_that_is_left_out_by_a_condition_is_missed(call):
    text = f"heat_template_version: wallaby\noutputs: {{o: {{value: {{{call}}}}}}}\n"
    value, error = program_of(text).outputs["o"].evaluate(NOWHERE)
    assert value is None
    assert error is not None
    assert call.partition(":")[0] in error


def test_an_optional_argument_that_is_left_out_by_a_condition_is_not():
    call = "str_split: [',', 'a,b', {if: [false, 1]}]"
    text = f"heat_template_version: wallaby\noutputs: {{o: {{value: {{{call}}}}}}}\n"
    assert program_of(text).outputs["o"].evaluate(NOWHERE) == (["a", "b"], None)


@pytest.mark.parametrize(
    ("ident", "fits"), [("x" * 255, True), ("x" * 256, False), ("a\0b", False)]
)
def test_an_external_id_can_be_stored_as_a_physical_id(ident: str, fits: bool):
    text = (
        HOT
        + "parameters: {p: {type: string}}\n"
        + "resources: {a: {type: OS::Heat::Value, external_id: {get_param: p}}}\n"
    )
    if fits:
        program_of(text, {"p": ident})
        return
    with pytest.raises(Rejected) as refused:
        program_of(text, {"p": ident})
    assert "external_id must have at most 255 characters" in refused.value.problems[0].message
