"""Pods and nodes of the stand-in, without a socket."""

import time
from typing import Any

import pytest

from hearth_devcloud.kubernetes import objects
from hearth_devcloud.kubernetes.node import Facts, node
from hearth_devcloud.kubernetes.objects import ApiError, Cluster, seconds
from hearth_devcloud.kubernetes.patches import JSON, MERGE, STRATEGIC, BadPatch, change_of
from hearth_devcloud.kubernetes.storage import OBJECTS_MAX, Full, Memory
from hearth_devcloud.kubernetes.view import by_fields, by_labels, discovery


def cluster(*names: str) -> Cluster:
    found = Cluster(Memory({}))
    for name in names:
        found.create("nodes", None, node(Facts(name, "10.0.0.5", "v1.31.4")))
    return found


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def owned(name: str, kind: str, owner: str, **spec: Any) -> dict[str, Any]:
    reference = {"kind": kind, "name": owner, "uid": "u", "controller": True}
    return {"metadata": {"name": name, "ownerReferences": [reference]}, "spec": spec}


def where(found: Cluster) -> dict[str, str]:
    return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in found.list("pods")}


def change(found: Cluster, resource: str, name: str, patch: Any, kind: str = STRATEGIC) -> Any:
    namespace = "default" if resource == "pods" else None
    return found.change(resource, namespace, name, change_of(kind, patch))


def cordon(found: Cluster, name: str, unschedulable: bool = True) -> None:
    change(found, "nodes", name, {"spec": {"unschedulable": unschedulable}})


def test_pods_spread_over_the_nodes_that_take_them():
    found = cluster("a", "b", "c")
    cordon(found, "b")
    for name in ("p", "q", "r", "s"):
        found.create("pods", None, pod(name))
    assert sorted(where(found).values()) == ["a", "a", "c", "c"]


@pytest.mark.parametrize(
    ("spec", "taint", "fits"),
    [
        ({}, "k=v:NoSchedule", False), ({}, "k=v:NoExecute", False),
        ({}, "k=v:PreferNoSchedule", True),
        ({"tolerations": [{"operator": "Exists"}]}, "k=v:NoSchedule", True),
        ({"tolerations": [{"key": "k", "operator": "Exists"}]}, "k=v:NoSchedule", True),
        ({"tolerations": [{"key": "k", "value": "v"}]}, "k=v:NoSchedule", True),
        ({"tolerations": [{"key": "k", "value": "w"}]}, "k=v:NoSchedule", False),
        ({"tolerations": [{"key": "k", "value": "v", "effect": "NoExecute"}]}, "k=v:NoSchedule",
         False),
        ({"nodeSelector": {"kubernetes.io/hostname": "a"}}, "k=v:PreferNoSchedule", True),
        ({"nodeSelector": {"kubernetes.io/hostname": "b"}}, "k=v:PreferNoSchedule", False),
    ],
)  # fmt: skip
def test_taints_and_selectors_keep_pods_away(spec: dict[str, Any], taint: str, fits: bool):
    one = node(Facts("a", "10.0.0.5", "v1.31.4", taints=[taint]))
    assert objects.fits(pod("p", **spec), one) is fits


def test_a_pod_waits_for_a_node():
    found = cluster()
    made = found.create("pods", None, pod("p"))
    assert made["status"]["phase"] == "Pending"
    found.create("nodes", None, node(Facts("a", "10.0.0.5", "v1.31.4")))
    assert where(found) == {"p": "a"}
    assert found.get("pods", "default", "p")["status"]["phase"] == "Running"


def test_an_evicted_pod_of_a_controller_moves():
    found = cluster("a", "b")
    found.create("pods", None, owned("web-1", "ReplicaSet", "web", nodeName="a"))
    cordon(found, "a")
    found.evict("default", "web-1")
    ((name, on),) = where(found).items()
    assert name.startswith("web-")
    assert (name != "web-1", on) == (True, "b")
    cordon(found, "b")
    found.evict("default", name)
    assert list(where(found).values()) == [""]
    cordon(found, "b", False)
    assert list(where(found).values()) == ["b"]


def test_what_belongs_to_a_node_stays_there_and_goes_with_it():
    found = cluster("a", "b")
    found.create("pods", None, owned("d", "DaemonSet", "d", nodeName="a"))
    mirror = {"name": "m", "annotations": {objects.MIRROR: "x"}}
    found.create("pods", None, {"metadata": mirror, "spec": {"nodeName": "a"}})
    found.create("pods", None, pod("bare", nodeName="a"))
    for name in ("d", "m", "bare"):
        found.evict("default", name)
    assert where(found) == {"d": "a", "m": "a"}
    found.create("pods", None, owned("web-1", "ReplicaSet", "web", nodeName="a"))
    found.drop("nodes", None, "a")
    assert list(where(found).values()) == ["b"]


def test_a_silent_node_is_not_ready_and_gets_no_pods():
    found = cluster("a")
    then = objects.stamp(time.time() - objects.SILENT_S - 1)
    ready = {"type": "Ready", "lastHeartbeatTime": then}
    change(found, "nodes", "a", {"status": {"conditions": [ready]}})
    (one,) = found.list("nodes")
    assert one["status"]["conditions"][0]["status"] == "Unknown"
    found.create("pods", None, pod("p"))
    assert where(found) == {"p": ""}


def test_a_strategic_patch_merges_the_lists_that_have_keys():
    before = {"status": {"conditions": [{"type": "A", "status": "x"}, {"type": "B"}]},
              "spec": {"taints": [{"key": "k"}], "more": 1}}  # fmt: skip
    patch = {"status": {"$setElementOrder/conditions": [], "conditions": [
        {"type": "A", "reason": "r"}, {"type": "B", "$patch": "delete"}]},
        "spec": {"taints": [{"key": "l"}], "more": None}}  # fmt: skip
    assert change_of(STRATEGIC, patch)(before) == {
        "status": {"conditions": [{"type": "A", "status": "x", "reason": "r"}]},
        "spec": {"taints": [{"key": "l"}]},
    }
    patch = {"status": {"conditions": [{"type": "C"}]}}
    assert change_of(MERGE, patch)(before)["status"] == patch["status"]


def test_a_json_patch_applies_its_operations():
    before = {"a": {"b/c": 1}, "l": [1, 2]}
    operations = [
        {"op": "test", "path": "/a/b~1c", "value": 1}, {"op": "remove", "path": "/a/b~1c"},
        {"op": "add", "path": "/l/-", "value": 3}, {"op": "replace", "path": "/l/0", "value": 0},
    ]  # fmt: skip
    assert change_of(JSON, operations)(before) == {"a": {}, "l": [0, 2, 3]}
    assert before == {"a": {"b/c": 1}, "l": [1, 2]}
    for bad in ({"op": "remove", "path": "/x"}, {"op": "replace", "path": "/x", "value": 1},
                {"op": "test", "path": "/l/0", "value": 9}, {"op": "add", "path": "/l/7"},
                {"op": "fly", "path": "/a"}, {"op": "remove", "path": ""}, "x"):  # fmt: skip
        with pytest.raises(BadPatch):
            change_of(JSON, [bad])(before)


def test_a_patch_keeps_name_and_id():
    found = cluster("a")
    uid = found.get("nodes", None, "a")["metadata"]["uid"]
    after = change(found, "nodes", "a", {"metadata": {"name": "b", "uid": "x"}, "kind": "Pod"})
    assert (after["metadata"]["name"], after["metadata"]["uid"], after["kind"]) == (
        "a", uid, "Node",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("selector", "fits"),
    [("", True), ("a=b", True), ("a==b", True), ("a=c", False), ("a!=c", True), ("a!=b", False),
     ("a", True), ("x", False), ("!x", True), ("!a", False), ("a=b,x", False)],
)  # fmt: skip
def test_labels_select_objects(selector: str, fits: bool):
    assert by_labels({"metadata": {"labels": {"a": "b"}}}, selector) is fits


@pytest.mark.parametrize(
    ("selector", "fits"),
    [("", True), ("spec.nodeName=n", True), ("spec.nodeName!=n", False), ("metadata.name=p", True),
     ("spec.nodeName==n,metadata.name=q", False), ("spec.unschedulable=false", True),
     ("status.phase!=Failed", True)],
)  # fmt: skip
def test_fields_select_objects(selector: str, fits: bool):
    one = {"metadata": {"name": "p"}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}}
    assert by_fields(selector)(one) is fits


def test_a_mapping_has_room_for_so_many_objects():
    found = cluster()
    for number in range(OBJECTS_MAX):
        found.create("namespaces", None, {"metadata": {"name": str(number)}})
    with pytest.raises(Full):
        found.create("namespaces", None, {"metadata": {"name": "one more"}})


@pytest.mark.parametrize(
    "body",
    [{}, {"metadata": {"name": "a/b"}}, {"metadata": {"name": "x", "labels": 3}},
     {"metadata": {"name": "x"}, "spec": []}, {"metadata": {"name": "x"}, "spec": {"taints": {}}},
     {"metadata": {"name": "x"}, "status": {"conditions": [{"lastHeartbeatTime": "today"}]}}],
)  # fmt: skip
def test_objects_of_an_invalid_form_are_refused(body: dict[str, Any]):
    with pytest.raises(ApiError) as refused:
        cluster().create("nodes", None, body)
    assert refused.value.status == 422


def test_no_group_is_empty_and_namespaces_are_as_old_as_the_process():
    for group in ("api/v1", "apis/apps/v1", "apis/policy/v1"):
        found = discovery(f"/{group}", "v1.31.0")
        assert found is not None
        assert found["resources"], group
    meta = Cluster(Memory({})).get("namespaces", None, "default")["metadata"]
    assert time.time() - seconds(meta["creationTimestamp"]) < 3600
