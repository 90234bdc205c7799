"""The checks of recipes notice what does not exist."""

from pathlib import Path

import click
import pytest

from tests.deploy.known import parsed, unknown_settings, variables


@pytest.mark.parametrize(
    "words",
    ["serve --rolle api", "serve --role engines", "serv", "manage bootstrap --dryrun", "dev --x"],
)
def test_a_command_that_does_not_exist_is_noticed(words: str):
    with pytest.raises(click.UsageError):
        parsed(words.split())


def test_a_command_that_exists_is_read():
    assert parsed(["serve", "--role", "api"])["role"] == "api"
    assert parsed(["manage", "drain", "one"])["host"] == "one"


def test_a_setting_that_does_not_exist_is_noticed(tmp_path: Path):
    text = "[hearth]\n# monitoring_prt = 9\nmonitoring_host = ::\n[heat_api]\nworkers = 3\n"
    found = unknown_settings(text, tmp_path)
    assert found == ["[hearth] monitoring_prt", "[heat_api] workers"]
    names = ["OS_HEARTH__MONITORING_PORT", "OS_HEARTH__MONITORING_PRT"]
    assert variables(names) == ["OS_HEARTH__MONITORING_PRT"]
