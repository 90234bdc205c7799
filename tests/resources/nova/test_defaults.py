"""What an operator sets of servers counts for each that does not say otherwise."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hearth.resources.nova.defaults import DEPLOYMENTS, SERVERS, ServerDefaults, with_defaults
from hearth.resources.registry import default_catalog
from tests.resources.facts import FACTS

OTHER = ServerDefaults("RAW", "POLL_TEMP_URL", 20, "HEAT_SIGNAL")


def test_servers_have_the_defaults_that_are_set():
    server = with_defaults(default_catalog(), OTHER).find("OS::Nova::Server")
    assert server is not None
    assert server.properties["user_data_format"].default == "RAW"
    assert server.properties["software_config_transport"].default == "POLL_TEMP_URL"


@pytest.mark.parametrize("name", SERVERS)
def test_names_are_as_long_as_is_set_and_others_are_untouched(name: str):
    there = default_catalog().find(name)
    changed = with_defaults(default_catalog(), OTHER).find(name)
    assert there is not None and changed is not None  # noqa: PT018
    assert (there.physical_name_limit, changed.physical_name_limit) == (53, 20)
    assert there.properties.keys() == changed.properties.keys()


def test_the_usual_settings_are_those_of_the_types():
    server = default_catalog().find("OS::Nova::Server")
    assert server is not None
    usual = ServerDefaults()
    assert server.properties["user_data_format"].default == usual.default_user_data_format
    transport = server.properties["software_config_transport"].default
    assert transport == usual.default_software_config_transport


VALUES = {
    "default_user_data_format": OTHER.default_user_data_format,
    "default_software_config_transport": OTHER.default_software_config_transport,
    "default_deployment_signal_transport": OTHER.default_deployment_signal_transport,
}


def defaults_in(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The properties whose default Heat takes from an option: name, option."""
    for name, prop in properties.items():
        if (option := prop.get("default_from_option")) in VALUES:
            yield name, option


@pytest.mark.parametrize(
    ("name", "prop", "option"),
    [
        (name, prop, option)
        for name, fact in FACTS.items()
        if name.startswith("OS::")
        for prop, option in defaults_in(fact["properties"])
    ],
)
def test_a_default_that_heat_takes_from_an_option_follows_it(name: str, prop: str, option: str):
    assert name in (*SERVERS, *DEPLOYMENTS)
    found = with_defaults(default_catalog(), OTHER).find(name)
    if found is not None:
        assert found.properties[prop].default == VALUES[option]


def test_no_other_type_changes():
    before, after = default_catalog(), with_defaults(default_catalog(), OTHER)
    handle = "OS::Heat::WaitConditionHandle"
    assert before.find(handle) is after.find(handle)
