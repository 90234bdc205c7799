"""Cluster templates: their checks in order, their driver, and what changes while one is in use."""

from typing import Any

import pytest

from hearth.clusters.objects import ClusterTemplate
from hearth.service.caller import Caller
from hearth.service.clusters.templates import delete_template
from hearth.service.services import Services
from tests.api.clusters.server import Api, image

LEAST = {"coe": "kubernetes", "image_id": "img"}


@pytest.fixture(scope="module", autouse=True)
def images(magnum: Api) -> None:
    image(magnum.cloud, "ubuntu", os_distro="Ubuntu")
    image(magnum.cloud, "driven", os_distro="ubuntu", magnum_driver="k8s_debian_v1")
    image(magnum.cloud, "of magnum", os_distro="ubuntu", magnum_driver="k8s_fedora_coreos_v1")
    image(magnum.cloud, "misdriven", os_distro="ubuntu", magnum_driver="k8s_nothing_v1")


def create(api: Api, by: str = "member", **more: Any) -> Any:
    return api.call("POST", "/v1/clustertemplates", {**LEAST, **more}, by=by)


def patch(api: Api, uuid: str, *operations: Any, by: str = "member") -> Any:
    body = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in operations]
    return api.call("PATCH", f"/v1/clustertemplates/{uuid}", body, by=by)


def test_a_template_has_its_defaults_and_a_name(magnum: Api):
    reply = create(magnum)
    made = reply.json()
    assert reply.headers["Location"] == f"{magnum.url}/v1/clustertemplates/{made['uuid']}"
    assert made["name"].endswith("-template")
    defaults = {
        "network_driver": "flannel", "server_type": "vm", "floating_ip_enabled": True,
        "public": False, "hidden": False, "tls_disabled": False, "master_lb_enabled": False,
        "registry_enabled": False, "labels": {}, "tags": None, "updated_at": None,
        "project_id": magnum.projects["demo"], "user_id": magnum.users["member"],
    }  # fmt: skip
    assert {name: made[name] for name in defaults} == defaults


@pytest.mark.parametrize(
    ("more", "driver", "distro"),
    [
        ({}, "k8s_simulated_v1", "fedora-coreos"),
        ({"image_id": "ubuntu"}, "k8s_ubuntu_v1", "ubuntu"),
        ({"image_id": "ubuntu", "cluster_distro": "plan9"}, "k8s_ubuntu_v1", "ubuntu"),
        ({"image_id": "driven"}, "k8s_debian_v1", "ubuntu"),
        ({"image_id": "driven", "driver": "k8s_ubuntu_v1"}, "k8s_ubuntu_v1", "ubuntu"),
        ({"driver": "k8s_fedora_coreos_v1"}, "k8s_simulated_v1", "fedora-coreos"),
        ({"image_id": "ubuntu", "driver": "k8s_fedora_coreos_v1"}, "k8s_ubuntu_v1", "ubuntu"),
        ({"image_id": "of magnum"}, "k8s_ubuntu_v1", "ubuntu"),
        ({"image_id": "misdriven", "driver": "k8s_ubuntu_v1"}, "k8s_ubuntu_v1", "ubuntu"),
    ],
)
def test_the_driver_is_chosen_and_kept(magnum: Api, more: dict[str, Any], driver: str, distro: str):
    made = create(magnum, **more).json()
    assert (made["driver"], made["cluster_distro"]) == (driver, distro)


def test_drivers_can_be_configured(magnum: Api):
    magnum.configure(default_driver="k8s_debian_v1")
    assert create(magnum).json()["driver"] == "k8s_debian_v1"
    magnum.configure(default_driver="", disabled_drivers=("k8s_ubuntu_v1",))
    assert create(magnum, image_id="ubuntu").status_code == 400
    magnum.configure(disabled_drivers=())
    refused = create(magnum, image_id="misdriven")
    assert "k8s_nothing_v1 does not exist" in refused.json()["errors"][0]["title"]


def test_the_first_error_in_the_order_of_the_checks_is_reported(magnum: Api):
    wrong: list[tuple[str, Any, str]] = [
        ("server_type", "x", "server_type"),
        ("network_driver", "x", "network driver"),
        ("volume_driver", "x", "volume driver"),
        ("driver", "x", "Driver x"),
        ("image_id", "x", "Image x"),
        ("flavor_id", "x", "Flavor x"),
        ("external_network_id", "x", "External network x"),
        ("public", True, "clustertemplate:publish"),
    ]
    while wrong:
        reply = create(magnum, **{name: value for name, value, _ in wrong})
        words = reply.json()["errors"][0]["detail"]
        assert wrong[0][2] in words, words
        del wrong[0]


def test_objects_may_be_named_by_id(magnum: Api):
    with_token = {"X-Auth-Token": magnum.tokens["member"]}
    import requests

    base = magnum.cloud.url
    found = requests.get(f"{base}/image/v2/images?name=img", headers=with_token, timeout=10)
    networks = requests.get(f"{base}/network/v2.0/networks", headers=with_token, timeout=10)
    ids = {one["name"]: one["id"] for one in networks.json()["networks"]}
    made = create(
        magnum, image_id=found.json()["images"][0]["id"], external_network_id=ids["public"],
        fixed_network=ids["private"], flavor_id="1", master_flavor_id="m1.small",
    )  # fmt: skip
    assert made.status_code == 201, made.text


def test_a_used_template_changes_only_its_name_or_one_of_three(magnum: Api):
    uuid = create(magnum, by="admin").json()["uuid"]
    assert patch(magnum, uuid, ("flavor_id", "m1.small")).json()["flavor_id"] == "m1.small"
    magnum.cluster("user", uuid)
    for operations, status in (
        ([("name", "new")], 200),
        ([("tags", "a")], 200),
        ([("hidden", True)], 200),
        ([("hidden", False)], 200),
        ([("public", True)], 200),
        ([("public", False)], 400),
        ([("name", "other"), ("tags", "b")], 400),
        ([("flavor_id", "m1.tiny")], 400),
        ([("flavor_id", "m1.small")], 200),  # no change
        ([("labels", "{'a': 'b'}")], 400),
    ):
        reply = patch(magnum, uuid, *operations, by="admin")
        assert reply.status_code == status, (operations, reply.text)
    shown = magnum.call("GET", f"/v1/clustertemplates/{uuid}").json()
    assert (shown["name"], shown["tags"], shown["public"]) == ("new", "a", True)
    assert magnum.call("DELETE", f"/v1/clustertemplates/{uuid}").status_code == 400


def test_a_changed_template_is_checked_as_a_new_one(magnum: Api):
    uuid = create(magnum).json()["uuid"]
    for name, value, status in (
        ("network_driver", "x", 400),
        ("image_id", "nothing", 400),
        ("external_network_id", "private", 400),
        ("apiserver_port", 80, 400),
        ("coe", "swarm", 400),
    ):
        assert patch(magnum, uuid, (name, value)).status_code == status, name
    changed = patch(magnum, uuid, ("image_id", "ubuntu")).json()
    assert (changed["driver"], changed["cluster_distro"]) == ("k8s_ubuntu_v1", "ubuntu")
    assert changed["updated_at"] is not None


def test_the_key_pair_of_a_template_is_looked_for_when_a_cluster_is_created(magnum: Api):
    made = create(magnum, keypair_id="of users")
    assert made.status_code == 201, made.text
    changed = patch(magnum, made.json()["uuid"], ("keypair_id", "of other users"))
    assert changed.json()["keypair_id"] == "of other users", changed.text
    refused = magnum.call("POST", "/v1/clusters", {"cluster_template_id": made.json()["uuid"]})
    assert refused.status_code == 404
    assert "No key pair of other users" in refused.json()["errors"][0]["detail"]


def test_labels_are_checked_and_those_without_effect_lead_to_warnings(magnum: Api):
    image(magnum.cloud, "versioned", os_distro="ubuntu", kube_version="v1.31.4")
    for labels, words in (
        ({"boot_volume_size": "x"}, "Label boot_volume_size"),
        ({"kube_tag": "v1.99.0"}, "Label kube_tag: expected v1.31.4"),
    ):
        refused = create(magnum, image_id="versioned", labels=labels)
        assert refused.status_code == 400
        assert words in refused.json()["errors"][0]["detail"]
    labels = {"cinder_csi_enabled": "true", "kube_tag": "1.31.4", "nosuchlabel": "1"}
    made = create(magnum, image_id="versioned", labels=labels, external_network_id="public").json()
    assert [one.split()[1] for one in made["warnings"]] == ["cinder_csi_enabled", "nosuchlabel"]
    shown = magnum.call("GET", f"/v1/clustertemplates/{made['uuid']}").json()
    assert shown["warnings"] == made["warnings"]
    wanted = {"cluster_template_id": made["uuid"]}
    dry = magnum.call("POST", "/v1/clusters?dry_run=true", wanted).json()
    assert dry["cluster"]["warnings"] == made["warnings"]
    wrong = {**wanted, "labels": {"kube_tag": "v1.99.0"}}
    refused = magnum.call("POST", "/v1/clusters", wrong)
    assert refused.status_code == 400
    cluster = magnum.call("POST", "/v1/clusters", wanted).json()
    assert cluster["warnings"] == made["warnings"]
    events = magnum.call("GET", f"/v1/clusters/{cluster['uuid']}/events").json()["events"]
    assert events[-1]["warnings"] == made["warnings"]
    assert "warnings" not in create(magnum, labels={"kube_tag": "v1"}).json()


def test_a_deleted_template_is_gone(magnum: Api):
    uuid = create(magnum, name="twin").json()["uuid"]
    create(magnum, name="twin")
    assert magnum.call("GET", "/v1/clustertemplates/twin").status_code == 409
    assert magnum.call("DELETE", f"/v1/clustertemplates/{uuid}").status_code == 204
    assert magnum.call("GET", "/v1/clustertemplates/twin").status_code == 200
    assert magnum.call("GET", f"/v1/clustertemplates/{uuid}").status_code == 404


def test_user_values_are_encrypted(magnum: Api):
    from hearth.store.clusters.tables import cluster_template

    create(magnum, labels={"canary": "canary-of-labels"}, http_proxy="http://canary-of-users:3128")
    rows = magnum.run(lambda tx: tx.rows(cluster_template.select()))
    text = repr([tuple(row) for row in rows])
    assert "canary-of-labels" not in text
    assert "canary-of-users" not in text


def test_a_template_that_is_deleted_during_a_create_gets_no_cluster(
    magnum: Api, monkeypatch: pytest.MonkeyPatch
):
    uuid = create(magnum).json()["uuid"]

    async def check(services: Services, caller: Caller, template: ClusterTemplate, _: Any) -> None:
        await delete_template(services, template)

    monkeypatch.setattr("hearth.service.clusters.create.check_cluster", check)
    before = magnum.call("GET", "/v1/stats").json()
    reply = magnum.call("POST", "/v1/clusters", {"cluster_template_id": uuid})
    assert reply.status_code == 404, reply.text
    assert magnum.call("GET", "/v1/stats").json() == before
