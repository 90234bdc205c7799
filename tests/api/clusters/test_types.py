"""The types of fields in bodies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.api.clusters import bodies
from hearth.api.clusters.types import body_values as parsed
from hearth.model.problem import Rejected

LATEST = (1, 14)
TEXTS = {"a": "True", "b": "1.5", "c": "1", "d": "x"}
LEAST = {"cluster_template_id": "t"}


def cluster(**more: Any) -> dict[str, Any]:
    return parsed({**LEAST, **more}, bodies.CLUSTER, LATEST)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("node_count", "2", 2),
        ("node_count", " 2 ", 2),
        ("node_count", 0, 0),
        ("floating_ip_enabled", "False", False),
        ("floating_ip_enabled", 1, True),
        ("labels", {"a": True, "b": 1.5, "c": 1, "d": "x"}, TEXTS),
        ("name", "a" * 242, "a" * 242),
        ("create_timeout", 0, 0),
    ],
)
def test_values_are_converted(name: str, value: Any, expected: Any):
    assert cluster(**{name: value})[name] == expected


def test_a_null_is_absent_and_read_answers_may_be_sent_back():
    assert cluster(flavor_id=None, labels=None, node_count=None) == LEAST
    assert cluster(uuid="0" * 32, status="CREATE_COMPLETE", faults={}) == LEAST


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("node_count", "two"),
        ("node_count", "²"),
        ("node_count", "1e3"),
        ("node_count", True),
        ("node_count", 1.0),
        ("node_count", -1),
        ("node_count", 2**31),
        ("node_count", "99999999999"),
        ("node_count", [1]),
        ("master_count", 0),
        ("docker_volume_size", 0),
        ("name", ""),
        ("name", "a" * 243),
        ("name", "-a"),
        ("name", "a b"),
        ("name", "a\n"),
        ("name", "ä"),
        ("name", 7),
        ("keypair", "a\0"),
        ("labels", []),
        ("labels", {"a": None}),
        ("labels", {"a": {}}),
        ("labels", {"a" * 256: "x"}),
        ("labels", {"a": "x\0"}),
        ("labels", dict.fromkeys(map(str, range(1001)), "x")),
        ("floating_ip_enabled", "perhaps"),
        ("floating_ip_enabled", 2),
        ("floating_ip_enabled", {}),
        ("status", "WONDERFUL"),
        ("uuid", "x"),
        ("project_id", "p"),
        ("links", None),
        ("colour", "red"),
        ("colour", None),
        ("ca_cert_ref", "x"),
        ("trust_id", "x"),
    ],
)
def test_wrong_values_are_refused_by_name(name: str, value: Any):
    with pytest.raises(Rejected, match=name) as refused:
        cluster(**{name: value})
    assert refused.value.problems[0].status == 400


def test_node_labels_need_their_version():
    body = {"node_labels": {"a": "b"}}
    assert parsed(body, bodies.NODE_GROUP, LATEST) == body
    with pytest.raises(Rejected, match=r"node_labels in version 1\.13"):
        parsed(body, bodies.NODE_GROUP, (1, 13))


def test_what_is_mandatory_must_be_there():
    for body in ({}, {"image_id": "x"}, {"coe": "kubernetes"}, {"coe": None, "image_id": "x"}):
        with pytest.raises(Rejected, match="mandatory"):
            parsed(body, bodies.TEMPLATE, LATEST)


def test_a_name_that_is_nearly_right_is_suggested():
    with pytest.raises(Rejected, match="did you mean flavor_id"):
        cluster(flavour_id="x")


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
OBJECTS = (
    bodies.CLUSTER, bodies.TEMPLATE, bodies.NODE_GROUP, bodies.RESIZE, bodies.UPGRADE,
    bodies.QUOTA, bodies.FEDERATION, bodies.CERTIFICATE,
)  # fmt: skip


@given(st.sampled_from(OBJECTS), st.data())
def test_any_body_is_parsed_or_refused(declared: Any, data: st.DataObject):
    names = st.sampled_from(sorted(declared)) | st.text(max_size=4)
    body = data.draw(st.dictionaries(names, json, max_size=5) | json)
    try:
        found = parsed(body, declared, LATEST)
    except Rejected:
        return
    assert all(value is not None for value in found.values())
