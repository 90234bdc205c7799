import pytest

from hearth.model.problem import Rejected
from hearth.template import Environment, compile_template, load
from hearth.template.parse import parse
from hearth.template.references import is_closed, references_in
from tests.adapters.catalog import Catalog

TEXT = """
heat_template_version: 2021-04-16
outputs:
  a: {value: [{get_resource: r}, {get_attr: [s, x, 1]}, {get_attr: [t]}]}
  b: {value: {get_attr: [s, x, {get_attr: [k, v]}, z]}}
  c: {value: {if: [true, {get_resource: r}, 1]}}
  d: {value: {get_param: p}}
  e: {value: {list_join: ['', [a, {get_resource: {get_param: p}}]]}}
"""


def values():
    outputs = parse(load(TEXT), "t").outputs
    return {name: output.value for name, output in outputs.items()}


def test_every_reference_is_found_with_what_it_reads():
    found = [(one.resource, one.read) for one in references_in(values()["a"])]
    assert found == [("r", None), ("s", ("x", 1)), ("t", ())]


def test_a_computed_step_ends_what_is_known_of_a_path():
    found = [(one.resource, one.read) for one in references_in(values()["b"])]
    assert found == [("s", ("x",)), ("k", ("v",))]


def test_only_what_no_parameter_or_condition_changes_is_closed():
    closed = {name for name, value in values().items() if is_closed(value)}
    assert closed == {"a", "b"}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("a.value", "; did you mean [a, value]?"),
        ("web.value", "; did you mean [web, value]?"),
        ("wbe.value.0", "; did you mean [web, value, 0]?"),
        ("web", ""),
        ("nothing.value", ""),
    ],
)
@pytest.mark.parametrize("place", ["property", "output", "choice"])
def test_a_text_in_place_of_a_list_is_named_as_one(given: str, meant: str, place: str):
    call = f"{{get_attr: {given}}}"
    value, output = ("1", call) if place == "output" else (call, "1")
    value = f"{{if: [true, {value}, 1]}}" if place == "choice" else value
    text = (
        "heat_template_version: 2021-04-16\nresources:\n"
        "  a: {type: OS::Heat::RandomString}\n"
        "  web: {type: OS::Heat::RandomString}\n"
        f"  b: {{type: OS::Heat::Value, properties: {{value: {value}}}}}\n"
        f"outputs: {{o: {{value: {output}}}}}\n"
    )
    with pytest.raises(Rejected) as refused:
        compile_template(
            text, files={}, environment=Environment.parse({}), catalog=Catalog()
        ).specialise({}, stack_name="s")
    [problem] = refused.value.problems
    assert problem.text == f'get_attr: expected a list, got the text "{given}"{meant}'
