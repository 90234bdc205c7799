"""The bodies of requests and the structs into which they are parsed."""

import msgspec
import pytest

from hearth.api.clusters import bodies
from hearth.api.clusters.types import Fields
from hearth.clusters import requests
from hearth.clusters.objects import NodeGroup

STRUCTS = [
    (bodies.CLUSTER, requests.ClusterRequest),
    (bodies.TEMPLATE, requests.TemplateRequest),
    (bodies.NODE_GROUP, requests.GroupRequest),
    (bodies.RESIZE, requests.ResizeRequest),
    (bodies.UPGRADE, requests.UpgradeRequest),
    (bodies.CERTIFICATE, requests.CertificateRequest),
    (bodies.QUOTA, requests.QuotaRequest),
    (bodies.FEDERATION, requests.FederationRequest),
]


@pytest.mark.parametrize(("declared", "request_type"), STRUCTS)
def test_a_struct_has_each_field_of_its_body_that_has_an_effect(
    declared: Fields, request_type: type[msgspec.Struct]
):
    with_effect = {name for name, field in declared.items() if not field.read_only | field.unused}
    assert with_effect - set(request_type.__struct_fields__) == set()
    required = {field.name for field in msgspec.structs.fields(request_type) if field.required}
    assert required == {name for name, field in declared.items() if field.required}


def test_only_the_fields_of_a_change_that_are_set_are_written():
    assert requests.set_fields(requests.GroupChanges()) == {}
    changes = requests.GroupChanges(max_node_count=None, min_node_count=0)
    after = msgspec.structs.replace(
        NodeGroup(uuid="g", name="g", cluster_id="c", project_id="p", max_node_count=3),
        **requests.set_fields(changes),
    )
    assert (after.min_node_count, after.max_node_count) == (0, None)
