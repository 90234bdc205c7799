"""Whatever is sent as a template, the answer is a program or Rejected, never another exception.

HEARTH_FUZZ=20 tries twenty times as many inputs, others each time. `tests.fuzz` goes further.
"""

import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hearth.model.problem import Rejected
from hearth.template import Environment
from hearth.template.parameters import ParameterType
from hearth.template.versions import VERSION_KEYS
from tests.fuzz.checks import template_is_compiled
from tests.fuzz.strategies import CFN_TEMPLATES, TEMPLATES, VALUES, dumped
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

TIMES = int(os.environ.get("HEARTH_FUZZ", "1"))
QUICK = settings(
    max_examples=150 * TIMES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    derandomize=TIMES == 1,
)


def go_through(template, environment=None, parameters=None):
    """Everything that can be done to a template without a cloud."""
    return template_is_compiled(
        {"template": template, "environment": environment, "parameters": parameters}
    )


@QUICK
@given(st.text(max_size=200))
@example("{heat_template_version: 2018-08-31, parameters: [a]}")
@example("? [a, b]\n: c")
@example("a: !!binary x")
@example("\ud800")
@example("[" * 5000)
@example("a: {b: " * 3000)
@example('{"a": "\\ud800", "heat_template_version": "2018-08-31"}')
@example("heat_template_version: 2018-08-31\noutputs: {x: {value: {get_attr: [[]]}}}")
def test_any_text_is_a_template_or_rejected(text):
    go_through(text)


@QUICK
@given(VALUES)
def test_any_yaml_is_a_template_or_rejected(value):
    go_through(dumped(value))


@settings(QUICK, max_examples=400 * TIMES)
@given(TEMPLATES)
def test_anything_shaped_like_a_template_is_a_program_or_rejected(template):
    go_through(dumped(template))


@settings(QUICK, max_examples=300 * TIMES)
@given(CFN_TEMPLATES)
def test_anything_shaped_like_a_cfn_template_is_a_program_or_rejected(template):
    go_through(dumped(template))


@QUICK
@given(VALUES, st.sampled_from(list(ParameterType)), VALUES)
def test_any_value_of_a_parameter_is_used_or_rejected(value, kind, default):
    template = {
        "heat_template_version": "2018-08-31",
        "parameters": {"p": {"type": str(kind), "default": default, "hidden": True}},
        "resources": {"c": {"type": "c.yaml", "properties": {"p": {"get_param": "p"}}}},
        "outputs": {"o": {"value": {"get_param": ["p", "a", 0]}}},
    }
    go_through(template, parameters={"p": value})


@QUICK
@given(TEMPLATES)
def test_a_parsed_map_is_treated_like_its_text(template):
    go_through(template)


@QUICK
@given(
    st.dictionaries(
        st.sampled_from(["parameters", "resource_registry", "parameter_defaults", "event_sinks"]),
        VALUES,
    ),
    st.sampled_from(VERSION_KEYS),
)
def test_any_environment_is_used_or_rejected(environment, key):
    template = f"{key}: 2018-08-31\nresources: {{a: {{type: 'OS::Heat::Value'}}}}\n"
    try:
        Environment.parse(environment)
    except Rejected:
        return
    go_through(template, environment)
