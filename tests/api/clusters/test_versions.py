"""Microversions in headers, and the normal form of paths."""

import pytest

from hearth.api.clusters.paths import normal
from hearth.api.clusters.versions import Malformed, requested_version
from hearth.clusters.config import ClusterConfig
from tests.api.clusters.server import Api

HIGHEST = (1, 14)


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (None, (1, 1)),
        ("container-infra 1.10", (1, 10)),
        ("container-infrastructure 1.2", (1, 2)),
        ("container-infrastructure-management  1.2 ", (1, 2)),
        ("container-infra latest", HIGHEST),
        ("container-infra 3.7", (3, 7)),
    ],
)
def test_a_header_names_a_version(header: str | None, version: tuple[int, int]):
    assert requested_version(header, HIGHEST) == version


@pytest.mark.parametrize(
    "header",
    ["1.1", "compute 1.1", "container-infra", "container-infra 1", "container-infra 1.1 1.2",
     "container-infra x", "container-infra 1.²", "container-infra 1.-1", "Container-Infra 1.1",
     "container-infra 1.1, compute 2.1", "container-infra 1." + "9" * 10],
)  # fmt: skip
def test_other_headers_are_refused(header: str):
    with pytest.raises(Malformed):
        requested_version(header, HIGHEST)


@pytest.mark.parametrize(
    ("path", "usual"),
    [
        ("", "/"), ("/", "/"), ("/v1", "/v1"), ("/v1/", "/v1"), ("/v1/clusters/", "/v1/clusters"),
        ("/clusters", "/v1/clusters"), ("/clusters/a/nodegroups/", "/v1/clusters/a/nodegroups"),
        ("/v1/clusters//", "/v1/clusters/"), ("/v10/x", "/v1/v10/x"), ("//", "/v1/"),
    ],
)  # fmt: skip
def test_paths_have_a_normal_form(path: str, usual: str):
    assert normal(path) == usual


@pytest.fixture(scope="module")
def template(magnum: Api) -> str:
    return magnum.template("versions")


def test_answers_name_the_version_in_use(magnum: Api):
    name = ClusterConfig().header_service
    for asked, used in ((None, "1.1"), ("1.7", "1.7"), ("latest", "1.14"), ("1.99", "1.99")):
        for path in ("/v1/clusters", "/v1", "/v1/clusters/nothing", "/v1/nothing"):
            reply = magnum.call("GET", path, version=asked)
            headers = reply.headers
            assert headers["OpenStack-API-Version"] == f"{name} {used}"
            assert headers["OpenStack-API-Minimum-Version"] == f"{name} 1.1"
            assert headers["OpenStack-API-Maximum-Version"] == f"{name} 1.14"
            assert headers["Vary"] == "OpenStack-API-Version"


def test_a_malformed_header_gets_an_answer_without_versions(magnum: Api):
    reply = magnum.call("GET", "/v1/clusters", version="compute 2.1")
    assert reply.status_code == 406
    assert not [name for name in reply.headers if name.lower().startswith("openstack-api")]


@pytest.mark.parametrize("version", ["1.15", "-1.2", "0.9"])
def test_a_version_out_of_range_gets_the_range(magnum: Api, version: str):
    reply = magnum.call("GET", "/v1/clusters", version=version)
    (error,) = reply.json()["errors"]
    assert reply.status_code == 406
    assert (error["min_version"], error["max_version"]) == ("1.1", "1.14")
    assert "status" not in error


def test_the_highest_version_can_be_lowered(tmp_path):
    from tests.api.clusters.server import running

    with running(
        tmp_path, ClusterConfig(version_max="1.12", header_service="container-infra")
    ) as api:
        assert api.call("GET", "/").json()["versions"][0]["max_version"] == "1.12"
        reply = api.call("GET", "/v1/clusters")
        assert reply.headers["OpenStack-API-Version"] == "container-infra 1.12"
        assert api.call("GET", "/v1/clusters", version="1.13").status_code == 406


def test_the_id_of_the_stack_has_the_name_of_the_version(magnum: Api, template: str):
    magnum.cluster("named", template)
    keys = {"stack_id", "cluster_id"}
    for path in ("/v1/clusters/named", "/v1/clusters", "/v1/clusters/detail"):
        for version, both, expected in (
            ("1.12", True, {"stack_id"}),
            ("1.13", True, keys),
            ("1.13", False, {"cluster_id"}),
        ):
            magnum.configure(stack_id_after_13=both)
            body = magnum.call("GET", path, version=version).json()
            one = body["clusters"][0] if "clusters" in body else body
            assert one.keys() & keys == expected
            assert len({one[key] for key in expected}) == 1
    magnum.configure(stack_id_after_13=True)


def test_taints_are_shown_from_their_version_on(magnum: Api, template: str):
    magnum.cluster("tainted", template)
    path = "/v1/clusters/tainted/nodegroups/default-worker"
    for version, there in (("1.13", False), ("1.14", True)):
        shown = magnum.call("GET", path, version=version).json()
        assert ("node_taints" in shown, "node_labels" in shown) == (there, there)


def test_the_roots_need_no_token_and_lead_everywhere(magnum: Api):
    (one,) = magnum.call("GET", "/", by=None).json()["versions"]
    assert one["links"][0]["href"] == f"{magnum.url}/v1/"
    found = magnum.call("GET", "/v1/", by=None).json()
    for name in ("clusters", "clustertemplates", "stats", "mservices", "federations"):
        url = found[name][0]["href"].removeprefix(magnum.url)
        by = "admin" if name == "mservices" else "member"
        assert magnum.call("GET", url, by=by).status_code == 200
