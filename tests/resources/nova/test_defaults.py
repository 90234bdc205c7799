"""What an operator sets of servers counts for each that does not say otherwise."""

import pytest

from hearth.resources.nova.defaults import SERVERS, ServerDefaults, with_defaults
from hearth.resources.registry import default_catalog

OTHER = ServerDefaults("RAW", "POLL_TEMP_URL", 20)


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
    assert server.properties["user_data_format"].default == usual.user_data_format
    assert server.properties["software_config_transport"].default == usual.software_config_transport
