"""The schema accepts what Hearth accepts, and flags what is misspelt at its place."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from hearth.authoring.json_schema import (
    NoSuch,
    as_text,
    grammars_of,
    template_schema,
    type_schema,
)
from hearth.authoring.property_schema import property_schema, ref
from hearth.authoring.types import author_catalog
from hearth.model.span import Span
from hearth.resources.capabilities import AnyProperty
from hearth.schema import AllowedValues, Findings, Prop, ValueKind
from hearth.schema.check import coerce
from hearth.template import load
from hearth.template.versions import BY_VERSION, GRAMMARS, VERSION_KEYS, Grammar
from tests.conftest import lacking
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "templates"
VERSIONS = [None, *(grammar.value for grammar in GRAMMARS if grammar.hot)]
STRICTER = {
    "out-unknown-key": "a key that an output does not have: Hearth passes it over",
    "out-condition-old": "the same, for the key is one of later versions",
    "val-bad-property-value-ok": "the check of templates alone does not look at values",
    "val-required-property-missing-ok": "nor for what is missing",
}
"""Vectors that are accepted and that the schema flags all the same, and why."""


@cache
def schema(flavour: str = "hot", version: str | None = None) -> Draft7Validator:
    return Draft7Validator(template_schema(grammars_of(flavour, version), author_catalog()))


def validators(template: dict[str, Any]) -> Iterator[Draft7Validator]:
    """The schema of the template's version, and the one of all versions."""
    (key,) = (key for key in VERSION_KEYS if key in template)
    grammar: Grammar = BY_VERSION[key, template[key]]
    yield schema(grammar.type, grammar.value)
    yield schema(grammar.type)


def told(validator: Draft7Validator, text: str) -> list[tuple[str, str]]:
    """The paths of what is wrong, with the messages."""
    errors = validator.iter_errors(load(text).plain())
    return [(".".join(map(str, one.absolute_path)), one.message) for one in errors]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schema_of_each_version_is_a_schema(version):
    Draft7Validator.check_schema(schema("hot", version).schema)


@pytest.mark.parametrize("version", [None, "2012-12-12", "2010-09-09"])
def test_those_of_the_other_flavours_are_too(version):
    Draft7Validator.check_schema(schema("cfn", version).schema)


def test_every_reference_leads_somewhere():
    for flavour in ("hot", "cfn"):
        whole = schema(flavour).schema
        named = {part.split('"')[0] for part in json.dumps(whole).split("#/definitions/")[1:]}
        assert named <= set(whole["definitions"])


def test_every_type_has_a_definition_and_all_its_properties():
    definitions = schema().schema["definitions"]
    for name in author_catalog().names():
        kind = author_catalog().find(name)
        if not isinstance(kind, AnyProperty):
            assert set(definitions[name]["properties"]) == set(kind.properties)


def templates(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".yaml", ".template"):
            root = load(path.read_text(encoding="utf-8")).plain()
            if any(key in root for key in VERSION_KEYS):
                yield path, root


def test_templates_that_others_wrote_are_accepted():
    if not SHARED.is_dir():
        lacking("the shared templates beside the repository")
    seen = 0
    for path, template in templates(SHARED):
        for validator in validators(template):
            errors = [error.message for error in validator.iter_errors(template)]
            if path.name == "servers_with_octavia.yaml":  # Heat's own schema lacks it too
                (message,) = errors
                assert "'max_retries_down' was unexpected" in message
            else:
                assert errors == [], path
        seen += 1
    assert seen > 55


def test_the_examples_of_all_types_are_accepted():
    seen = 0
    for path, template in templates(REPOSITORY / "src" / "hearth"):
        for validator in validators(template):
            assert [error.message for error in validator.iter_errors(template)] == [], path
        seen += 1
    assert seen > 80


def vectors() -> Iterator[tuple[str, dict[str, Any]]]:
    """The templates that the language vectors say are right."""
    for path in sorted((REPOSITORY / "tests" / "vectors" / "hot").glob("*.yaml")):
        for vector in yaml.safe_load(path.read_text(encoding="utf-8")):
            template = vector.get("template")
            if template is not None and "resolved" in vector.get("expect", {}):
                yield vector["name"], load(template).plain()


def test_what_the_vectors_say_is_right_is_accepted_but_for_what_is_known():
    flagged, seen = set(), 0
    for name, template in vectors():
        if any(not validator.is_valid(template) for validator in validators(template)):
            flagged.add(name)
        seen += 1
    assert flagged == set(STRICTER)
    assert seen > 450


BASE = """\
heat_template_version: 2021-04-16
parameters:
  size: {type: number, constraints: [{range: {min: 1}, description: d}, {allowed_values: [1]}]}
conditions:
  big: {equals: [{get_param: size}, 1]}
resources:
  web:
    type: OS::Nova::Server
    condition: big
    properties:
      image: cirros
      flavor: {get_param: size}
      networks: [{network: private, port_extra_properties: {port_security_enabled: false}}]
  group:
    type: OS::Heat::ResourceGroup
    update_policy: {rolling_update: {max_batch_size: 2}}
    properties: {count: 2, resource_def: {type: OS::Heat::None}}
  mine: {type: mine.yaml, properties: {anything: 1}}
  ours: {type: "My::Own::Type", properties: {anything: [1]}}
outputs:
  ip: {value: {get_attr: [web, first_address]}}
"""


def test_the_base_of_the_next_tests_is_accepted():
    for version in (None, "2021-04-16", "wallaby"):
        assert told(schema("hot", version), BASE) == []


@pytest.mark.parametrize(
    ("right", "wrong", "path"),
    [
        ("outputs:", "outptus:", ""),
        ("heat_template_version: 2021-04-16", "heat_template_version: 2021-04-17",
         "heat_template_version"),
        ("type: number", "typ: number", "parameters.size"),
        ("type: number", "type: Number", "parameters.size.type"),
        ("{range: {min: 1}", "{rang: {min: 1}", "parameters.size.constraints.0"),
        ("{range: {min: 1}", "{range: {mni: 1}", "parameters.size.constraints.0.range"),
        ("{equals: [", "{equal: [", "conditions.big"),
        ("    type: OS::Nova::Server", "    tpye: OS::Nova::Server", "resources.web"),
        ("    condition: big", "    conditon: big", "resources.web"),
        ("      image: cirros", "      imgae: cirros", "resources.web.properties"),
        ("flavor: {get_param: size}", "flavor: {get_parm: size}",
         "resources.web.properties.flavor"),
        ("image: cirros", "image: [cirros]", "resources.web.properties.image"),
        ("image: cirros", "image: 1.5", "resources.web.properties.image"),
        ("flavor: {get_param: size}", "", "resources.web.properties"),
        ("{network: private,", "{nework: private,", "resources.web.properties.networks.0"),
        ("    condition: big", "    deletion_policy: keep", "resources.web.deletion_policy"),
        ("count: 2", "count: -2", "resources.group.properties.count"),
        ("count: 2", "count: many", "resources.group.properties.count"),
        ("{rolling_update:", "{roling_update:", "resources.group.update_policy"),
        ("{max_batch_size: 2}", "{max_batch_sizes: 2}",
         "resources.group.update_policy.rolling_update"),
        ("{type: mine.yaml,", "{type: mine.yaml, depends: web,", "resources.mine"),
        ("{value: {get_attr", "{vlaue: {get_attr", "outputs.ip"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_flagged_at_its_place(right, wrong, path):
    assert right in BASE
    for version in (None, "2021-04-16"):
        errors = told(schema("hot", version), BASE.replace(right, wrong))
        assert path in [place for place, _ in errors]
        assert all(place.startswith(path) for place, _ in errors)


@pytest.mark.parametrize(
    ("version", "text", "path"),
    [
        ("2016-04-08", "conditions: {a: true}", ""),
        ("2016-04-08", "resources: {a: {type: T, condition: c}}", "resources.a"),
        ("2016-10-14",
         "parameters: {a: {type: number, constraints: [{modulo: {step: 1, offset: 0}}]}}",
         "parameters.a.constraints.0"),
        ("2017-09-01", "parameters: {a: {type: number, tags: [a]}}", "parameters.a"),
    ],
)  # fmt: skip
def test_what_a_version_does_not_have_yet_is_flagged(version, text, path):
    whole = f"heat_template_version: {version}\n{text}\n"
    for validator in (schema("hot", version), schema()):
        assert {place for place, _ in told(validator, whole)} == {path}
    assert told(schema(), whole.replace(version, "2021-04-16")) == []


def test_a_function_that_a_version_has_removed_is_flagged():
    text = """\
heat_template_version: {}
resources:
  a: {{type: OS::Heat::RandomString, properties: {{length: {{"Fn::Select": [0, [4]]}}}}}}
"""
    assert told(schema("hot", "2013-05-23"), text.format("2013-05-23")) == []
    errors = told(schema("hot", "2021-04-16"), text.format("2021-04-16"))
    assert [place for place, _ in errors] == ["resources.a.properties.length"]


def test_a_required_property_may_have_its_older_name():
    text = """\
heat_template_version: 2021-04-16
resources:
  a: {{type: OS::Neutron::Subnet, properties: {{{}: n, cidr: 10.0.0.0/24}}}}
"""
    assert told(schema(), text.format("network")) == []
    assert told(schema(), text.format("network_id")) == []
    errors = told(schema(), text.format("name"))
    assert [place for place, _ in errors] == ["resources.a.properties"]


def test_cfn_templates_are_told_apart_by_their_version_key():
    text = """\
{}: '{}'
Conditions: {{c: {{"Fn::Equals": [a, b]}}}}
Resources:
  a: {{Type: OS::Heat::RandomString, Condition: c, Properties: {{length: {{Ref: AWS::StackName}}}}}}
"""
    aws = text.format("AWSTemplateFormatVersion", "2010-09-09")
    heat = text.format("HeatTemplateFormatVersion", "2012-12-12")
    assert told(schema("cfn"), aws) == []
    assert [place for place, _ in told(schema("cfn"), heat)] == [""]
    wrong = aws.replace("length:", "lenght:")
    assert [place for place, _ in told(schema("cfn"), wrong)] == ["Resources.a.Properties"]


def test_a_type_has_a_schema_of_its_own():
    alone = type_schema(grammars_of("hot", None), author_catalog(), "OS::Neutron::Subnet")
    Draft7Validator.check_schema(alone)
    validator = Draft7Validator(alone)
    assert validator.is_valid({"network": "n", "ip_version": "6"})
    assert not validator.is_valid({"network": "n", "ip_version": 5})
    assert not validator.is_valid({"netwrok": "n"})
    assert len(as_text(alone)) < 8_000


def test_an_unknown_version_or_type_is_told_with_the_nearest():
    with pytest.raises(NoSuch, match="there is no version 2021-04-61 of hot templates; did you"):
        grammars_of("hot", "2021-04-61")
    with pytest.raises(NoSuch, match="did you mean OS::Nova::Server"):
        type_schema(GRAMMARS, author_catalog(), "OS::Nova::Sever")


def test_the_text_is_the_schema_and_small():
    whole = schema().schema
    text = as_text(whole)
    assert json.loads(text) == whole
    assert len(text) < 300_000


# -- against what Hearth itself does with values ------------------------------------------------


def declared() -> list[Prop]:
    kinds = [author_catalog().find(name) for name in author_catalog().names()]
    return [prop for kind in kinds for prop in kind.properties.values() if prop.implemented]


@cache
def some_declared() -> st.SearchStrategy[Prop]:
    """Made once: Hypothesis hashes all the properties of a new one."""
    return st.sampled_from(declared())


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 70_000)
    | st.sampled_from(["", "x", "1", "-4", " 7 ", "1e3", "0.5", "True", "false", "inf", "10.0.0.1"])
    | st.floats(0.5, 3)
)
NOISE = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)


def values(prop: Prop) -> st.SearchStrategy[Any]:
    """Values that may fit a property, and some that hardly do."""
    likely: list[st.SearchStrategy[Any]] = [NOISE]
    for constraint in prop.constraints:
        if isinstance(constraint, AllowedValues):
            allowed = st.sampled_from(list(constraint.values))
            likely += [allowed, allowed.map(str), st.lists(allowed, max_size=2)]
    if prop.kind is ValueKind.LIST:
        likely.append(st.lists(values(prop.item) if prop.item else NOISE, max_size=2))
    elif prop.entries is not None:
        each = {name: values(inner) for name, inner in prop.entries.items()}
        needed = {name: each[name] for name, inner in prop.entries.items() if inner.required}
        others = {name: one for name, one in each.items() if name not in needed}
        likely += [st.fixed_dictionaries(needed, optional=others)] * 3
    elif prop.item is not None:
        likely.append(st.dictionaries(st.text("ab"), values(prop.item), max_size=2))
    elif prop.kind in (ValueKind.INTEGER, ValueKind.NUMBER):
        likely += [st.integers(0, 300), st.integers(0, 300).map(str)]
    return st.one_of(likely)


def cut(value: Any) -> bool:
    """Whether it holds a fraction, which Hearth cuts where it wants a whole number."""
    if isinstance(value, dict | list):
        return any(cut(one) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


@given(st.data())
@settings(max_examples=1500, deadline=None)
def test_a_value_that_hearth_takes_is_accepted(data):
    prop = data.draw(some_declared())
    value = data.draw(values(prop))
    found = Findings()
    coerce(prop, value, Span(), found)
    one = {**property_schema(prop), "definitions": schema().schema["definitions"]}
    if "$ref" in one:
        one = {"allOf": [ref(one.pop("$ref").rpartition("/")[2])], **one}
    if not found.problems and not cut(value):
        assert Draft7Validator(one).is_valid(value)
