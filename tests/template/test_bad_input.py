"""What is wrong is told with line and column, with the nearest right name, all of it at once."""

import json
import time

import pytest

from hearth.model.problem import Rejected
from hearth.resources.registry import default_catalog
from hearth.template import NOWHERE, Environment, Limits, compile_template, load
from tests.adapters.catalog import Catalog

HOT = "heat_template_version: 2018-08-31\n"
VALUE = "resources:\n  web:\n    type: OS::Heat::Value\n    properties: {value: 1}\n"

CASES = {
    "malformed YAML": (HOT + "resources: {a: [}\n", "HTTPBadRequest", 2, 17, ""),
    "a tab in YAML": (HOT + "resources:\n\ta: 1\n", "HTTPBadRequest", 3, 1, ""),
    "malformed JSON": ('{"heat_template_version": "2018-08-31",,}', "HTTPBadRequest", 1, 40, ""),
    "a language tag": (HOT + "outputs: !!python/name:os\n", "HTTPBadRequest", 2, 10, "tag"),
    "an unknown anchor": (HOT + "outputs: *x\n", "HTTPBadRequest", 2, 10, "x"),
    "a list at the top": ("- a\n", "HTTPBadRequest", 1, 1, "map"),
    "no version": ("heat_template_versio: 1\n", "HTTPBadRequest", 1, 1, "heat_template_version"),
    "an unknown version": (
        "heat_template_version: 2020-01-01\n",
        "InvalidTemplateVersion",
        1,
        24,
        "2018-08-31",
    ),
    "an unknown section": (HOT + "resorces: {}\n", "StackValidationFailed", 2, 1, "resources"),
    "an unknown type": (
        HOT + "resources:\n  a: {type: 'OS::Heat::Vaule'}\n",
        "StackValidationFailed",
        3,
        13,
        "OS::Heat::Value",
    ),
    "an unknown property": (
        HOT + "resources:\n  a:\n    type: OS::Heat::Value\n    properties: {valu: 1, value: 2}\n",
        "StackValidationFailed",
        5,
        18,
        "did you mean value",
    ),
    "an unknown key of a resource": (
        HOT + "resources:\n  a:\n    type: OS::Heat::None\n    metadat: {}\n",
        "StackValidationFailed",
        5,
        5,
        "did you mean metadata",
    ),
    "bad arguments of a function": (
        HOT + "outputs:\n  x:\n    value: {list_join: 5}\n",
        "StackValidationFailed",
        4,
        13,
        "list_join",
    ),
    "a reference to nothing": (
        HOT + VALUE + "  b:\n    type: OS::Heat::Value\n"
        "    properties:\n      value: {get_resource: wbe}\n",
        "InvalidTemplateReference",
        9,
        29,
        "did you mean web",
    ),
    "depends_on of nothing": (
        HOT + VALUE + "  b:\n    type: OS::Heat::None\n    depends_on: [web, wep]\n",
        "InvalidTemplateReference",
        8,
        23,
        "did you mean web",
    ),
    "an unknown attribute": (
        HOT + VALUE + "outputs:\n  x: {value: {get_attr: [web, valeu]}}\n",
        "StackValidationFailed",
        7,
        31,
        "did you mean value",
    ),
    "all attributes of nothing": (
        HOT + VALUE + "outputs:\n  x: {value: {get_attr: [wbe]}}\n",
        "StackValidationFailed",
        7,
        26,
        "did you mean web",
    ),
    "a parameter of an unknown type": (
        HOT + "parameters:\n  p: {type: strin}\n",
        "InvalidSchemaError",
        3,
        13,
        "did you mean string",
    ),
    "a cycle": (
        HOT + "resources:\n  a: {type: OS::Heat::None, depends_on: b}\n"
        "  b: {type: OS::Heat::None, depends_on: a}\n",
        "CircularDependencyException",
        3,
        3,
        "a -> b -> a",
    ),
    "a value of a wrong type": (
        HOT + "resources:\n  r:\n    type: OS::Heat::RandomString\n    properties:\n"
        "      character_classes:\n      - {min: few}\n",
        "StackValidationFailed",
        7,
        15,
        "character_classes[0].min",
    ),
    "a missing parameter": (
        HOT + "parameters:\n  p: {type: string}\n",
        "UserParameterMissing",
        3,
        3,
        "p",
    ),
}


def problems_of(template, parameters=None, **limits):
    """Everything that is found before anything would be created."""
    try:
        module = compile_template(
            template,
            files={},
            environment=Environment(),
            catalog=Catalog(),
            limits=Limits(**limits),
        )
        program = module.specialise(parameters or {}, stack_name="s")
    except Rejected as rejected:
        return list(rejected.problems)
    return program.check_values(NOWHERE).problems


@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_told_with_its_place(case):
    template, kind, line, column, mentioned = CASES[case]
    (problem,) = problems_of(template)
    assert (problem.kind, problem.at.line, problem.at.column) == (kind, line, column)
    assert f"[template:{line}:{column}]" in problem.message
    assert mentioned in problem.message


@pytest.mark.parametrize("key", ["²", "٣", "7", "00", "9" * 900, "1.5", "-1", "a]b", "[0]"])
def test_any_key_of_a_map_can_be_at_fault(key: str):
    """A key that looks like the index of a list is none, and need not be a number either."""
    server = "{{type: OS::Nova::Server, properties: {{image: i, flavor: f, networks: [{}]}}}}"
    networks = json.dumps({key: 1}, ensure_ascii=False)
    template = HOT + f"resources:\n  a: {server.format(networks)}\n"
    module = compile_template(
        template, files={}, environment=Environment.parse({}), catalog=default_catalog()
    )
    problems = module.specialise({}, stack_name="s").check_values(NOWHERE).problems
    assert any(f'unknown property "{key}"' in one.message for one in problems)
    assert all(one.at is not None and one.at.line == 3 for one in problems)


def test_a_surplus_parameter_is_told_with_the_nearest_name():
    template = HOT + "parameters:\n  flavor: {type: string, default: a}\n"
    (problem,) = problems_of(template, {"flavour": "b"})
    assert problem.kind == "UnknownUserParameter"
    assert "did you mean flavor?" in problem.message


def test_a_value_that_breaks_a_constraint_names_the_parameter():
    template = HOT + "parameters:\n  n: {type: number, constraints: [{range: {max: 3}}]}\n"
    (problem,) = problems_of(template, {"n": 4})
    assert problem.kind == "StackValidationFailed"
    assert '"n"' in problem.message


def test_all_problems_come_in_one_answer():
    template = (
        HOT
        + """
parameters:
  p: {typ: string}
conditions:
  c: {equals: [1]}
resources:
  a: {type: OS::Heat::Nope}
  b: {type: OS::Heat::Value, properties: {valu: {get_resource: q}}, depends_on: z}
outputs:
  x: {vale: 1}
  y: {value: {str_replace: 1}}
"""
    )
    problems = problems_of(template)
    assert len(problems) == 8
    assert all(problem.at.line for problem in problems)


def test_a_text_of_ten_megabytes_is_refused_by_its_size():
    (problem,) = problems_of(HOT + "#" * 10_000_000)
    assert problem.kind == "RequestLimitExceeded"
    assert "524288" in problem.message


def test_aliases_that_expand_without_end_are_refused():
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (problem,) = problems_of("\n".join(rows))
    assert problem.kind == "RequestLimitExceeded"
    assert "aliases" in problem.message
    assert problem.at.line > 5


def test_an_anchor_inside_itself_is_refused():
    (problem,) = problems_of(HOT + "outputs: &a {x: *a}\n")
    assert "contains itself" in problem.message


@pytest.mark.parametrize("deep", ["[" * 20000, "{a: " * 20000, "- " * 20000])
def test_endless_nesting_is_refused(deep):
    (problem,) = problems_of(deep)
    assert problem.kind == "RequestLimitExceeded"
    assert "nested" in problem.message


def test_a_repeat_that_would_fill_the_memory_is_an_error_of_its_property():
    many = "[" + ",".join("a" * 100) + "]"
    marks = ", ".join(f"'%{n}%': {many}" for n in range(5))
    template = (
        HOT + "resources:\n  a:\n    type: OS::Heat::Value\n    properties:\n"
        f"      value: {{repeat: {{template: x, for_each: {{{marks}}}}}}}\n"
    )
    (problem,) = problems_of(template)
    assert "10000000000" in problem.message


def test_too_many_resources_are_refused():
    rows = "".join(f"  r{n}: {{type: OS::Heat::None}}\n" for n in range(11))
    (problem,) = problems_of(HOT + "resources:\n" + rows, max_resources_per_stack=10)
    assert problem.kind == "RequestLimitExceeded"


def test_a_fault_in_a_child_is_told_with_the_way_to_it():
    child = HOT + "resources:\n  q: {type: OS::Heat::Value, properties: {valu: 1}}\n"
    template = HOT + "resources:\n  n: {type: child.yaml}\n"
    with pytest.raises(Rejected) as caught:
        compile_template(
            template, files={"child.yaml": child}, environment=Environment(), catalog=Catalog()
        )
    (problem,) = caught.value.problems
    assert problem.at.path == "resources.n<child.yaml>.resources.q.properties"
    assert "[child.yaml:3:43]" in problem.message


def test_a_template_full_of_faults_is_refused_soon_and_in_few_words():
    rows = "".join(f"  r{n}: {{type: 'OS::Heat::Valu{n}'}}\n" for n in range(10_000))
    began = time.perf_counter()
    problems = problems_of(HOT + "resources:\n" + rows)
    assert len(problems) == 100
    assert time.perf_counter() - began < 5


def test_aliases_of_a_long_text_are_counted_by_its_length():
    text = "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 1000) + "]\n"
    with pytest.raises(Rejected, match="after expansion of its aliases"):
        load(text)
    assert len(load(text.replace("x" * 100_000, "x" * 100)).plain()["b"]) == 1000


def test_children_in_many_environments_are_counted():
    names = range(400)
    root = HOT + "resources:\n" + "".join(f"  r{n}: {{type: c.yaml}}\n" for n in names)
    child = HOT + "resources:\n" + "".join(f"  s{n}: {{type: OS::Heat::None}}\n" for n in names)
    own = {f"r{n}": {f"s{n}": {"hooks": "pre-create"}} for n in names}
    environment = Environment.parse({"resource_registry": {"resources": own}})
    with pytest.raises(Rejected, match="more than 100000 resources"):
        compile_template(root, files={"c.yaml": child}, environment=environment, catalog=Catalog())
    alike = compile_template(
        root, files={"c.yaml": child}, environment=Environment(), catalog=Catalog()
    )
    assert len({id(one.child) for one in alike.bindings.values()}) == 1
