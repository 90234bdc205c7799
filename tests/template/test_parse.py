import pytest

from hearth.model.problem import Rejected
from hearth.template import load
from hearth.template.expr import Broken, Call, Const, If, MapOf
from hearth.template.parse import parse

HOT = "heat_template_version: 2018-08-31\n"
CFN = "AWSTemplateFormatVersion: 2010-09-09\n"


def parsed(text):
    return parse(load(text), "t.yaml")


def test_both_flavours_become_one_syntax():
    hot = parsed(
        HOT + "parameters: {p: {type: string, default: a, description: d}}\n"
        "resources: {r: {type: T, depends_on: s, properties: {a: 1}}, s: {type: U}}\n"
        "outputs: {o: {value: 1}}\n"
    )
    cfn = parsed(
        CFN + "Parameters: {p: {Type: String, Default: a, Description: d}}\n"
        "Resources: {r: {Type: T, DependsOn: s, Properties: {a: 1}}, s: {Type: U}}\n"
        "Outputs: {o: {Value: 1}}\n"
    )
    for one in (hot, cfn):
        assert one.problems == ()
        assert one.parameters["p"].default == "a"
        assert one.resources["r"].depends_on == ("s",)
        assert one.resources["r"].properties.value == {"a": 1}
        assert one.outputs["o"].value.value == 1
    assert cfn.resources["r"].at.path == "Resources.r"


def test_a_map_with_one_known_key_is_a_call_and_all_else_is_data():
    text = HOT + (
        "outputs:\n  a: {value: {get_param: p}}\n  b: {value: {get_param: p, x: 1}}\n"
        "  c: {value: {get_parm: p}}\n  d: {value: {x: {get_param: p}}}\n"
    )
    values = {name: output.value for name, output in parsed(text).outputs.items()}
    assert isinstance(values["a"], Call)
    assert isinstance(values["b"], Const)
    assert isinstance(values["c"], Const)
    assert isinstance(values["d"], MapOf)


def test_a_call_knows_its_path_and_place():
    text = HOT + "outputs:\n  x:\n    value: [1, {get_param: p}]\n"
    call = parsed(text).outputs["x"].value.items[1]
    assert call.at.path == "outputs.x.value[1].get_param"
    assert str(call.at) == "t.yaml:4:17"


def test_a_branch_may_be_broken_until_it_is_taken():
    text = HOT + "outputs:\n  x:\n    value: {if: [true, 1, {list_join: 5}]}\n"
    choice = parsed(text).outputs["x"].value
    assert isinstance(choice, If)
    assert isinstance(choice.otherwise, Broken)


@pytest.mark.parametrize(
    "text",
    ["", "a", "- a", "a: 1", HOT + CFN, "heat_template_version: 2018\n", "{}"],
)
def test_a_text_without_a_clear_version_is_no_template(text):
    with pytest.raises(Rejected):
        parsed(text)


@pytest.mark.parametrize(("length", "refused"), [(255, False), (256, True)])
def test_a_name_of_a_resource_fits_into_the_databases(length: int, refused: bool) -> None:
    problems = parsed(f"{HOT}resources: {{{'é' * length}: {{type: T}}}}\n").problems
    assert ["at most 255 characters" in one.message for one in problems] == [True] * refused
