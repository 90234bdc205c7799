"""Templates made from schemas are templates."""

import json

import pytest

from hearth.api.v1.type_template import cfn, hot
from hearth.model.problem import Rejected
from hearth.resources.registry import builtin_types, default_catalog
from hearth.template import Environment, compile_template

TYPES = {name: kind for name, kind in builtin_types().items() if not name.startswith("<")}


@pytest.mark.parametrize("make", [hot, cfn])
def test_every_type_gives_a_template_that_compiles(make):
    catalog = default_catalog()
    refused = {}
    for name, kind in TYPES.items():
        try:
            compile_template(
                json.dumps(make(kind)), files={}, environment=Environment(), catalog=catalog
            )
        except Rejected as problem:
            refused[name] = str(problem)[:300]
    assert refused == {}


def test_a_template_in_hot_has_a_parameter_for_each_property():
    made = hot(TYPES["OS::Neutron::Net"])
    assert made["heat_template_version"] == "2016-10-14"
    assert set(made["parameters"]) == set(TYPES["OS::Neutron::Net"].properties)
    assert made["parameters"]["admin_state_up"]["default"] is True
    assert made["resources"]["Net"]["properties"]["name"] == {"get_param": "name"}
    assert made["outputs"]["mtu"]["value"] == {"get_attr": ["Net", "mtu"]}


def test_a_template_in_cfn_splits_lists():
    made = cfn(TYPES["OS::Neutron::Net"])
    assert made["HeatTemplateFormatVersion"] == "2012-12-12"
    assert made["Parameters"]["name"]["Type"] == "String"
    assert made["Resources"]["Net"]["Properties"]["tags"] == {"Fn::Split": [",", {"Ref": "tags"}]}
