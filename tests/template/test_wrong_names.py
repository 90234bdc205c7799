"""Names that a template or an environment cannot mean: what is wrong, in words."""

import json
from typing import Any

import pytest

from hearth.model.problem import Rejected
from hearth.resources.registry import default_catalog
from hearth.template import Environment, compile_template

HEAD = "heat_template_version: 2018-08-31\n"


def refused(text: str, registry: dict[str, Any] | None = None) -> list[str]:
    """The problems of a template that cannot be compiled."""
    environment = Environment.parse({"resource_registry": registry or {}})
    with pytest.raises(Rejected) as rejected:
        compile_template(text, files={}, environment=environment, catalog=default_catalog())
    return [one.text for one in rejected.value.problems]


REGISTRY = {
    "My::Thing": "My::Other",
    "My::Other": "My::Thing",
    "My::Self": "My::Self",
    "My::Empty": "",
    "My::Typo": "OS::Heat::RandomStrin",
    "Your::*": "Their::*",
    "Their::*": "Your::*",
}
REASONS = {
    "My::Thing": "the resource registry maps My::Thing to My::Other, My::Other to My::Thing.",
    "My::Self": "the resource registry maps My::Self to My::Self.",
    "My::Empty": "the resource registry maps My::Empty to an empty name.",
    "My::Typo": "the resource registry maps My::Typo to OS::Heat::RandomStrin;"
    " did you mean OS::Heat::RandomString?",
    "Your::A": "the resource registry maps Your::A to Their::A, Their::A to Your::A.",
}


@pytest.mark.parametrize("name", REASONS)
def test_a_type_that_the_registry_leads_nowhere_is_refused_with_the_way(name: str) -> None:
    text = json.dumps({"heat_template_version": "rocky", "resources": {"a": {"type": name}}})
    wanted = f"The Resource Type ({name}) could not be found; {REASONS[name]}"
    assert refused(text, REGISTRY) == [wanted]


@pytest.mark.parametrize(("key", "name"), [("no", "false"), ("yes", "true"), ("1", "1")])
def test_the_name_of_an_output_or_a_resource_is_text(key: str, name: str) -> None:
    for section, what, value in (
        ("outputs", "an output", "{value: 1}"),
        ("resources", "a resource", "{type: OS::Heat::None}"),
    ):
        words = f'the name of {what} must be a string, not "{name}"'
        assert refused(f"{HEAD}{section}: {{{key}: {value}}}\n") == [words]
