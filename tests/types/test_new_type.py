"""The form of a new resource type is complete, but for what its author must say."""

import ast
from pathlib import Path

import pytest
import yaml

from hearth.resources.index import INDEX
from tests.types.new_type import RESOURCES, WrongName, forms

NEW = "OS::Manila::ShareSnapshot"


def test_the_form_of_a_type_that_heat_does_not_have():
    (module, code), (example, text), (index, indexed) = forms(NEW).items()
    assert module == RESOURCES / "manila" / "share_snapshot.py"
    assert example == RESOURCES / "manila" / "examples" / "ShareSnapshot.yaml"
    assert f'type_name = "{NEW}"' in code
    assert 'Collection("shared-file-system", "FILL_IN: as /' in code
    ast.parse(code)
    assert yaml.safe_load(text)["resources"]["share_snapshot"]["type"] == NEW
    names: dict[str, object] = {}
    exec(compile(indexed, str(index), "exec"), names)
    assert names["INDEX"] == {**INDEX, NEW: "hearth.resources.manila.share_snapshot"}


def test_the_form_of_a_type_of_heat_has_its_recorded_declaration(monkeypatch: pytest.MonkeyPatch):
    name = "OS::Manila::Share"
    monkeypatch.delitem(INDEX, name)
    code, text, _ = forms(name).values()
    assert '"size": Prop(INTEGER, "FILL_IN.", required=True)' in code
    assert '"share_network": Prop(STRING, "FILL_IN.", constraint="manila.share_network")' in code
    assert "      share_protocol: FILL_IN\n" in text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "expected a name such as"),
        ("Manila", "expected a name such as"),
        ("OS::Nova::Server", "there is such a type"),
        ("OS::Nowhere::Thing", "no folder nowhere"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_the_reason(name: str, message: str):
    with pytest.raises(WrongName, match=message):
        forms(name)


def test_the_form_says_where_it_is_not_complete():
    code, text, _ = forms(NEW).values()
    assert code.count("FILL_IN") >= 4
    assert "FILL_IN" in text
    assert not Path(RESOURCES / "manila" / "share_snapshot.py").exists()  # nothing was written
