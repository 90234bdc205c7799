"""What SIGHUP changes of the cluster service in a process, without a process."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import structs

from hearth.config.from_conf import settings
from hearth.config.policies import policies
from hearth.process.reloading import Reloading, put
from hearth.service.policy import Policy, WrongRules
from tests.config.test_configuration import parts_of, written

RULE = '"cluster:create": "role:nobody"\n'


def running(told):
    """The parts of a process that a reload reaches, as they are at its start."""
    found = settings(told.conf, "http://me", "http://cfn", "http://clusters")
    return parts_of(found)


def put_again(process, told):
    """Apply a configuration to a process that runs."""
    found = settings(told.conf, "http://me", "http://cfn", "http://other")
    owner_only = found.clusters.owner_only_certificates
    put(process, found, policies(told.conf, owner_only_certificates=owner_only))


def test_limits_and_defaults_of_clusters_count_at_once(tmp_path: Path):
    process = running(written(tmp_path))
    put_again(process, written(tmp_path, quotas={"max_clusters_per_project": "3"}))
    assert process.services.clusters.max_clusters_per_project == 3


def test_what_the_api_of_clusters_announces_stays(tmp_path: Path):
    process = running(written(tmp_path))
    put_again(process, written(tmp_path, hearth={"cluster_version_max": "1.12"}))
    assert process.services.clusters.version_max == "1.14"
    assert process.services.clusters.url == "http://clusters/v1"


def test_the_policy_of_clusters_is_read_again(tmp_path: Path):
    (tmp_path / "policy.yaml").write_text(RULE)
    process = running(written(tmp_path))
    process.services.cluster_policy = before = Policy()
    put_again(process, written(tmp_path, oslo_policy={"policy_file": "policy.yaml"}))
    after = process.services.cluster_policy
    assert after is not before
    after.load()
    assert str(after._enforcer.rules["cluster:create"]) == "role:nobody"
    assert "clustertemplate:create" in after._enforcer.rules
    assert "stacks:index" in process.services.policy._enforcer.registered_rules


def test_the_rule_for_certificates_follows_its_setting(tmp_path: Path):
    process = running(written(tmp_path))
    rules = []
    for value in ("false", "true"):
        put_again(process, written(tmp_path, hearth={"cluster_owner_only_certificates": value}))
        registered = process.services.cluster_policy._enforcer.registered_rules
        rules.append(str(registered["certificate:get"].check))
    assert rules[0] != rules[1]


@pytest.mark.parametrize("which", ["stacks", "clusters"])
def test_policies_load_the_files_of_both(tmp_path: Path, which: str):
    (tmp_path / "policy.yaml").write_text("{ not: yaml\n")
    told = written(tmp_path, oslo_policy={"policy_file": "policy.yaml"})
    both = policies(told.conf, owner_only_certificates=False)
    for name in {"stacks", "clusters"} - {which}:
        both = structs.replace(both, **{name: SimpleNamespace(load=lambda: None)})
    with pytest.raises(WrongRules):
        both.load()


def test_a_wrong_driver_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    told = written(tmp_path)
    process = running(told)

    def read():
        wrong = written(tmp_path, drivers={"default_driver": "nobody"})
        return wrong, settings(wrong.conf, "http://me", "http://cfn")

    asyncio.run(Reloading(told, process, read)())
    assert "the settings remain unchanged: [drivers]: default driver nobody" in caplog.text
    assert process.services.clusters.default_driver == ""
