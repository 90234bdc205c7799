"""Notifications about clusters have the form that consumers of Magnum know."""

import json
from typing import Any

import msgspec
import pytest

from hearth.bus.cadf import cluster_message
from hearth.bus.notification import Notifications
from hearth.clusters.notifications import of_certificate, of_cluster, of_group
from hearth.clusters.objects import Cluster, NodeGroup

CLUSTER = Cluster(
    uuid="c1", name="farm", project_id="p1", user_id="owner", cluster_template_id="t1",
    status="CREATE_COMPLETE", labels={"kube_tag": "v1.31.1", "grafana_admin_passwd": "canary-1"},
    docker_volume_size=5, created_at=1700000000.0,
    initiator={"user_id": "u1", "project_id": "p1", "domain_id": "default"},
)  # fmt: skip
GROUPS = [
    NodeGroup(uuid="m", name="default-master", cluster_id="c1", project_id="p1", role="master",
              node_count=3, node_addresses=("10.0.0.1",), is_default=True),
    NodeGroup(uuid="w", name="default-worker", cluster_id="c1", project_id="p1", node_count=2,
              node_addresses=("10.0.0.2",), is_default=True),
    NodeGroup(uuid="g", name="gpu", cluster_id="c1", project_id="p1", node_count=4,
              status="CREATE_COMPLETE"),
]  # fmt: skip
TO = Notifications("rabbit://h", cluster_publisher_id="magnum.host")


def opened(notification: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    body = {"id": "n1", "time": 1700000000.25, **msgspec.to_builtins(notification)}
    message = cluster_message(body, TO)
    inner = json.loads(json.loads(message.body)["oslo.message"])
    return message.routing_keys, inner


def test_a_cluster_is_reported_as_an_audit_event_with_a_snapshot():
    keys, told = opened(of_cluster("create", "success", CLUSTER, GROUPS))
    assert keys == ("notifications.info",)
    assert (told["event_type"], told["publisher_id"]) == ("magnum.cluster.create", "magnum.host")
    assert (told["message_id"], told["_context_user_id"]) == ("n1", "u1")
    payload = told["payload"]
    (snapshot,) = payload["target"].pop("attachments")
    assert payload == {
        "typeURI": "http://schemas.dmtf.org/cloud/audit/1.0/event",
        "eventType": "activity",
        "id": "n1",
        "eventTime": "2023-11-14T22:13:20.250000+0000",
        "action": "create",
        "outcome": "success",
        "initiator": {
            "typeURI": "service/security/account/user", "id": "u1", "user_id": "u1",
            "project_id": "p1", "domain_id": "default",
        },
        "target": {"typeURI": "service/magnum/cluster", "id": "c1", "name": "farm"},
        "observer": {"typeURI": "service/magnum/cluster", "id": "magnum.host"},
    }  # fmt: skip
    assert (snapshot["typeURI"], snapshot["name"]) == ("service/magnum/cluster", "cluster_data")
    content = snapshot["content"]
    assert content.keys() == {
        "status", "status_reason", "project_id", "created_at", "updated_at", "cluster_template_id",
        "keypair", "docker_volume_size:", "labels", "master_flavor_id", "flavor_id", "stack_id",
        "health_status", "create_timeout", "api_address", "discovery_url", "node_addresses",
        "master_addresses", "node_count", "master_count",
    }  # fmt: skip
    assert content["created_at"] == "2023-11-14T22:13:20.000000+00:00"
    assert content["updated_at"] is None
    assert (content["node_count"], content["master_count"]) == (6, 3)
    assert (content["node_addresses"], content["master_addresses"]) == (["10.0.0.2"], ["10.0.0.1"])
    assert content["docker_volume_size:"] == 5


def test_labels_with_secrets_are_masked():
    _, told = opened(of_cluster("create", "success", CLUSTER, GROUPS))
    labels = told["payload"]["target"]["attachments"][0]["content"]["labels"]
    assert labels == {"kube_tag": "v1.31.1", "grafana_admin_passwd": "******"}


@pytest.mark.parametrize(
    ("outcome", "level"), [("pending", "info"), ("success", "info"), ("failure", "error")]
)
def test_only_failures_are_errors(outcome: str, level: str):
    keys, told = opened(of_cluster("delete", outcome, CLUSTER, GROUPS))
    assert (keys, told["priority"]) == ((f"notifications.{level}",), level.upper())


def test_groups_and_certificates_have_events_of_their_own():
    _, group = opened(of_group("create", "success", GROUPS[2], CLUSTER))
    assert group["event_type"] == "magnum.nodegroup.create"
    assert group["payload"]["target"]["name"] == "gpu"
    content = group["payload"]["target"]["attachments"][0]["content"]
    assert (content["cluster_id"], content["node_count"]) == ("c1", 4)
    signed = of_certificate("create", "success", CLUSTER, CLUSTER.initiator, subject="CN=x")
    _, told = opened(signed)
    assert told["event_type"] == "magnum.certificate.create"
    content = told["payload"]["target"]["attachments"][0]["content"]
    assert content == {"cluster_id": "c1", "project_id": "p1", "subject": "CN=x"}
