"""The base for Kubernetes: every name that an object refers to exists, and pods have few rights."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hearth import __version__
from hearth.config.configuration import read
from tests.config.test_configuration import put
from tests.deploy.known import DEPLOY, parsed, unknown_settings

BASE = DEPLOY / "kubernetes" / "base"
SECRET = "hearth"  # the page says how to make it
ROLES = ["api", "cluster", "engine"]
ENDS_WITHIN_S = 25

Object = dict[str, Any]


@pytest.fixture(scope="module")
def objects() -> list[Object]:
    """The objects of the base, as Kubernetes gets them."""
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (package kubernetes-client)")
    done = subprocess.run(
        ["kubectl", "kustomize", str(BASE)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def of(objects: list[Object], kind: str) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in objects if one["kind"] == kind}


def pods(objects: list[Object]) -> dict[str, Object]:
    """The templates of the pods, by role."""
    found = of(objects, "Deployment").values()
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]
        for one in found
    }


def container(pod: Object) -> Object:
    (only,) = pod["spec"]["containers"]
    return dict(only)


def test_each_file_is_in_the_base():
    told = yaml.safe_load((BASE / "kustomization.yaml").read_text())
    files = {*told["resources"], *told["configMapGenerator"][0]["files"], "kustomization.yaml"}
    assert files == {path.name for path in BASE.iterdir()}


def test_each_role_has_pods_that_start_it(objects: list[Object]):
    assert sorted(pods(objects)) == ROLES
    for role, pod in pods(objects).items():
        assert parsed(container(pod)["args"])["role"] == role
        assert container(pod)["image"] == f"hearth:{__version__}"


def test_a_site_sets_the_image_by_its_digest(objects: list[Object], tmp_path: Path):
    digest = f"sha256:{'1' * 64}"
    image = {"name": "hearth", "newName": "images.example/hearth", "digest": digest}
    told = {"resources": [os.path.relpath(BASE, tmp_path)], "images": [image]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(told))
    shown = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    found = pods(list(yaml.safe_load_all(shown.stdout)))
    assert sorted(found) == sorted(pods(objects))
    for pod in found.values():
        # some versions of Kustomize keep the tag of the base; the digest counts
        assert re.fullmatch(rf"images.example/hearth(:[\d.]+)?@{digest}", container(pod)["image"])


def test_every_name_exists(objects: list[Object]):
    accounts, maps = of(objects, "ServiceAccount"), of(objects, "ConfigMap")
    for pod in pods(objects).values():
        spec, told = pod["spec"], container(pod)
        assert spec["serviceAccountName"] in accounts
        volumes = {one["name"]: one for one in spec["volumes"]}
        assert volumes["secret"]["secret"]["secretName"] == SECRET
        assert volumes["settings"]["configMap"]["name"] in maps
        assert {one["name"] for one in told["volumeMounts"]} == set(volumes)
        ports = {one["name"] for one in told["ports"]}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert told[probe]["httpGet"]["port"] in ports
        mounts = {one["name"]: one["mountPath"] for one in told["volumeMounts"]}
        (settings,) = maps.values()
        readable = {f"{mounts['secret']}/hearth.conf"}
        readable |= {f"{mounts['settings']}/{name}" for name in settings["data"]}
        assert {str(path) for path in parsed(told["args"])["configs"]} == readable


def test_services_and_budgets_select_pods(objects: list[Object]):
    for name, service in of(objects, "Service").items():
        pod = pods(objects)[name.removeprefix("hearth-")]
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        ports = {one["name"] for one in container(pod)["ports"]}
        assert {one["targetPort"] for one in service["spec"]["ports"]} <= ports
    budgets = of(objects, "PodDisruptionBudget")
    assert sorted(budgets) == [f"hearth-{role}" for role in ROLES]
    for name, budget in budgets.items():
        deployment = of(objects, "Deployment")[name]
        assert budget["spec"]["selector"] == deployment["spec"]["selector"]
        assert budget["spec"]["minAvailable"] < deployment["spec"]["replicas"]
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_ports_are_those_of_the_settings(objects: list[Object], tmp_path: Path):
    text = (BASE / "kubernetes.conf").read_text()
    assert unknown_settings(text, tmp_path) == []
    (tmp_path / "more.conf").write_text(text)
    conf = read([put(tmp_path), tmp_path / "more.conf"]).conf
    expected = {
        "api": {conf.heat_api.bind_port, conf.heat_api_cfn.bind_port},
        "cluster": {conf.api.port},
        "engine": set(),
    }
    for role, pod in pods(objects).items():
        ports = {one["containerPort"] for one in container(pod)["ports"]}
        assert ports == expected[role] | {conf.hearth.monitoring_port}
        port = pod["metadata"]["annotations"]["prometheus.io/port"]
        assert int(port) == conf.hearth.monitoring_port
    hosts = (conf.heat_api.bind_host, conf.heat_api_cfn.bind_host, conf.api.host,
             conf.hearth.monitoring_host)  # fmt: skip
    assert set(hosts) == {"0.0.0.0"}


def test_pods_have_few_rights_and_time_to_end(objects: list[Object]):
    for pod in pods(objects).values():
        spec, told = pod["spec"], container(pod)
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert told["resources"]["limits"] == {"memory": "6Gi"}  # a limit of CPU only slows
        own = told["securityContext"]
        assert own["readOnlyRootFilesystem"] is True
        assert own["allowPrivilegeEscalation"] is False
        assert own["capabilities"] == {"drop": ["ALL"]}
        hook = told.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [0])
        assert spec["terminationGracePeriodSeconds"] > ENDS_WITHIN_S + int(hook[-1])
        assert told["livenessProbe"]["httpGet"]["path"] == "/healthcheck/live"
        assert told["readinessProbe"]["httpGet"]["path"] == "/healthcheck/ready"


def test_the_user_is_that_of_the_image(objects: list[Object]):
    text = (DEPLOY / "container" / "Containerfile").read_text()
    found = re.search(r"(?m)^USER (\d+):(\d+)$", text)
    assert found is not None
    for pod in pods(objects).values():
        told = pod["spec"]["securityContext"]
        assert (told["runAsUser"], told["runAsGroup"]) == (int(found[1]), int(found[2]))
