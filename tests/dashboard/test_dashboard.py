"""Horizon's dashboard for stacks: the functions by which its panels ask, against `hearth dev`."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.dev import hearth_dev
from tests.conftest import lacking
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

HERE = Path(__file__).resolve().parent
VENV = Path(os.environ.get("DASHBOARD_VENV", HERE.parents[1] / ".dashboard-venv"))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the functions came to."""
    if not (VENV / ".installed").exists():
        lacking("Horizon's heat-dashboard: make dashboard installs it")
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as dev:
        who = {}
        for kind, cloud in (("member", "hearth"), ("admin", "hearth-admin")):
            with dev.sdk(cloud) as connection:
                access = connection.session.auth.get_access(connection.session)
                who[kind] = {
                    "token": access.auth_token,
                    "name": access.username,
                    "catalog": access.service_catalog.catalog,
                    "region": "RegionOne",
                }
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [VENV / "bin" / "python", "-W", "ignore", HERE / "calls.py"],
            input=json.dumps(who), env=environment,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout))


def test_every_function_of_the_module_is_called(played: dict[str, Any]):
    assert len(played["functions"]) > 25
    assert [name for name in played["functions"] if name not in played["called"]] == []


def test_they_give_what_the_panels_show(played: dict[str, Any]):
    called = played["called"]
    assert called["stack_get"]["stack_status"] == "CREATE_COMPLETE"
    assert called["pages"] == [2, True, 1, True]
    (found, *_) = called["filtered"]
    assert [stack["stack_name"] for stack in found] == ["first"]
    assert called["template_get"]["resources"]["value"]["type"] == "OS::Heat::Value"
    assert sorted(one["resource_name"] for one in called["resources_list"]) == ["value", "word"]
    assert called["resource_get"]["resource_status"] == "CREATE_COMPLETE"
    assert called["resource_metadata_get"] == {"colour": "blue"}
    events, more, _ = called["events_list"]
    assert (len(events), more) == (2, True)
    assert called["stack_preview"]["stack_name"] == "seen"
    assert called["snapshot_show"]["snapshot"]["status"] == "COMPLETE"
    assert [one["id"] for one in called["snapshot_list"]["snapshots"]] == [
        called["snapshot_create"]["id"]
    ]
    assert called["resource_types_list"] == ["OS::Heat::RandomString"]
    assert "length" in called["resource_type_get"]["properties"]
    assert called["service_list"][0]["binary"] == "hearth-engine"
    versions = {one["version"] for one in called["template_version_list"]}
    assert "heat_template_version.2021-04-16" in versions
    assert "get_resource" in {one["functions"] for one in called["template_function_list"]}
    assert called["template_validate"]["Parameters"] == {}
