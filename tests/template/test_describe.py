from hearth.template import Environment, compile_template
from hearth.template.describe import parameter_texts, validated
from tests.adapters.catalog import Catalog

TEMPLATE = """
heat_template_version: 2018-08-31
description: d
parameters:
  s: {type: string, default: a, hidden: true, constraints: [{length: {max: 5}, description: why}]}
  n: {type: number}
parameter_groups: [{label: g, parameters: [s]}]
resources:
  k: {type: kid.yaml, properties: {p: {get_param: s}}}
"""
KID = "heat_template_version: 2018-08-31\nparameters: {p: {type: string}}\n"


def module():
    return compile_template(
        TEMPLATE, files={"kid.yaml": KID}, environment=Environment(), catalog=Catalog()
    )


def test_validation_shows_parameters_groups_and_children_without_any_value():
    program = module().specialise({}, stack_name="s", strict=False)
    shown = validated(program, {"n": "3"}, show_nested=True)
    assert shown["Parameters"]["s"] == {
        "Type": "String",
        "Description": "",
        "Label": "s",
        "NoEcho": "true",
        "Default": "a",
        "MaxLength": 5,
        "ConstraintDescription": "why",
    }
    assert shown["Parameters"]["n"]["Value"] == "3"
    assert shown["ParameterGroups"] == [{"label": "g", "parameters": ["s"]}]
    assert shown["NestedParameters"]["k"]["Type"] == "kid.yaml"
    assert "NestedParameters" not in validated(program, {}, show_nested=False)


def test_texts_of_parameters_mask_what_is_hidden():
    program = module().specialise({"n": "4.20"}, stack_name="s", stack_id="i", project_id="p")
    assert parameter_texts(program) == {
        "OS::stack_name": "s",
        "OS::stack_id": "i",
        "OS::project_id": "p",
        "s": "******",
        "n": "4.2",
    }
