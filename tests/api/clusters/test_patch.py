"""The JSON patch dialect, without a server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.api.clusters import clusters, federations, node_groups, patch, templates
from hearth.model.problem import Rejected
from tests.api.clusters.server import Api

CLUSTER: dict[str, Any] = {
    **dict.fromkeys(clusters.RULES.fields),
    "name": "c1", "node_count": 3, "master_count": 1, "labels": {"a": "1"},
    "health_status_reason": {}, "floating_ip_enabled": True,
}  # fmt: skip
GROUP: dict[str, Any] = {
    **dict.fromkeys(node_groups.RULES.fields),
    "name": "g", "node_count": 3, "min_node_count": 1, "labels": {}, "node_labels": {},
    "node_taints": [{"key": "a", "effect": "NoSchedule"}],
}  # fmt: skip
TEMPLATE: dict[str, Any] = {
    **dict.fromkeys(templates.RULES.fields),
    "name": "t", "labels": {"a": "1"}, "public": False, "image_id": "img",
}  # fmt: skip


FEDERATION = {"name": "f", "properties": {"dns-zone": "z."}}


def changed(before: dict[str, Any], rules: patch.PatchRules, *operations: Any) -> dict[str, Any]:
    wanted = patch.changes(list(operations), rules)
    return patch.differing(before, patch.applied(before, wanted, rules))


def one(op: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": op, "path": path} | ({"value": value[0]} if value else {})


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (one("replace", "/node_count", 5), {"node_count": 5}),
        (one("replace", "/node_count", 3), {}),
        (one("remove", "/node_count"), {"node_count": 1}),
        (one("add", "/health_status", "UNHEALTHY"), {"health_status": "UNHEALTHY"}),
        (one("replace", "/health_status_reason", {"api": "ok"}), None),
        (one("replace", "/health_status_reason", " {'api': 'ok'}"), None),
        (one("add", "/health_status_reason/api", "ok"), None),
        (one("add", "/labels/b", "2"), {"labels": {"a": "1", "b": "2"}}),
        (one("replace", "/labels/a", 2), {"labels": {"a": "2"}}),
        (one("remove", "/labels/a"), {"labels": {}}),
        (one("replace", "/labels", {"x": True, "y": 1.5}), {"labels": {"x": "True", "y": "1.5"}}),
    ],
)
def test_an_operation_changes_an_attribute(operation: Any, expected: dict[str, Any] | None):
    if expected is None:
        expected = {"health_status_reason": {"api": "ok"}}
    assert changed(CLUSTER, clusters.RULES, operation) == expected


def test_operations_apply_in_their_order_and_the_object_stays():
    before = {**CLUSTER, "labels": {"a": "1"}}
    found = changed(
        before,
        clusters.RULES,
        one("add", "/labels/b", "2"),
        one("remove", "/labels/a"),
        one("replace", "/node_count", 7),
        one("replace", "/node_count", 8),
    )
    assert found == {"labels": {"b": "2"}, "node_count": 8}
    assert before["labels"] == {"a": "1"}


@pytest.mark.parametrize(
    ("before", "rules", "operation", "words"),
    [
        (CLUSTER, clusters.RULES, one("replace", "/node_count", "5"), "expected a whole number"),
        (CLUSTER, clusters.RULES, one("replace", "/node_count", True), "expected a whole number"),
        (CLUSTER, clusters.RULES, one("replace", "/node_count", -1), "expected 0 to"),
        (
            CLUSTER,
            clusters.RULES,
            one("replace", "/node_count", 1.5),
            "Expected a string or",
        ),
        (
            CLUSTER,
            clusters.RULES,
            one("replace", "/node_count", [1]),
            "Expected a string or",
        ),
        (CLUSTER, clusters.RULES, one("replace", "/node_count", None), "No value"),
        (CLUSTER, clusters.RULES, one("replace", "/node_count"), "No value"),
        (CLUSTER, clusters.RULES, one("test", "/node_count", 3), "Unknown patch operation"),
        (CLUSTER, clusters.RULES, {"path": "/name", "value": "x"}, "Unknown patch operation"),
        (CLUSTER, clusters.RULES, one("replace", "node_count", 3), "Invalid path"),
        (CLUSTER, clusters.RULES, one("replace", "/node_count/", 3), "Invalid path"),
        (CLUSTER, clusters.RULES, one("replace", "/node_count\n", 3), "Invalid path"),
        (CLUSTER, clusters.RULES, one("replace", "/labels/a.b", "c"), "Invalid path"),
        (CLUSTER, clusters.RULES, one("replace", 7, "c"), "Invalid path"),
        (CLUSTER, clusters.RULES, one("replace", "/uuid", "x"), "internal"),
        (CLUSTER, clusters.RULES, one("add", "/stack_id", "x"), "internal"),
        (CLUSTER, clusters.RULES, one("remove", "/cluster_template_id"), "mandatory"),
        (CLUSTER, clusters.RULES, one("add", "/name", "x"), "already has a value"),
        (CLUSTER, clusters.RULES, one("add", "/colour", "x"), "no such attribute"),
        (CLUSTER, clusters.RULES, one("replace", "/labels/b", "x"), "no such attribute"),
        (CLUSTER, clusters.RULES, one("remove", "/labels/b"), "no such attribute"),
        (CLUSTER, clusters.RULES, one("add", "/labels/b/c", "x"), "no such attribute"),
        (CLUSTER, clusters.RULES, one("add", "/name/b", "x"), "no such attribute"),
        (CLUSTER, clusters.RULES, one("replace", "/health_status", "ILL"), "expected HEALTHY"),
        (CLUSTER, clusters.RULES, one("replace", "/health_status_reason", "open('x')"), "a map"),
        (CLUSTER, clusters.RULES, one("replace", "/health_status_reason", "7"), "a map"),
        (CLUSTER, clusters.RULES, one("replace", "/health_status_reason", "(" * 9999), "a map"),
        (CLUSTER, clusters.RULES, one("replace", "/labels", "{'a': '\\ud800'}"), "a map"),
        (CLUSTER, clusters.RULES, one("replace", "/labels", "{'\\ud800': []}"), "a map"),
        (GROUP, node_groups.RULES, one("replace", "/node_taints", "[{'key': '\\udfff'}]"), "a map"),
        (CLUSTER, clusters.RULES, one("replace", "/labels", "{'a': '\\x00'}"), "null characters"),
        (CLUSTER, clusters.RULES, one("replace", "/labels", "{'a': 1j}"), "a map"),
        (CLUSTER, clusters.RULES, {**one("remove", "/name"), "from": "/x"}, "Unknown attribute"),
        (CLUSTER, clusters.RULES, "remove /name", "Expected a JSON object"),
        (GROUP, node_groups.RULES, one("replace", "/node_taints/1", {"key": "b"}), "no such"),
        (GROUP, node_groups.RULES, one("add", "/node_taints/5", {"key": "b"}), "no such"),
        (GROUP, node_groups.RULES, one("replace", "/cluster_id", "x"), "internal"),
        (TEMPLATE, templates.RULES, one("remove", "/image_id"), "mandatory"),
        (TEMPLATE, templates.RULES, one("replace", "/public", "perhaps"), "expected true"),
        (TEMPLATE, templates.RULES, one("replace", "/labels", ["a"]), "expected a map"),
    ],
)
def test_a_wrong_operation_is_refused(
    before: dict[str, Any], rules: patch.PatchRules, operation: Any, words: str
):
    with pytest.raises(Rejected, match=words) as refused:
        changed(before, rules, operation)
    assert refused.value.problems[0].status == 400


@pytest.mark.parametrize(
    ("operation", "effects"),
    [
        (one("add", "/node_taints/-", {"key": "b"}), ["a", "b"]),
        (one("add", "/node_taints/0", {"key": "b"}), ["b", "a"]),
        (one("replace", "/node_taints/0", {"key": "b"}), ["b"]),
        (one("replace", "/node_taints", "[{'key': 'c'}]"), ["c"]),
        (one("remove", "/node_taints/0"), []),
        (one("remove", "/node_taints"), []),
    ],
)
def test_members_of_lists_can_be_changed(operation: Any, effects: list[str]):
    found = changed(GROUP, node_groups.RULES, operation)
    assert [taint["key"] for taint in found["node_taints"]] == effects


def test_a_body_is_a_list_of_limited_length():
    for body in ({}, "x", None, 7, {"op": "remove"}):
        with pytest.raises(Rejected, match="Expected a list"):
            patch.changes(body, clusters.RULES)
    with pytest.raises(Rejected, match="Too many"):
        patch.changes([one("remove", "/name")] * 1001, clusters.RULES)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
paths = st.sampled_from(["/labels", "/labels/a", "/node_count", "/name", "/health_status"])
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "replace", "remove"]), "path": paths | st.text(max_size=8)},
    optional={"value": json},
)


@given(json | st.lists(operations | json, max_size=4))
def test_any_body_is_applied_or_refused(body: Any):
    for before, rules in ((CLUSTER, clusters.RULES), (TEMPLATE, templates.RULES)):
        try:
            after = patch.applied(before, patch.changes(body, rules), rules)
        except Rejected:
            continue
        assert after.keys() == before.keys()
        labels = after["labels"]
        assert labels is None or all(isinstance(value, str) for value in labels.values())


@pytest.mark.parametrize(
    "literal",
    ["-" * 60_000 + "1", "[" * 60_000, "[1," * 20_000, "1" * 60_000, "{1:" * 15_000, "~" * 60_000,
     "not " * 15_000 + "1", "1+" * 30_000 + "1", "'a' " * 15_000, "\\" * 60_000, "lambda:" * 8_000,
     "[*" * 20_000 + "1", "x." * 30_000 + "x",
     "((" * 90 + "))" * 90, "f'{1}'", "{**{}}", "__import__"],
)  # fmt: skip
def test_hostile_literals_are_refused(literal: str):
    with pytest.raises(Rejected, match="Expected a map or a list"):
        changed(CLUSTER, clusters.RULES, one("replace", "/health_status_reason", literal))


PATHS = {"clusters": clusters.RULES, "clustertemplates": templates.RULES,
         "nodegroups": node_groups.RULES, "federations": federations.RULES}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "attribute"), [(kind, name) for kind, rules in PATHS.items() for name in rules.fields]
)
def test_a_removed_attribute_gets_a_value_or_is_refused(magnum: Api, kind: str, attribute: str):
    template = magnum.template("patched", labels={"a": "1"})
    path = f"/v1/clustertemplates/{template}"
    if kind == "federations":
        host = magnum.cluster("host", magnum.template("of host"))
        made = magnum.call("POST", "/v1/federations", FEDERATION | {"hostcluster_id": host})
        assert made.status_code == 202, made.text
        path = f"/v1/federations/{made.json()['uuid']}"
    elif kind != "clustertemplates":
        path = f"/v1/clusters/{magnum.cluster('patched', template, labels={'a': '1'})}"
        path += "/nodegroups/default-worker" if kind == "nodegroups" else ""
    reply = magnum.call("PATCH", path, [one("remove", f"/{attribute}")])
    assert reply.status_code in (200, 202, 400), reply.text
    if kind == "clustertemplates" and attribute == "name":
        assert reply.json()["name"].endswith("-template")
