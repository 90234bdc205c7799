"""Lists: pages, sorting, the address of the next page, and what lists show."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.api.clusters.server import Api

pytestmark = pytest.mark.slow

FLAVORS = ("m1.small", None, "m1.tiny", None, "m1.small", "m1.large", "m1.tiny")


@pytest.fixture(scope="module")
def listed(magnum: Api) -> Api:
    template = magnum.template("lists", labels={"a": "1", "b": "2"})
    for number, flavor in enumerate(FLAVORS):
        labels = {"a": "1", "c": "3"} if number else {"a": "2"}
        magnum.cluster(f"c{number}", template, flavor_id=flavor, labels=labels)
    return magnum


def walked(api: Api, path: str, key: str) -> list[list[dict[str, Any]]]:
    """Return all pages from a path on."""
    found = []
    url: str | None = path
    while url is not None:
        reply = api.call("GET", url)
        assert reply.status_code == 200, reply.text
        body = reply.json()
        found.append(body[key])
        url = body["next"].removeprefix(api.url) if "next" in body else None
        assert len(found) < 20
    return found


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("key", ["id", "name", "flavor_id", "docker_volume_size", "created_at"])
def test_pages_together_are_the_whole_list_in_order(
    listed: Api, key: str, limit: int, direction: str
):
    query = f"?limit={limit}&sort_key={key}&sort_dir={direction}"
    pages = walked(listed, f"/v1/clusters{query}", "clusters")
    names = [one["name"] for page in pages for one in page]
    values = {"name": [f"c{n}" for n in range(7)], "flavor_id": FLAVORS}.get(key, [None] * 7)
    order = sorted(range(7), key=lambda n: (values[n] is not None, values[n] or "", n))
    expected = [f"c{n}" for n in (order if direction == "asc" else order[::-1])]
    assert names == expected
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert len(pages[-1]) < limit


def test_the_next_address_carries_all_arguments(listed: Api):
    body = listed.call("GET", "/clusters/?limit=2&sort_key=name&sort_dir=desc").json()
    parts = urlsplit(body["next"])
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{listed.url}/v1/clusters"
    assert parse_qsl(parts.query) == [
        ("sort_key", "name"),
        ("sort_dir", "desc"),
        ("limit", "2"),
        ("marker", body["clusters"][-1]["uuid"]),
    ]
    groups = listed.call("GET", "/v1/clusters/c1/nodegroups?limit=1&role=worker").json()
    assert ("role", "worker") in parse_qsl(urlsplit(groups["next"]).query)
    assert walked(listed, groups["next"].removeprefix(listed.url), "nodegroups") == [[]]


def test_a_page_is_never_longer_than_the_configured_limit(listed: Api):
    listed.configure(max_limit=3)
    try:
        for query in ("", "?limit=100"):
            body = listed.call("GET", f"/v1/clusters{query}").json()
            assert (len(body["clusters"]), "limit=3&" in body["next"]) == (3, True)
    finally:
        listed.configure(max_limit=1000)


def test_a_marker_of_another_project_is_unknown(listed: Api):
    template = listed.template("theirs", "stranger", "other")
    uuid = listed.cluster("theirs", template, by="stranger", project="other")
    assert listed.call("GET", f"/v1/clusters?marker={uuid}").status_code == 404
    assert listed.call("GET", f"/v1/clusters?marker={uuid}", by="admin").status_code == 200
    assert listed.call("GET", f"/v1/clustertemplates?marker={template}").status_code == 404
    shown = listed.call("GET", "/v1/clusters").json()["clusters"]
    assert "theirs" not in {one["name"] for one in shown}


@pytest.mark.parametrize("key", ["ca_cert_ref", "identity_id", "version", "body", "labels", "x"])
def test_nobody_sorts_by_what_is_not_shown(listed: Api, key: str):
    assert listed.call("GET", f"/v1/clusters?sort_key={key}").status_code == 400


def test_counts_addresses_and_labels_are_computed(listed: Api):
    first, other = (listed.call("GET", f"/v1/clusters/c{n}").json() for n in (0, 1))
    assert (first["node_count"], first["master_count"]) == (3, 1)
    assert first["node_addresses"] == ["10.0.0.3", "10.0.0.4"]
    assert first["master_addresses"] == ["10.0.0.2"]
    assert first["labels_overridden"] == {"a": "1"}  # the value of the template
    assert (first["labels_added"], first["labels_skipped"]) == ({}, {"b": "2"})
    assert (other["labels_overridden"], other["labels_added"]) == ({}, {"c": "3"})
    assert first["created_at"] == "1970-01-01T00:00:01.000000+00:00"
    assert [link["href"] for link in first["links"]] == [
        f"{listed.url}/v1/clusters/{first['uuid']}",
        f"{listed.url}/clusters/{first['uuid']}",
    ]


def test_faults_name_the_failed_groups_of_a_failed_cluster(listed: Api):
    template = listed.template("faults")
    listed.cluster("failed", template, status="CREATE_FAILED")
    shown = listed.call("GET", "/v1/clusters/failed").json()
    assert shown["faults"] == {"default-master": "done", "default-worker": "done"}
    assert "faults" not in listed.call("GET", "/v1/clusters/c1").json()


def test_limits_of_groups_are_true_in_lists_unless_they_are_to_be_plain(listed: Api):
    body = [{"op": "replace", "path": "/max_node_count", "value": 9}]
    path = "/v1/clusters/c2/nodegroups"
    assert listed.call("PATCH", f"{path}/default-worker", body).status_code == 202
    for plain, limit in ((False, 9), (True, None)):
        listed.configure(plain_group_limits=plain)
        _, worker = listed.call("GET", path).json()["nodegroups"]
        assert worker["max_node_count"] == limit
    listed.configure(plain_group_limits=False)


def test_statistics_count_masters_and_own_projects(listed: Api):
    listed.cluster(
        "more", listed.template("m", "stranger", "other"), by="stranger", project="other"
    )
    own = listed.call("GET", "/v1/clusters?limit=100").json()["clusters"]
    stats = listed.call("GET", "/v1/stats").json()
    assert stats == {"clusters": len(own), "nodes": 4 * len(own)}
    project = listed.projects["other"]
    theirs = listed.call("GET", f"/v1/stats?project_id={project}", by="admin").json()
    everywhere = listed.call("GET", "/v1/stats", by="admin").json()
    assert everywhere["clusters"] == stats["clusters"] + theirs["clusters"]
    assert everywhere["clusters"] > theirs["clusters"] > 0


def test_quotas_of_all_projects_are_listed_on_request(listed: Api):
    for project in ("demo", "other"):
        body = {"project_id": listed.projects[project], "hard_limit": "5"}
        assert listed.call("POST", "/v1/quotas", body, by="admin").status_code == 201
    for query, count in (("", 1), ("?all_tenants=True", 2), ("?all_tenants=false", 1)):
        found = listed.call("GET", f"/v1/quotas{query}", by="admin").json()["quotas"]
        assert len(found) == count
    first = listed.call("GET", "/v1/quotas?all_tenants=1&limit=1", by="admin").json()
    assert "all_tenants=True" in first["next"]
    after = listed.call("GET", first["next"].removeprefix(listed.url), by="admin").json()
    assert [one["project_id"] for one in after["quotas"]] == [listed.projects["other"]]
