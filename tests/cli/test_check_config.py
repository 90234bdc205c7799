"""`hearth serve --check-config` says what a configuration comes to, and connects to nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hearth.cli.main import cli
from tests.config.test_configuration import INSTALLED, put


def checked(folder: Path, *more: str) -> Result:
    return CliRunner().invoke(
        cli, ["serve", "--check-config", "--config", str(folder / "heat.conf"), *more]
    )


def test_it_says_what_would_be_served_and_shows_no_secret(tmp_path: Path):
    put(tmp_path, INSTALLED, trustee={"username": "trusted", "password": "secret"})
    done = checked(tmp_path)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert "database: mysql+pymysql://heat:***@db/heat" in lines
    assert "identity: http://keystone/v3, as heat" in lines
    assert "trusts: given to trusted" in lines
    assert "set: auth_encryption_key = ***" in lines
    assert "set: log_dir = /var/log/heat" in lines
    assert "has no effect: convergence_engine: every stack converges" in lines
    assert "unknown: [oslo_polcy] policy_file; did you mean [oslo_policy]?" in lines
    assert "secret" not in done.output
    assert "orchestration: " in done.output
    assert "orchestration: " not in checked(tmp_path, "--role", "engine").output


def test_a_policy_file_that_is_not_there_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    put(tmp_path, oslo_policy={"policy_file": "gone.yaml"})
    assert checked(tmp_path).exit_code == 0
    assert "policy_file: gone.yaml does not exist; the default rules apply" in caplog.text


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"DEFAULT": {"max_stacks_per_tenant": "many"}}, "max_stacks_per_tenant"),
        ({"database": {"connection": "nonsense"}}, "[database] connection"),
        ({"DEFAULT": {"default_log_levels": "a=LOUD"}}, "unknown level LOUD"),
        ({"oslo_policy": {"policy_file": "policy.yaml"}}, "[oslo_policy]"),
        ({"drivers": {"default_driver": "nobody"}}, "[drivers]: default driver nobody does not"),
        (
            {"drivers": {"default_driver": "k8s_ubuntu_v1", "disabled_drivers": "k8s_ubuntu_v1"}},
            "[drivers]: default driver k8s_ubuntu_v1 does not exist or is disabled",
        ),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(
    tmp_path: Path, sections: dict[str, dict[str, str]], words: str
):
    (tmp_path / "policy.yaml").write_text("{ not: yaml\n")
    if "oslo_policy" not in sections:
        (tmp_path / "policy.yaml").unlink()
    put(tmp_path, **sections)
    done = checked(tmp_path)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("hearth: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.parametrize("key", ["short", "x" * 31, "a,b", f"short,{'x' * 20}"])
def test_a_key_that_can_be_guessed_is_refused(tmp_path: Path, key: str):
    put(tmp_path, DEFAULT={"auth_encryption_key": key})
    done = checked(tmp_path)
    assert done.exit_code == 1
    assert "auth_encryption_key: needs at least 32 characters" in done.stderr
    assert key not in done.output
