import pytest

from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN, Unknown
from hearth.schema import ValueKind
from hearth.template.child import ChildType, misfits, parameters_of
from hearth.template.parameters import ParameterSchema, ParameterType
from tests.adapters.catalog import Catalog

SCHEMAS = {kind.value: ParameterSchema(kind.value, kind) for kind in ParameterType}


def test_parameters_become_properties_and_outputs_attributes():
    child = ChildType("My::Type", SCHEMAS, {"o": "an output"}, frozenset({"json"}))
    assert child.properties["json"].kind is ValueKind.MAP
    assert child.properties["number"].required
    assert not child.properties["json"].required
    assert child.attributes["o"].description == "an output"


@pytest.mark.parametrize(
    ("kind", "value", "parameter"),
    [
        ("comma_delimited_list", ["a", None, "b,c"], "a,,b,c"),
        ("comma_delimited_list", [{"k": 1}, {"k": 2}], ".member.0.k=1,.member.1.k=2"),
        ("comma_delimited_list", [], ""),
        ("comma_delimited_list", None, ""),
        ("string", None, ""),
        ("json", {"a": [1]}, {"a": [1]}),
        ("json", {"a": UNKNOWN}, {"a": UNKNOWN}),
    ],
)
def test_property_values_become_what_the_child_reads(kind, value, parameter):
    assert parameters_of({kind: value}, SCHEMAS) == {kind: parameter}


def test_a_list_with_something_unknown_is_unknown_as_a_whole():
    value = ["a", Unknown(frozenset({"r"}))]
    assert parameters_of({"comma_delimited_list": value}, SCHEMAS) == {
        "comma_delimited_list": Unknown(frozenset({"r"}))
    }


def test_numbers_in_a_list_are_refused():
    with pytest.raises(ValueError, match="only strings"):
        parameters_of({"comma_delimited_list": [1]}, SCHEMAS)


def test_a_stand_in_must_fit_the_built_in_type():
    built_in = Catalog().find("OS::Heat::Value")
    text = ParameterSchema("type", ParameterType.LIST)
    more = ParameterSchema("more", ParameterType.STRING)
    child = ChildType("OS::Heat::Value", {"type": text, "more": more}, {})
    texts = [problem.message for problem in misfits(child, built_in, Span())]
    assert len(texts) == 4
    assert any('"value"' in text and "required" in text for text in texts)
    assert any('"type" must be a string' in text for text in texts)
    assert any('"more"' in text for text in texts)
    assert any('output "value"' in text for text in texts)
