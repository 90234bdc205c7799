"""What the API shows of revived types."""

import json

import pytest

from hearth.resources.index import REVIVED
from hearth.resources.known import RETIRED
from tests.api.conftest import Caller


@pytest.mark.slow
def test_revived_types_are_listed_as_deprecated_and_the_other_retired_ones_as_hidden(api: Caller):
    def listed(query: str = "") -> set[str]:
        return set(api.call("GET", f"/resource_types{query}").json()["resource_types"])

    assert listed() >= REVIVED.keys()
    assert listed("?support_status=DEPRECATED") >= REVIVED.keys()
    assert listed("?support_status=HIDDEN") & RETIRED == RETIRED - REVIVED.keys()
    assert not listed() & (RETIRED - REVIVED.keys())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(REVIVED))
def test_a_revived_type_shows_its_schema_its_template_and_its_advice(api: Caller, name: str):
    shown = api.call("GET", f"/resource_types/{name}").json()
    assert shown["properties"]
    assert shown["support_status"]["status"] == "DEPRECATED"
    assert shown["support_status"]["message"]
    made = api.call("GET", f"/resource_types/{name}/template?template_type=hot").json()
    assert [one["type"] for one in made["resources"].values()] == [name]


@pytest.mark.slow
def test_a_validation_checks_the_properties_of_a_revived_type(api: Caller):
    def validated(properties: dict[str, object]) -> tuple[int, str]:
        resources = {"a": {"type": "OS::Designate::Domain", "properties": properties}}
        text = json.dumps({"heat_template_version": "2018-08-31", "resources": resources})
        reply = api.call("POST", "/validate", {"template": text})
        return reply.status_code, reply.text

    assert validated({"name": "a.example.", "email": "a@a.example"})[0] == 200
    status, text = validated({"name": "a.example.", "nonsense": 1})
    assert status == 400
    assert "nonsense" in text
