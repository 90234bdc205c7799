"""Whatever is sent as a template, the answer is a program or Rejected, never another exception.

HEARTH_FUZZ=20 tries twenty times as many inputs, others each time.
"""

import os

import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hearth.model.problem import Rejected
from hearth.template import NOWHERE, Environment, Limits, compile_template
from hearth.template.describe import validated
from hearth.template.parameters import ParameterType
from hearth.template.versions import GRAMMARS, VERSION_KEYS
from tests.adapters.catalog import Catalog

WORDS = sorted(
    {
        word
        for grammar in GRAMMARS
        for words in (
            grammar.functions,
            grammar.condition_functions,
            grammar.sections,
            grammar.resource_keys,
            grammar.output_keys,
            grammar.parameter_keys,
            grammar.constraints,
        )
        for word in words
    }
    | {"template", "params", "for_each", "expression", "data", "keys", "values", "min", "max"}
)
NAMES = ["a", "b", "c", "string", "json", "OS::Heat::Value", "OS::Heat::ResourceGroup", "c.yaml"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(NAMES)
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS + NAMES), inner, max_size=3)
    ),
    max_leaves=12,
)
CALLS = st.builds(
    lambda name, args: {name: args}, st.sampled_from(sorted(GRAMMARS[-1].functions)), VALUES
)
FIELD = VALUES | CALLS
RESOURCE = st.fixed_dictionaries(
    {"type": st.sampled_from(["OS::Heat::Value", "OS::Heat::TestResource", "c.yaml"])},
    optional={
        "properties": st.dictionaries(st.sampled_from(["value", "type", "p"]), FIELD, max_size=2),
        "metadata": FIELD,
        "depends_on": st.sampled_from(NAMES) | VALUES,
        "condition": FIELD,
        "update_policy": FIELD,
        "deletion_policy": FIELD,
        "external_id": FIELD,
    },
)
PARAMETER = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "number", "json", "boolean", "comma_delimited_list"])},
    optional={
        "default": VALUES,
        "constraints": st.lists(
            st.dictionaries(st.sampled_from(GRAMMARS[-1].constraints), VALUES, max_size=2),
            max_size=2,
        ),
        "hidden": VALUES,
    },
)
OF_NAMES = st.sampled_from(["a", "b", "c"])
TEMPLATES = st.fixed_dictionaries(
    {"heat_template_version": st.sampled_from(["2013-05-23", "2018-08-31", "2021-04-16"])},
    optional={
        "parameters": st.dictionaries(OF_NAMES, PARAMETER, max_size=2),
        "conditions": st.dictionaries(OF_NAMES, FIELD, max_size=2),
        "resources": st.dictionaries(OF_NAMES, RESOURCE, max_size=3),
        "outputs": st.dictionaries(OF_NAMES, st.fixed_dictionaries({"value": FIELD}), max_size=2),
        "parameter_groups": VALUES,
        "description": VALUES,
    },
)
CFN_CALLS = st.builds(
    lambda name, args: {name: args},
    st.sampled_from(sorted({**GRAMMARS[0].functions, **GRAMMARS[0].condition_functions})),
    st.recursive(
        SCALARS | CALLS,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.builds(
                lambda name, args: {name: args},
                st.sampled_from(sorted(GRAMMARS[0].functions)),
                inner,
            )
        ),
        max_leaves=8,
    ),
)
CFN_RESOURCE = st.fixed_dictionaries(
    {"Type": st.sampled_from(["OS::Heat::Value", "OS::Heat::TestResource", "c.yaml"])},
    optional={
        "Properties": st.dictionaries(
            st.sampled_from(["value", "type", "p"]), CFN_CALLS, max_size=2
        ),
        "Metadata": CFN_CALLS,
        "DependsOn": st.sampled_from(NAMES) | VALUES,
        "Condition": CFN_CALLS | VALUES,
        "DeletionPolicy": CFN_CALLS | VALUES,
    },
)
CFN_TEMPLATES = st.fixed_dictionaries(
    {"AWSTemplateFormatVersion": st.just("2010-09-09")},
    optional={
        "Parameters": st.dictionaries(
            OF_NAMES,
            st.fixed_dictionaries(
                {"Type": st.sampled_from(["String", "Number", "Json", "CommaDelimitedList"])},
                optional=dict.fromkeys(sorted(GRAMMARS[0].parameter_keys - {"Type"}), VALUES),
            ),
            max_size=2,
        ),
        "Mappings": VALUES,
        "Conditions": st.dictionaries(OF_NAMES, CFN_CALLS, max_size=2),
        "Resources": st.dictionaries(OF_NAMES, CFN_RESOURCE, max_size=3),
        "Outputs": st.dictionaries(
            OF_NAMES, st.fixed_dictionaries({"Value": CFN_CALLS}), max_size=2
        ),
    },
)
CHILD = "heat_template_version: 2018-08-31\nparameters: {p: {type: json, default: {}}}\n"
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
    try:
        module = compile_template(
            template,
            files={"c.yaml": CHILD},
            environment=Environment.parse(environment),
            catalog=Catalog(),
            limits=Limits(template_size_max=100_000),
        )
        lenient = module.specialise({}, stack_name="s", strict=False)
        validated(lenient, {"a": 1}, show_nested=True)
        program = module.specialise(parameters or {}, stack_name="s", stack_id="i")
    except Rejected as rejected:
        told = [f"{problem.kind}: {problem.message}" for problem in rejected.problems]
        return told[0]
    for problem in program.check_values(NOWHERE).problems:
        assert problem.message
    for definition in program.resources.values():
        assert definition.fingerprint
        definition.evaluate(NOWHERE)
    for output in program.outputs.values():
        output.evaluate(NOWHERE)
    return program


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
    go_through(yaml.safe_dump(value))


@settings(QUICK, max_examples=400 * TIMES)
@given(TEMPLATES)
def test_anything_shaped_like_a_template_is_a_program_or_rejected(template):
    go_through(yaml.safe_dump(template))


@settings(QUICK, max_examples=300 * TIMES)
@given(CFN_TEMPLATES)
def test_anything_shaped_like_a_cfn_template_is_a_program_or_rejected(template):
    go_through(yaml.safe_dump(template))


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
