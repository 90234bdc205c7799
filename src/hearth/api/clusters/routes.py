"""All endpoints of the cluster API. Source: tests/facts/magnum/routes.json."""

from collections.abc import Mapping

from hearth.api.clusters import (
    certificates,
    clusters,
    federations,
    node_groups,
    quotas,
    templates,
)
from hearth.api.clusters.context import Read
from hearth.api.clusters.endpoint import Endpoint
from hearth.api.clusters.pages import LIST, NUMBERED
from hearth.api.clusters.types import flag

CLUSTERS, CLUSTER = "/clusters", "/clusters/{ident}"
GROUPS, GROUP = f"{CLUSTER}/nodegroups", f"{CLUSTER}/nodegroups/{{group}}"
TEMPLATES, TEMPLATE = "/clustertemplates", "/clustertemplates/{ident}"
CERTIFICATES, CERTIFICATE = "/certificates", "/certificates/{ident}"
QUOTAS, QUOTA = "/quotas", "/quotas/{project_id}/{resource}"
FEDERATIONS, FEDERATION = "/federations", "/federations/{ident}"
BEFORE_ROLLBACK, ROLLBACK = (1, 2), (1, 3)
RESIZE, GROUPS_SINCE, CREDENTIALS = (1, 7), (1, 9), (1, 12)


def _kind(text: str) -> str:
    if text != "cluster":
        raise ValueError(f'expected "cluster", got "{text}"')
    return text


ROLLED_BACK: Mapping[str, Read] = {"rollback": flag}

ROUTES = (
    Endpoint("GET", TEMPLATES, "clustertemplate:get_all", templates.index, query=LIST),
    Endpoint("GET", f"{TEMPLATES}/detail", "clustertemplate:detail", templates.detail, query=LIST),
    Endpoint("GET", TEMPLATE, "clustertemplate:get", templates.show),
    Endpoint("POST", TEMPLATES, "clustertemplate:create", templates.create, 201),
    Endpoint("PATCH", TEMPLATE, "clustertemplate:update", templates.update),
    Endpoint("DELETE", TEMPLATE, "clustertemplate:delete", templates.delete, 204),
    Endpoint("GET", CLUSTERS, "cluster:get_all", clusters.index, query=LIST),
    Endpoint("GET", f"{CLUSTERS}/detail", "cluster:detail", clusters.detail, query=LIST),
    Endpoint("GET", CLUSTER, "cluster:get", clusters.show),
    Endpoint("POST", CLUSTERS, "cluster:create", clusters.create, 202, query={"dry_run": flag}),
    Endpoint("PATCH", CLUSTER, "cluster:update", clusters.update, 202, until=BEFORE_ROLLBACK),
    Endpoint(
        "PATCH", CLUSTER, "cluster:update", clusters.update, 202, ROLLBACK, query=ROLLED_BACK
    ),
    Endpoint("DELETE", CLUSTER, "cluster:delete", clusters.delete, 204, query={"force": flag}),
    Endpoint("POST", f"{CLUSTER}/actions/resize", "cluster:resize", clusters.resize, 202, RESIZE),
    Endpoint(
        "POST", f"{CLUSTER}/actions/upgrade", "cluster:upgrade", clusters.upgrade, 202, RESIZE
    ),
    Endpoint("GET", f"{CLUSTER}/events", "cluster:get", clusters.events, beyond_magnum=True),
    Endpoint(
        "GET", f"{CLUSTER}/kubeconfig", "certificate:create", clusters.config, beyond_magnum=True
    ),
    Endpoint(
        "GET", GROUPS, "nodegroup:get_all", node_groups.index, since=GROUPS_SINCE,
        query={**LIST, "role": str},
    ),
    Endpoint("GET", GROUP, "nodegroup:get", node_groups.show, since=GROUPS_SINCE),
    Endpoint("POST", GROUPS, "nodegroup:create", node_groups.create, 202, GROUPS_SINCE),
    Endpoint("PATCH", GROUP, "nodegroup:update", node_groups.update, 202, GROUPS_SINCE),
    Endpoint("DELETE", GROUP, "nodegroup:delete", node_groups.delete, 204, GROUPS_SINCE),
    Endpoint(
        "GET", CERTIFICATE, "certificate:get", certificates.show, query={"ca_cert_type": str}
    ),
    Endpoint("POST", CERTIFICATES, "certificate:create", certificates.sign, 201),
    Endpoint("PATCH", CERTIFICATE, "certificate:rotate_ca", certificates.rotate, 202),
    Endpoint(
        "PATCH", "/credentials/{ident}", "credential:rotate", certificates.rotate_nodes, 202,
        CREDENTIALS,
    ),
    Endpoint(
        "GET", QUOTAS, "quota:get_all", quotas.index, query={**NUMBERED, "all_tenants": flag}
    ),
    Endpoint("GET", QUOTA, "quota:get", quotas.show),
    Endpoint("POST", QUOTAS, "quota:create", quotas.create, 201),
    Endpoint("PATCH", QUOTA, "quota:update", quotas.update, 202),
    Endpoint("DELETE", QUOTA, "quota:delete", quotas.delete, 204),
    Endpoint(
        "GET", "/stats", "stats:get_all", quotas.usage, query={"project_id": str, "type": _kind}
    ),
    Endpoint("GET", "/mservices", "magnum-service:get_all", quotas.conductors),
    Endpoint("GET", FEDERATIONS, "federation:get_all", federations.index, query=LIST),
    Endpoint("GET", f"{FEDERATIONS}/detail", "federation:detail", federations.detail, query=LIST),
    Endpoint("GET", FEDERATION, "federation:get", federations.show),
    Endpoint("POST", FEDERATIONS, "federation:create", federations.create, 202),
    Endpoint(
        "PATCH", FEDERATION, "federation:update", federations.update, 202, query=ROLLED_BACK
    ),
    Endpoint("DELETE", FEDERATION, "federation:delete", federations.delete, 204),
)  # fmt: skip
