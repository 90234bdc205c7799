"""Federations, quotas, previews, events and new names: what Magnum lacks or only keeps."""

from typing import Any

import pytest

from tests.api.clusters.server import Api


@pytest.fixture(scope="module")
def host(magnum: Api) -> str:
    return magnum.cluster("host", magnum.template("federated"))


def create(api: Api, host: str, **more: Any) -> Any:
    body = {"hostcluster_id": host, "properties": {"dns-zone": "example.org."}, **more}
    return api.call("POST", "/v1/federations", body)


def patch(api: Api, uuid: str, op: str, path: str, value: Any) -> int:
    body = [{"op": op, "path": path, "value": value}]
    return api.call("PATCH", f"/v1/federations/{uuid}", body).status_code


def test_a_federation_is_kept_as_failed_with_a_reason(magnum: Api, host: str):
    made = create(magnum, "host", name="fed", member_ids=[host, "host"])
    assert (made.status_code, made.json().keys()) == (202, {"uuid"})
    shown = magnum.call("GET", "/v1/federations/fed").json()
    assert shown["status"] == "CREATE_FAILED"
    assert "not implemented" in shown["status_reason"]
    assert (shown["hostcluster_id"], set(shown["member_ids"])) == (host, {host})
    assert shown["properties"] == {"dns-zone": "example.org."}
    for path in ("/v1/federations", "/v1/federations/detail"):
        (one,) = magnum.call("GET", path).json()["federations"]
        assert ("status_reason" in one) == path.endswith("detail")
    assert magnum.call("GET", "/v1/federations/fed", by="stranger").status_code == 404


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"properties": {}}, 400),
        ({"properties": {"dns-zone": 1}}, 400),
        ({"hostcluster_id": "nothing"}, 404),
        ({"member_ids": ["nothing"]}, 404),
        ({"name": "1st"}, 400),
    ],
)
def test_a_wrong_federation_is_refused(magnum: Api, host: str, more: dict[str, Any], status: int):
    assert create(magnum, host, **more).status_code == status


def test_clusters_join_and_leave_one_by_one(magnum: Api, host: str):
    uuid = create(magnum, host).json()["uuid"]
    path = "/member_ids"
    assert patch(magnum, uuid, "add", path, "host") == 202
    assert patch(magnum, uuid, "add", path, host) == 409
    assert patch(magnum, uuid, "add", path, "nothing") == 404
    assert patch(magnum, uuid, "replace", path, host) == 400
    assert patch(magnum, uuid, "remove", path, host) == 202
    assert patch(magnum, uuid, "remove", path, host) == 404
    assert patch(magnum, uuid, "replace", "/properties", "{'dns-zone': 'b.org.'}") == 202
    assert patch(magnum, uuid, "replace", "/hostcluster_id", "other") == 400
    assert patch(magnum, uuid, "replace", "/name", "other") == 400
    shown = magnum.call("GET", f"/v1/federations/{uuid}").json()
    assert (shown["member_ids"], shown["properties"]) == ([], {"dns-zone": "b.org."})
    assert magnum.call("DELETE", f"/v1/federations/{uuid}").status_code == 204
    assert magnum.call("GET", f"/v1/federations/{uuid}").status_code == 404


def test_a_quota_is_created_once_changed_and_deleted(magnum: Api):
    project = magnum.projects["demo"]
    body = {"project_id": project, "resource": "Cluster", "hard_limit": "7"}
    path = f"/v1/quotas/{project}/Cluster"
    assert magnum.call("GET", path).json() == {
        "project_id": project, "resource": "Cluster", "hard_limit": 20,
    }  # fmt: skip
    made = magnum.call("POST", "/v1/quotas", body, by="admin").json()
    assert (made["hard_limit"], made["updated_at"]) == (7, None)
    assert magnum.call("POST", "/v1/quotas", body, by="admin").status_code == 409
    other = {**body, "project_id": "another"}
    assert magnum.call("PATCH", path, other, by="admin").status_code == 400
    assert magnum.call("PATCH", path, {}, by="admin").status_code == 400
    assert magnum.call("PATCH", path, {"hard_limit": -1}, by="admin").status_code == 400
    changed = magnum.call("PATCH", path, {"hard_limit": 9}, by="admin").json()
    assert (changed["hard_limit"], changed["updated_at"] is None) == (9, False)
    assert magnum.call("GET", path).json()["hard_limit"] == 9
    assert magnum.call("GET", f"/v1/quotas/{project}/Pod").status_code == 404
    assert magnum.call("DELETE", path, by="admin").status_code == 204
    assert magnum.call("DELETE", path, by="admin").status_code == 404
    assert magnum.call("POST", "/v1/quotas", {"hard_limit": 1}, by="admin").status_code == 400


def test_the_stored_quota_limits_the_project(magnum: Api):
    template = magnum.template("limited")
    project = magnum.projects["demo"]
    body = {"project_id": project, "hard_limit": 1}
    assert magnum.call("POST", "/v1/quotas", body, by="admin").status_code == 201
    wanted = {"cluster_template_id": template}
    assert magnum.call("POST", "/v1/clusters", wanted).status_code == 403
    magnum.call("PATCH", f"/v1/quotas/{project}/Cluster", {"hard_limit": 2}, by="admin")
    assert magnum.call("POST", "/v1/clusters", wanted).status_code == 202
    refused = magnum.call("POST", "/v1/clusters", wanted)
    assert (refused.status_code, "quota of 2 clusters" in refused.text) == (403, True)
    magnum.call("DELETE", f"/v1/quotas/{project}/Cluster", by="admin")
    magnum.settle("DELETE_COMPLETE")


def test_events_of_a_cluster_are_listed(magnum: Api, host: str):
    magnum.call("POST", "/v1/clusters/host/actions/resize", {"node_count": 5})
    magnum.settle()
    events = magnum.call("GET", "/v1/clusters/host/events").json()["events"]
    assert events[0]["event"] == "cluster.resize"
    assert events[0]["time"].endswith("+00:00")
    assert magnum.call("GET", "/v1/clusters/host/events", by="stranger").status_code == 404


def test_a_site_can_allow_new_names(magnum: Api, host: str):
    def rename(name: str) -> int:
        body = [{"op": "replace", "path": "/name", "value": name}]
        return magnum.call("PATCH", f"/v1/clusters/{host}", body).status_code

    assert rename("other") == 400
    magnum.configure(rename=True)
    assert (rename("1st"), rename("other")) == (400, 202)
    shown = magnum.call("GET", "/v1/clusters/other").json()
    assert (shown["uuid"], shown["status"].endswith("_COMPLETE")) == (host, True)
    body = [{"op": "remove", "path": "/name"}]
    assert magnum.call("PATCH", "/v1/clusters/other", body).status_code == 400
    magnum.configure(rename=False)
