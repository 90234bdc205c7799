"""The requests about node groups, with the answers that Magnum documents: status and fields.

Each case begins with a cluster of its own, which has one additional group, and runs its steps in
order. Between two steps nothing is settled unless a step asks for it: a request after a refused one
finds what the refused one left.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
import requests
from msgspec.structs import replace

from hearth.clusters.objects import NodeGroup
from hearth.store.clusters import rows
from hearth.store.clusters.tables import cluster as cluster_table
from hearth.store.clusters.tables import node_group
from tests.api.clusters.server import Api, image

pytestmark = pytest.mark.slow

NOTHING = "00000000-0000-4000-8000-000000000000"
ALL: dict[str, Any] = {
    "name": "gpu", "node_count": 2, "min_node_count": 1, "max_node_count": 4, "role": "gpu",
    "docker_volume_size": 5, "flavor_id": "m1.small", "image_id": "img", "merge_labels": True,
    "labels": {"availability_zone": "nova"}, "node_labels": {"team": "a"},
    "node_taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
}  # fmt: skip
SHORT = {
    "uuid", "name", "flavor_id", "image_id", "node_count", "min_node_count", "max_node_count",
    "role", "is_default", "status", "stack_id", "merge_labels",
}  # fmt: skip
TAINTS = {"node_labels", "node_taints"}
RESIZE, UPGRADE = "{cluster}/actions/resize", "{cluster}/actions/upgrade"
GROUPS = "{cluster}/nodegroups"
EXTRA, WORKER, MASTER = (f"{GROUPS}/{name}" for name in ("extra", "worker", "master"))


@dataclass(frozen=True)
class Step:
    """A request and what its answer must be; `shows` are fields of the answer with their values.

    `names` are the names of the listed groups, and `lacks` the fields that the answer must not
    have.
    """

    method: str
    path: str
    status: int
    body: Any = None
    shows: dict[str, Any] = field(default_factory=dict)
    names: list[str] | None = None
    lacks: set[str] = field(default_factory=set)
    version: str = "latest"
    by: str = "member"
    words: str = ""


def put(path: str, value: Any, operation: str = "replace") -> dict[str, Any]:
    return {"op": operation, "path": path, "value": value}


def drop(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def get(path: str, names: list[str] | None = None, status: int = 200, **more: Any) -> Step:
    return Step("GET", path, status, names=names, **more)


def post(status: int, body: Any, path: str = GROUPS, **more: Any) -> Step:
    return Step("POST", path, status, body, **more)


def patch(status: int, *operations: Any, path: str = EXTRA, **more: Any) -> Step:
    return Step("PATCH", path, status, list(operations), **more)


def state(name: str, **columns: Any) -> Step:
    """Not a request: the group with this name, or the cluster, gets these values."""
    return Step("STATE", name, 0, columns)


NAMES = ["master", "worker", "extra"]
CASES: dict[str, list[Step]] = {
    # lists
    "list": [get(GROUPS, NAMES), get(f"{GROUPS}/", NAMES)],
    "list by role": [
        get(f"{GROUPS}?role=master", ["master"]),
        get(f"{GROUPS}?role=worker", ["worker"]),
        get(f"{GROUPS}?role=gpu", ["extra"]),
        get(f"{GROUPS}?role=nobody", []),
    ],
    "list in pages": [
        get(f"{GROUPS}?limit=2", ["master", "worker"]),
        get(f"{GROUPS}?limit=2&marker={{worker}}", ["extra"]),
        get(f"{GROUPS}?limit=1&role=gpu", ["extra"]),
        get(f"{GROUPS}?limit=0", status=400),
        get(f"{GROUPS}?limit=-1", status=400),
        get(f"{GROUPS}?limit=many", status=400),
        get(f"{GROUPS}?marker=worker", status=400),
        get(f"{GROUPS}?marker={NOTHING}", status=404),
    ],
    "list in order": [
        get(f"{GROUPS}?sort_key=name", ["extra", "master", "worker"]),
        get(f"{GROUPS}?sort_key=name&sort_dir=desc", ["worker", "master", "extra"]),
        get(f"{GROUPS}?sort_key=node_count&sort_dir=desc", ["worker", "extra", "master"]),
        get(f"{GROUPS}?sort_key=nothing", status=400),
        get(f"{GROUPS}?sort_dir=up", status=400),
    ],
    "list with what is no argument": [get(f"{GROUPS}?name=worker", status=400)],
    "list of no cluster": [get("/v1/clusters/nothing/nodegroups", status=404)],
    "list of another project": [
        get(GROUPS, status=404, by="stranger"),
        get(GROUPS, NAMES, by="outer admin"),
    ],
    # one of them
    "show": [
        get(EXTRA, shows={"name": "extra", "role": "gpu", "is_default": False, "node_count": 2}),
        get(f"{GROUPS}/{{extra}}", shows={"name": "extra", "min_node_count": 1}),
        get(MASTER, shows={"is_default": True, "role": "master"}),
        get(WORKER, shows={"is_default": True, "role": "worker", "node_count": 3}),
        get(f"{GROUPS}/nothing", status=404),
        get(f"{GROUPS}/{NOTHING}", status=404),
        get(f"{GROUPS}/{{foreign}}", status=404),
    ],
    # create
    "create with every field": [
        post(202, ALL, shows={**ALL, "merge_labels": False, "labels": {"a": "1", **ALL["labels"]}}),
        get(f"{GROUPS}/gpu", shows={"status": "CREATE_IN_PROGRESS", "is_default": False}),
        get(GROUPS, [*NAMES, "gpu"]),
    ],
    "create with defaults": [
        post(
            202, {"name": "plain"}, lacks={"status", "stack_id", "is_default"},
            shows={"node_count": 1, "min_node_count": 0, "max_node_count": None, "role": "worker",
                   "image_id": "img", "flavor_id": "m1.tiny", "labels": {"a": "1"}},
        ),
    ],
    "create with numbers as text": [
        post(202, {"name": "n", "node_count": "2", "max_node_count": "3"}, shows={"node_count": 2})
    ],
    "create with no node": [
        post(202, {"name": "none", "node_count": 0}, version="1.10", shows={"node_count": 0}),
        post(400, {"name": "none2", "node_count": 0}, version="1.9"),
    ],
    "create with other labels": [
        post(
            202, {"name": "n", "labels": {"b": 2}},
            shows={"labels": {"b": "2"}, "labels_added": {"b": "2"}, "labels_skipped": {"a": "1"}},
        ),
    ],
    "create without a name": [post(202, {}, shows={"role": "worker"})],
    "create what is wrong": [
        post(409, {"name": "extra"}),
        post(409, {"name": "n", "node_count": 1, "min_node_count": 2}),
        post(409, {"name": "n", "node_count": 3, "max_node_count": 2}),
        post(409, {"name": "n", "min_node_count": 3, "max_node_count": 2, "node_count": 3}),
        post(400, {"name": "n", "role": "master"}),
        post(400, {"name": "n", "node_count": -1}),
        post(400, {"name": "n", "min_node_count": -1}),
        post(400, {"name": "n", "docker_volume_size": 0}),
        post(400, {"name": ""}),
        post(400, {"name": "n" * 256}),
        post(400, {"name": "n", "colour": "red"}),
        post(400, {"name": "n", "stack_id": NOTHING}),
        post(400, {"name": "n", "node_addresses": []}),
        post(400, {"name": "n", "flavor_id": "nothing"}),
        post(400, {"name": "n", "image_id": "nothing"}),
        post(400, {"name": "n", "image_id": "bare"}, words="os_distro"),
        post(409, {"name": "n", "node_labels": {"kubernetes.io/role": "x"}}),
        post(409, {"name": "n", "node_taints": [{"key": "k", "effect": "Never"}]}),
        post(404, {"name": "n"}, "/v1/clusters/nothing/nodegroups"),
        post(404, {"name": "n"}, by="stranger"),
        post(403, {"name": "n"}, by="reader"),
        # nothing of all this is left
        get("{cluster}", shows={"status": "CREATE_COMPLETE", "node_count": 5}),
        get(GROUPS, NAMES),
        post(202, {"name": "n"}),
    ],
    "create the same again": [post(202, {"name": "n"}), post(409, {"name": "n"})],
    "create while another is under way": [
        post(202, {"name": "one"}),
        post(202, {"name": "two"}),
        get(GROUPS, [*NAMES, "one", "two"]),
    ],
    "create before the cluster has an address": [
        state("cluster", api_address=None), post(409, {"name": "n"}), get(GROUPS, NAMES),
    ],
    # change
    "change the limits": [
        patch(202, put("/max_node_count", 9), shows={"max_node_count": 9, "min_node_count": 1}),
        patch(202, put("/min_node_count", 2), shows={"min_node_count": 2, "node_count": 2}),
        patch(202, put("/min_node_count", 0), put("/max_node_count", 3),
              shows={"min_node_count": 0, "max_node_count": 3}),
        patch(202, drop("/max_node_count"), shows={"max_node_count": None}),
        patch(202, put("/max_node_count", 7, "add"), shows={"max_node_count": 7}),
        patch(400, put("/max_node_count", 8, "add")),  # has a value
        patch(202, drop("/min_node_count"), shows={"min_node_count": 0}),
        get(EXTRA, shows={"min_node_count": 0, "max_node_count": 7, "node_count": 2}),
    ],
    "change the limits of default groups": [
        patch(202, put("/max_node_count", 5), path=WORKER, shows={"max_node_count": 5}),
        patch(202, put("/max_node_count", 5, "replace"), path=MASTER, shows={"is_default": True}),
    ],
    "change by id": [
        patch(202, put("/max_node_count", 5), path=f"{GROUPS}/{{extra}}", shows={"name": "extra"})
    ],
    "change nodes": [
        patch(202, put("/node_labels", {"b": "2"}), shows={"node_labels": {"b": "2"}}),
        patch(202, put("/node_labels/c", "3", "add"), shows={"node_labels": {"b": "2", "c": "3"}}),
        patch(202, drop("/node_labels/b"), shows={"node_labels": {"c": "3"}}),
        patch(202, drop("/node_labels"), shows={"node_labels": {}}),
        patch(202, put("/node_taints", [{"key": "k", "effect": "NoExecute"}]),
              shows={"node_taints": [{"key": "k", "effect": "NoExecute"}]}),
        patch(409, put("/node_taints", [{"key": "k", "effect": "Never"}])),
        patch(409, put("/node_labels", {"k8s.io/x": "y"})),
        get(EXTRA, shows={"node_labels": {},
                          "node_taints": [{"key": "k", "effect": "NoExecute"}]}),
    ],
    "change what cannot be changed": [
        *(
            patch(400, put(f"/{name}", value))
            for name, value in {
                "name": "other", "node_count": 3, "role": "worker", "flavor_id": "m1.large",
                "image_id": "other", "labels": {"b": "2"}, "docker_volume_size": 8,
                "is_default": "true", "stack_id": NOTHING, "uuid": NOTHING, "id": 9,
                "cluster_id": NOTHING, "project_id": "p", "status": "UPDATE_COMPLETE",
                "status_reason": "x", "node_addresses": "x", "colour": "red", "links": "x",
                "created_at": "x", "updated_at": "x",
            }.items()
        ),
        *(patch(400, drop(f"/{name}")) for name in ("name", "role", "node_count", "colour")),
        get(EXTRA, shows={"node_count": 2, "role": "gpu", "updated_at": None}),
    ],
    "change to what contradicts": [
        patch(409, put("/max_node_count", 1)),  # below its nodes
        patch(409, put("/min_node_count", 3)),
        patch(409, put("/min_node_count", 9), put("/max_node_count", 8)),
        get(EXTRA, shows={"min_node_count": 1, "max_node_count": 4}),
        patch(202, put("/max_node_count", 2), shows={"max_node_count": 2}),
    ],
    "change with what is no patch": [
        patch(400, put("/max_node_count", "5")),
        patch(400, put("/max_node_count", -1)),
        patch(400, {"op": "move", "path": "/max_node_count", "value": 5}),
        patch(400, {"op": "replace", "path": "/max_node_count"}),
        patch(400, {"op": "replace", "value": 5}),
        patch(400, put("max_node_count", 5)),
        Step("PATCH", EXTRA, 400, {"max_node_count": 5}),
        get(EXTRA, shows={"max_node_count": 4, "updated_at": None}),
        patch(202, put("/max_node_count", 5), shows={"max_node_count": 5}),
    ],
    "change what is not there": [
        patch(404, put("/max_node_count", 5), path=f"{GROUPS}/nothing"),
        patch(404, put("/max_node_count", 5), path="/v1/clusters/nothing/nodegroups/extra"),
        patch(404, put("/max_node_count", 5), by="stranger"),
        patch(403, put("/max_node_count", 5), by="reader"),
    ],
    "change in a state that does not allow it": [
        state("extra", status="CREATE_FAILED"),
        patch(400, put("/max_node_count", 5)),
        state("extra", status="UPDATE_FAILED"),
        patch(202, put("/max_node_count", 5), shows={"max_node_count": 5}),
        state("extra", status="DELETE_IN_PROGRESS"),
        patch(400, put("/max_node_count", 6)),
    ],
    # delete
    "delete": [
        Step("DELETE", EXTRA, 204),
        get(EXTRA, shows={"status": "DELETE_IN_PROGRESS"}),
        get("{cluster}", shows={"status": "UPDATE_IN_PROGRESS"}),
        Step("DELETE", EXTRA, 204),  # again
        post(409, {"name": "extra"}),  # not before it is gone
        post(409, {"node_count": 3, "nodegroup": "extra"}, RESIZE),
    ],
    "delete by id": [Step("DELETE", f"{GROUPS}/{{extra}}", 204)],
    "delete a default group": [
        Step("DELETE", WORKER, 400), Step("DELETE", MASTER, 400),
        Step("DELETE", f"{GROUPS}/{{worker}}", 400),
        get("{cluster}", shows={"status": "CREATE_COMPLETE"}),
    ],
    "delete what is not there": [
        Step("DELETE", f"{GROUPS}/nothing", 404),
        Step("DELETE", EXTRA, 404, by="stranger"),
        Step("DELETE", EXTRA, 403, by="reader"),
        get(EXTRA, shows={"status": "CREATE_COMPLETE"}),
    ],
    "delete a group that failed": [
        state("extra", status="CREATE_FAILED", stack_id=None),
        state("cluster", status="UPDATE_FAILED"),
        post(409, {"node_count": 3, "nodegroup": "extra"}, RESIZE),
        post(202, {"name": "beside"}),
        Step("DELETE", EXTRA, 204),
        get(EXTRA, shows={"status": "DELETE_IN_PROGRESS"}),
        state("extra", status="DELETE_FAILED"),
        Step("DELETE", EXTRA, 204),
    ],
    # resize
    "resize": [
        post(202, {"node_count": 4, "nodegroup": "extra"}, RESIZE),
        get(EXTRA, shows={"node_count": 4, "status": "UPDATE_IN_PROGRESS"}),
        get(WORKER, shows={"node_count": 3}),
        get("{cluster}", shows={"status": "UPDATE_IN_PROGRESS", "node_count": 7}),
    ],
    "resize without a group": [
        post(202, {"node_count": 1}, RESIZE),
        get(WORKER, shows={"node_count": 1}), get(EXTRA, shows={"node_count": 2}),
    ],
    "resize by id": [
        post(202, {"node_count": 3, "nodegroup": "{extra}"}, RESIZE),
        get(EXTRA, shows={"node_count": 3}),
    ],
    "resize to no node": [
        post(202, {"node_count": 0}, RESIZE, version="1.10"), get(WORKER, shows={"node_count": 0}),
        post(400, {"node_count": 0}, RESIZE, version="1.9"),
    ],
    "resize what is wrong": [
        post(400, {"node_count": 0, "nodegroup": "extra"}, RESIZE),  # below min_node_count
        post(400, {"node_count": 5, "nodegroup": "extra"}, RESIZE),  # above max_node_count
        post(400, {"node_count": 3, "nodegroup": "master"}, RESIZE),
        post(404, {"node_count": 3, "nodegroup": "nothing"}, RESIZE),
        post(404, {"node_count": 3, "nodegroup": "{foreign}"}, RESIZE),
        post(400, {"nodegroup": "extra"}, RESIZE),
        post(400, {"node_count": -1, "nodegroup": "extra"}, RESIZE),
        post(400, {"node_count": 3, "nodegroup": ""}, RESIZE),
        post(400, {"node_count": 3, "nodes_to_remove": "x"}, RESIZE),
        post(404, {"node_count": 3}, RESIZE, by="stranger"),
        post(403, {"node_count": 3}, RESIZE, by="reader"),
        get("{cluster}", shows={"status": "CREATE_COMPLETE"}),
        get(EXTRA, shows={"node_count": 2}),
        post(202, {"node_count": 3, "nodegroup": "extra"}, RESIZE),
    ],
    "resize after the limits were moved": [
        post(400, {"node_count": 6, "nodegroup": "extra"}, RESIZE),
        patch(202, put("/max_node_count", 6)),
        post(202, {"node_count": 6, "nodegroup": "extra"}, RESIZE),
        patch(409, put("/max_node_count", 5)),
    ],
    "resize while another is under way": [
        post(202, {"node_count": 3, "nodegroup": "extra"}, RESIZE),
        post(202, {"node_count": 4, "nodegroup": "extra"}, RESIZE),
        post(202, {"node_count": 5}, RESIZE),
        get(EXTRA, shows={"node_count": 4}), get(WORKER, shows={"node_count": 5}),
        patch(400, put("/node_count", 4), path="{cluster}"),
    ],
    "resize while the cluster is made or leaves": [
        state("cluster", status="CREATE_IN_PROGRESS"),
        post(400, {"node_count": 3, "nodegroup": "extra"}, RESIZE),
        post(400, {"name": "n"}),
        state("cluster", status="DELETE_IN_PROGRESS"),
        post(400, {"node_count": 3, "nodegroup": "extra"}, RESIZE),
        post(400, {"name": "n"}),
        Step("DELETE", EXTRA, 204),
        get("{cluster}", shows={"status": "DELETE_IN_PROGRESS"}),
    ],
    # upgrade
    "upgrade": [
        post(202, {"cluster_template": "{template}", "nodegroup": "extra"}, UPGRADE),
        get(EXTRA, shows={"status": "UPDATE_IN_PROGRESS"}),
        get(WORKER, shows={"status": "CREATE_COMPLETE"}),
        post(400, {"cluster_template": "{template}", "nodegroup": "extra"}, UPGRADE),
    ],
    "upgrade the default groups": [
        post(202, {"cluster_template": "{template}", "nodegroup": "worker",
                   "max_batch_size": 2}, UPGRADE),
        get(MASTER, shows={"status": "UPDATE_IN_PROGRESS"}),
        get(EXTRA, shows={"status": "CREATE_COMPLETE"}),
    ],
    "upgrade what is wrong": [
        post(409, {"cluster_template": "{other}", "nodegroup": "extra"}, UPGRADE),
        post(404, {"cluster_template": "{template}", "nodegroup": "nothing"}, UPGRADE),
        post(404, {"cluster_template": "nothing", "nodegroup": "extra"}, UPGRADE),
        post(400, {"nodegroup": "extra"}, UPGRADE),
        post(400, {"cluster_template": "{template}", "max_batch_size": 0}, UPGRADE),
        get("{cluster}", shows={"status": "CREATE_COMPLETE"}),
        post(202, {"cluster_template": "{template}", "nodegroup": "extra"}, UPGRADE),
    ],
    # versions
    "below 1.9 there are no groups": [
        *(
            Step(method, path, 406, body, version=version)
            for version in ("1.1", "1.8")
            for method, path, body in [
                ("GET", GROUPS, None), ("GET", EXTRA, None), ("POST", GROUPS, {"name": "n"}),
                ("PATCH", EXTRA, [put("/max_node_count", 5)]), ("DELETE", EXTRA, None),
            ]
        ),
        get(GROUPS, NAMES, version="1.9"),
    ],
    "below 1.7 and 1.8 there are no actions": [
        post(406, {"node_count": 3}, RESIZE, version="1.6"),
        post(406, {"cluster_template": "{template}"}, UPGRADE, version="1.6"),
        post(400, {"cluster_template": "{template}"}, UPGRADE, version="1.7"),
        post(202, {"node_count": 3, "nodegroup": "extra"}, RESIZE, version="1.7"),
    ],
    "below 1.14 nodes have no labels": [
        get(EXTRA, version="1.13", lacks=TAINTS),
        get(EXTRA, version="1.14", shows={"node_labels": {}, "node_taints": []}),
        post(400, {"name": "n", "node_labels": {"a": "b"}}, version="1.13"),
        patch(400, put("/node_taints", []), version="1.13"),
        patch(400, drop("/node_labels"), version="1.13"),
        patch(202, put("/max_node_count", 5), version="1.9", lacks=TAINTS),
        post(202, {"name": "n"}, version="1.13", lacks=TAINTS),
    ],
}  # fmt: skip


class World:
    """A cluster with an additional group, and what the placeholders of the steps stand for."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.template, other = api.template("groups"), api.template("other")
        labels = {"a": "1"}
        uuid, foreign = (
            api.cluster(
                "c", self.template, groups=("master", "worker"), flavor_id="m1.tiny", labels=labels
            )
            for _ in range(2)
        )
        self.uuid = uuid
        self.extra(uuid)
        self.known = {"cluster": f"/v1/clusters/{uuid}", "template": self.template, "other": other,
                      **self.groups(uuid), "foreign": self.groups(foreign)["worker"]}  # fmt: skip

    def extra(self, cluster: str) -> None:
        new = NodeGroup(
            uuid=str(uuid4()), name="extra", cluster_id=cluster,
            project_id=self.api.projects["demo"], image_id="img", flavor_id="m1.tiny", role="gpu",
            node_count=2, min_node_count=1, max_node_count=4, labels={"a": "1"},
            status="CREATE_COMPLETE", stack_id=str(uuid4()), created_at=1.0,
        )  # fmt: skip
        self.api.run(lambda tx: rows.insert(tx, replace(new)))

    def groups(self, cluster: str) -> dict[str, str]:
        listed = self.api.call("GET", f"/v1/clusters/{cluster}/nodegroups").json()["nodegroups"]
        return {one["name"]: one["uuid"] for one in listed}

    def filled(self, given: Any) -> Any:
        """The value with its placeholders replaced."""
        if isinstance(given, str):
            for name, value in self.known.items():
                given = given.replace(f"{{{name}}}", value)
            return given
        if isinstance(given, dict):
            return {key: self.filled(one) for key, one in given.items()}
        return [self.filled(one) for one in given] if isinstance(given, list) else given

    def set(self, step: Step) -> None:
        table = cluster_table if step.path == "cluster" else node_group
        uuid = self.uuid if step.path == "cluster" else self.known[step.path]
        change = table.update().where(table.c.uuid == uuid).values(**step.body)
        self.api.run(lambda tx: tx.execute(change))

    def ask(self, step: Step) -> requests.Response:
        path, body = self.filled(step.path), self.filled(step.body)
        return self.api.call(step.method, path, body, by=step.by, version=step.version)


@pytest.fixture(scope="module")
def api(magnum: Api) -> Api:
    image(magnum.cloud, "bare")
    return magnum


@pytest.mark.parametrize("case", CASES)
def test_requests_about_node_groups_get_what_magnum_documents(api: Api, case: str):
    world = World(api)
    wrong = []
    for number, step in enumerate(CASES[case], 1):
        if step.method == "STATE":
            world.set(step)
            continue
        reply = world.ask(step)
        if words := verdict(step, reply):
            wrong.append(f"step {number}, {step.method} {step.path}: {words}: {reply.text[:300]}")
    assert wrong == []


def verdict(step: Step, reply: requests.Response) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    if reply.status_code != step.status:
        return f"status {reply.status_code}, not {step.status}"
    if step.status == 204:
        return "a body" if reply.content else ""
    body = reply.json()
    if step.status >= 400:
        (error,) = body["errors"]
        known = error["status"] == step.status and error["title"] and step.words in error["detail"]
        return "" if known else "not an error of Magnum"
    if step.names is not None:
        listed = body["nodegroups"]
        if strange := [one["name"] for one in listed if set(one) != SHORT]:
            return f"keys of {strange}"
        names = [one["name"] for one in listed]
        return "" if names == step.names else f"groups {names}"
    if extra := step.lacks & set(body):
        return f"has {sorted(extra)}"
    differ = {
        name: body.get(name, "is missing")
        for name, value in step.shows.items()
        if name not in body or body[name] != value
    }
    return f"differ: {differ}" if differ else ""
