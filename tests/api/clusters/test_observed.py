"""The observed exchanges: the recorded requests get the recorded statuses and keys, in order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.clusters.config import ClusterConfig
from hearth.store.clusters.tables import cluster
from tests.api.clusters.server import Api, running
from tests.service.clusters.requests import csr

FACTS = Path(__file__).parents[2] / "facts" / "magnum" / "http_observed.json"
CASES: list[dict[str, Any]] = json.loads(FACTS.read_text())["cases"]
UNLIKE = {"upgrade empty": 400}
"""Statuses that we answer on purpose: the original fails with 500."""
_CONDITIONS = {"conditions"}
MORE_KEYS = {
    "certificate sign etcd": {"ca_cert_type"},
    "ng show uuid": {"members"},
    "show cluster 1.12": _CONDITIONS,
    "show cluster latest": _CONDITIONS,
    "show failed cluster faults": _CONDITIONS,
    "path without v1": _CONDITIONS,
    "detail": _CONDITIONS,
}
"""What answers have beside what the original answers."""

NOWHERE = "00000000-0000-4000-8000-000000000000"


class Walk:
    """Knows what the placeholders of each case stand for."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.template = api.template("clustermodel1")
        labels = {"other": "v"}
        groups = ("test-master", "test-worker")
        self.first = api.cluster("c1", self.template, keys=True, groups=groups, labels=labels)
        self.failed = api.cluster("c2", self.template, status="CREATE_FAILED")
        listed = api.call("GET", "/v1/clusters/c1/nodegroups").json()["nodegroups"]
        self.worker = next(one["uuid"] for one in listed if one["role"] == "worker")

    def uuid(self, case: str, path: str) -> str:
        if case == "bad marker":
            return NOWHERE
        if "/nodegroups/" in path:
            return self.worker
        if path.startswith(("/v1/certificates", "/v1/credentials")):
            return self.first
        if case == "federation create":
            return self.first
        return self.template

    def answer(self, case: dict[str, Any]) -> Any:
        name, body = case["case"], case.get("body")
        uuid = self.uuid(name, case["path"])
        own = self.api.projects["demo"]
        text = json.dumps(body).replace("<uuid>", uuid).replace("<own project>", own)
        path = case["path"].replace("<uuid>", uuid).replace("<own project>", own)
        body = json.loads(text)
        raw = body if isinstance(body, str) else None
        if isinstance(body, dict) and body.get("csr") == "CSR":
            body["csr"] = csr()
        second = None
        if name == "duplicate names":
            second = self.api.cluster("c1", self.template)
        if name == "quota exceeded":
            self.api.configure(max_clusters_per_project=0)
        if name == "create with template name":  # an earlier case renamed the first one
            self.api.template("clustermodel1")
        header = case["version_header"]
        if name == "no service":
            header = "1.1 "
        try:
            return self.api.call(
                case["method"], path, body, by=case.get("role", "member"), version=header, raw=raw
            )
        finally:
            self.api.configure(max_clusters_per_project=20)
            if second is not None:
                gone = cluster.delete().where(cluster.c.uuid == second)
                self.api.run(lambda tx: tx.execute(gone))
            self.api.settle()


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with running(tmp_path_factory.mktemp("api"), ClusterConfig(stack_id_after_13=False)) as api:
        yield Walk(api)


def test_every_observed_exchange_has_its_status_and_its_keys(walk: Walk):
    wrong = []
    for case in CASES:
        reply = walk.answer(case)
        if words := verdict(case, reply):
            wrong.append(f"{case['case']}: {words}: {reply.text[:300]}")
    assert wrong == []
    assert len(CASES) >= 120


def test_a_signed_certificate_has_the_type_of_its_authority(walk: Walk):
    body = {"cluster_uuid": walk.first, "csr": csr()}
    for asked in ({}, {"ca_cert_type": "etcd"}):
        reply = walk.api.call("POST", "/v1/certificates", body | asked)
        assert reply.status_code == 201
        assert {key: one for key, one in reply.json().items() if key == "ca_cert_type"} == asked


def verdict(case: dict[str, Any], reply: Any) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    status = UNLIKE.get(case["case"], case["status"])
    if reply.status_code != status:
        return f"status {reply.status_code}, not {status}"
    if status == 204:
        return "" if not reply.content else "a body"
    body = reply.json()
    if "error_keys" in case:
        (error,) = body["errors"]
        if case["case"] not in UNLIKE and error["code"] != case["error_code"]:
            return f"code {error['code']}"
        return "" if sorted(error) == case["error_keys"] else f"keys {sorted(error)}"
    more = MORE_KEYS.get(case["case"], set()) | {"warnings"}
    return differing(body, case["response_keys"], more)


def differing(answer: Any, recorded: Any, more: set[str]) -> str:
    """Return how the keys of an answer differ from the recorded ones."""
    if isinstance(answer, list) and not isinstance(recorded, str):
        return next((words for one in answer if (words := differing(one, recorded, more))), "")
    if isinstance(recorded, str):
        kinds = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
        known = recorded == "null" or answer is None or isinstance(answer, kinds[recorded])
        return "" if known else f"{answer} is no {recorded}"
    if not isinstance(answer, dict):
        return f"{answer!r} is no map"
    if set(answer) - more != set(recorded):
        return f"keys that differ: {sorted(set(answer) ^ set(recorded))}"
    if isinstance(recorded, list):
        return ""
    return next(
        (
            f"{key}: {words}"
            for key in recorded
            if (words := differing(answer[key], recorded[key], more))
        ),
        "",
    )
