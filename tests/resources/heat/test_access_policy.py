"""Policies name resources of their stack."""

import pytest

from hearth.model.problem import Rejected
from hearth.resources.registry import default_catalog
from hearth.template import Environment, compile_template

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  secret: {type: OS::Heat::RandomString}
  policy:
    type: OS::Heat::AccessPolicy
    properties: {AllowedResources: [secret, %s]}
"""


def specialised(name):
    module = compile_template(
        TEMPLATE % name, files={}, environment=Environment.parse({}), catalog=default_catalog()
    )
    return module.specialise({}, stack_name="s", project_id="p")


def test_a_policy_names_resources_that_are_there_and_waits_for_none():
    assert specialised("policy").requires["policy"] == frozenset()


def test_a_policy_that_names_what_is_not_there_is_refused():
    with pytest.raises(Rejected) as refused:
        specialised("secre")
    assert [(p.name, p.nearest) for p in refused.value.problems] == [("secre", "secret")]


@pytest.mark.parametrize("value", ["text", "{a: map}", "null"])
def test_a_value_that_is_no_list_names_no_resources(value):
    text = TEMPLATE.replace("[secret, %s]", value)
    module = compile_template(
        text, files={}, environment=Environment.parse({}), catalog=default_catalog()
    )
    assert module.specialise({}, stack_name="s", project_id="p").requires["policy"] == frozenset()
