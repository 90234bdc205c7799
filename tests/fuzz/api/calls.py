"""Every call of every API, and for each a request that could succeed.

The calls are those of the credential walk, so a new route is here, too. A route whose body is not
in a table gets `{}`.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from hearth.api.clusters.routes import ROUTES as CLUSTER_ROUTES
from hearth.api.endpoint import Endpoint, Query
from hearth.api.openapi import operation_id
from hearth.api.v1.routes import ROUTES
from hearth.process.http.served import CLUSTERS
from tests.fuzz.api.canaries import Canaries
from tests.fuzz.api.mutate import FORM, JSON
from tests.fuzz.api.templates import spare_body, spare_template
from tests.fuzz.api.tenants import Tenant
from tests.fuzz.api.wire import Sent
from tests.service.clusters.requests import csr
from tests.walk.credentials import calls
from tests.walk.exchanges import recorded
from tests.walk.ground import WORDS

ENDPOINTS: Mapping[tuple[str, str], Endpoint] = {
    (one.method, f"/v1{one.path}"): one for one in ROUTES
}
APIS = ("orchestration", "cloudformation", "clusters")
HEALTH = "/healthcheck"
OF_CONTENT = {  # requests of members that leave a stack as it is
    "resource_signal", "template_validate", "stack_preview", "stack_plan", "preview_stack_update",
    "preview_stack_update_patch", "stack_update_plan", "stack_update_patch_plan", "stack_create",
    "stack_lookup", "stack_lookup_subpath", "software_config_create",
    "software_deployment_create",
}  # fmt: skip
RESOURCES = ("value", "handle", "child", "open", "group", "server", "deployment", "key", "url")
ACTIONS = ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback", "snapshot")
VERSIONS = ("latest", "latest", "1.14", "1.12", "1.9", "1.7", "1.3", "1.1")
DESTRUCTIVE = ("UpdateStack", "DeleteStack", "CancelUpdateStack")
GROUP = "/clusters/{ident}/nodegroups"
PATH_OF_GROUP = "/nodegroups/{group}"


@dataclass(frozen=True)
class Call:
    """A route of an API with a method; `action` is that of the CloudFormation-style API."""

    method: str
    path: str
    action: str = ""

    @property
    def api(self) -> str:
        """One of APIS."""
        if self.path.startswith("/cfn"):
            return "cloudformation"
        return "clusters" if self.path.startswith(CLUSTERS) else "orchestration"

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}" + (f" {self.action}" if self.action else "")

    @property
    def endpoint(self) -> Endpoint | None:
        """The row in the table of the Orchestration API, if it is there."""
        return ENDPOINTS.get((self.method, self.path))

    @property
    def changes(self) -> bool:
        """Whether a member who may do it would change or delete something that is kept."""
        if self.api == "cloudformation":
            return self.action in DESTRUCTIVE
        if self.endpoint is not None:
            return self.method != "GET" and self.endpoint.name not in OF_CONTENT
        return self.method == "DELETE" or any(
            word in self.path for word in ("/certificates/", "/credentials/", "/upgrade")
        )

    @property
    def presigned(self) -> bool:
        """Whether a signature in the URL stands for a user of a stack."""
        return "{arn" in self.path

    @property
    def is_below_kept(self) -> bool:
        """Whether a part of a cluster is deleted, and the whole cluster if the path is shorter."""
        return self.method == "DELETE" and self.path.endswith(PATH_OF_GROUP)


def every_call() -> list[Call]:
    """Return all calls, also those of the health checks."""
    found = [Call(method, path, query.partition("=")[2]) for method, path, query in calls()]
    return [*found, Call("GET", HEALTH), Call("GET", CLUSTERS + HEALTH)]


def query_names() -> list[str]:
    """Return the names of the query parameters of all routes."""
    names = {query.name for one in ROUTES for query in one.query}
    names |= {name for one in CLUSTER_ROUTES for name in one.query}
    return sorted(names | {"secret", "Action", "StackName", "ContentType", "Version"})


def request_of(
    call: Call, tenant: Tenant, words: Canaries, *, spare: bool, luck: random.Random
) -> Sent:
    """Return a request without a credential, about what the tenant keeps or has to spare.

    `words` are those of the person who sends it.
    """
    values = dict(tenant.spare if spare else tenant.kept)
    if not spare and luck.random() < 0.6:
        values["resource_name"] = luck.choice(RESOURCES)
    if call.api == "cloudformation":
        return _cloudformation(call, values, tenant, words, luck)
    if call.api == "clusters":
        return _clusters(call, values, tenant, words, luck)
    return _orchestration(call, values, words, luck)


def _filled(path: str, values: Mapping[str, str]) -> str:
    """The path with values for its names; a name that has none gets a word."""
    return re.sub(r"{(\w+)(?::\w+)?}", lambda m: quote(values.get(m[1], "2.0"), safe=""), path)


def _json(method: str, path: str, body: Any) -> Sent:
    if body is None:
        return Sent(method, path)
    return Sent(method, path, json.dumps(body).encode(), JSON)


def _orchestration(
    call: Call, values: Mapping[str, str], words: Canaries, luck: random.Random
) -> Sent:
    path, endpoint = _filled(call.path, values), call.endpoint
    if endpoint is None:
        return Sent(call.method, path)
    query = [_valued(one) for one in endpoint.query if luck.random() < 0.3]
    path += f"?{'&'.join(query)}" if query else ""
    if endpoint.body is None:
        return Sent(call.method, path)
    make = BODIES.get(endpoint.name)
    if make is not None:
        return _json(call.method, path, make(words, values, luck))
    kept = recorded()[operation_id(endpoint)]["success"].get("body", {})
    text = json.dumps(kept).replace(WORDS, "mine")
    return _json(call.method, path, json.loads(text))


def _valued(query: Query) -> str:
    kind = query.shape.get("type", "")
    known = query.shape.get("enum")
    value = str(known[0]) if known else {"integer": "2", "boolean": "true"}.get(kind, "true")
    return f"{query.name}={quote('value' if query.name == 'with_attr' else value)}"


Make = Callable[[Canaries, Mapping[str, str], random.Random], Any]


def _stack(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    body = spare_body(words)
    if luck.random() < 0.2:
        body["template"] = json.dumps(body["template"])
    return body


def _new_stack(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    name = f"new-{luck.getrandbits(32):x}"
    if luck.random() < 0.2:
        return {"stack_name": name, "adopt_stack_data": _adopted(words, luck), "timeout_mins": 5}
    return {"stack_name": name, **_stack(words, values, luck)}


def _adopted(words: Canaries, luck: random.Random) -> Any:
    template = {
        "heat_template_version": "2021-04-16",
        "resources": {"random": {"type": "OS::Heat::RandomString", "properties": {"length": 8}}},
    }
    one = {
        "name": "random", "resource_id": "x", "status": "COMPLETE", "action": "CREATE",
        "type": "OS::Heat::RandomString", "resource_data": {"value": words.plain()},
        "metadata": {"said": words.plain()},
    }  # fmt: skip
    found: Any = {
        "name": "adopted", "id": None, "action": "CREATE", "status": "COMPLETE", "files": {},
        "template": template, "resources": {"random": one}, "environment": {"parameters": {}},
        "project_id": "x", "stack_user_project_id": None, "tags": ["a"],
    }  # fmt: skip
    return json.dumps(found) if luck.random() < 0.5 else found


def _changed_stack(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    body = _stack(words, values, luck)
    if luck.random() < 0.4:
        return {"existing": True, "parameters": {"size": 2}, "clear_parameters": ["map"]}
    return {**body, "converge": luck.random() < 0.3, "existing": luck.random() < 0.2}


def _signal(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    number = luck.randrange(9)
    return {"status": "SUCCESS", "data": words.plain(), "id": f"{number}", "reason": words.plain()}


def _config(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {
        "name": words.plain(), "group": "script", "config": words.plain(), "options": {"a": 1},
        "inputs": [{"name": "in", "type": "String", "default": words.plain()}],
        "outputs": [{"name": "out", "type": "String", "error_output": False}],
    }  # fmt: skip


def _deployment(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {
        "config_id": values["config_id"], "server_id": "a-server", "action": "CREATE",
        "input_values": {"in": words.plain()}, "status": "IN_PROGRESS", "status_reason": "data",
        "stack_user_project_id": values["tenant_id"], "tenant": values["tenant_id"],
    }  # fmt: skip


def _deployed(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {
        "output_values": {"out": words.plain(), "deploy_stdout": "x"}, "status": "COMPLETE",
        "status_reason": words.plain(), "action": "UPDATE", "input_values": {"in": "y"},
        "config_id": values["config_id"],
    }  # fmt: skip


BODIES: Mapping[str, Make] = {
    "stack_create": _new_stack,
    "stack_preview": _new_stack,
    "stack_plan": _new_stack,
    "template_validate": lambda w, v, luck: {
        key: one for key, one in _stack(w, v, luck).items() if key not in ("tags", "timeout_mins")
    },
    "stack_update": _changed_stack,
    "stack_update_patch": _changed_stack,
    "preview_stack_update": _changed_stack,
    "preview_stack_update_patch": _changed_stack,
    "stack_update_plan": _changed_stack,
    "stack_update_patch_plan": _changed_stack,
    "action_stack": lambda w, v, luck: {luck.choice(ACTIONS): None},
    "stack_snapshot": lambda w, v, luck: {"name": w.plain()},
    "resource_signal": _signal,
    "resource_mark_unhealthy": lambda w, v, luck: {
        "mark_unhealthy": luck.random() < 0.7, "resource_status_reason": w.plain(),
    },
    "software_config_create": _config,
    "software_deployment_create": _deployment,
    "software_deployment_update": _deployed,
}  # fmt: skip


def _cloudformation(
    call: Call, values: Mapping[str, str], tenant: Tenant, words: Canaries, luck: random.Random
) -> Sent:
    if call.presigned:
        return _presigned(call, tenant, luck)
    path = _filled(call.path, values)
    if not call.action:
        return Sent(call.method, path)
    text = urlencode(_parameters(call.action, values, words, luck))
    if call.method == "POST":
        return Sent("POST", path, text.encode(), (("Content-Type", FORM),))
    return Sent(call.method, f"{path}?{text}")


def _parameters(
    action: str, values: Mapping[str, str], words: Canaries, luck: random.Random
) -> dict[str, str]:
    arn = f"arn:openstack:heat::{values['tenant_id']}:stacks/{values['stack_name']}"
    named = luck.choice([values["stack_name"], f"{arn}/{values['stack_id']}"])
    found = {"Action": action, "Version": "2010-05-15"}
    if luck.random() < 0.2:
        found["ContentType"] = "JSON"
    if action not in ("ListStacks", "ValidateTemplate", "EstimateTemplateCost", "CreateStack"):
        found["StackName"] = named
    if action == "CreateStack":
        found["StackName"] = f"cfn-{luck.getrandbits(32):x}"
    if action in ("DescribeStackResource", "DescribeStackResources", "ListStackResources"):
        found["LogicalResourceId"] = values["resource_name"]
    if action in ("CreateStack", "UpdateStack", "ValidateTemplate", "EstimateTemplateCost"):
        template = {**spare_template(words)}
        del template["resources"]["child"]
        found["TemplateBody"] = json.dumps(template)
    if action in ("CreateStack", "UpdateStack"):
        found |= {
            "Parameters.member.1.ParameterKey": "size", "Parameters.member.1.ParameterValue": "1",
            "Parameters.member.2.ParameterKey": "plain", "TimeoutInMinutes": "5",
            "Parameters.member.2.ParameterValue": words.plain(), "DisableRollback": "true",
        }  # fmt: skip
    return found


def _presigned(call: Call, tenant: Tenant, luck: random.Random) -> Sent:
    """A signal with the signature of its URL: whoever sends it acts for a user of the stack."""
    words = Canaries(tenant.name, luck)
    url = urlsplit(tenant.kept["signal_url"])
    path = url.path
    if "/signal/" in call.path:
        path = path.replace("/waitcondition/", "/signal/")
    number = luck.randrange(9)
    body = {"Status": "SUCCESS", "Reason": "x", "UniqueId": f"{number}",
            "Data": words.plain()}  # fmt: skip
    return Sent(call.method, f"{path}?{url.query}", json.dumps(body).encode(), JSON)


def _clusters(
    call: Call, values: Mapping[str, str], tenant: Tenant, words: Canaries, luck: random.Random
) -> Sent:
    below = call.path.removeprefix(f"{CLUSTERS}/v1")
    ident = values["cluster"]
    if below.startswith("/clustertemplates"):
        ident = values["template"]
    elif below.startswith("/federations"):
        ident = values["federation"]
    if PATH_OF_GROUP in below:
        ident = tenant.kept["cluster"]
    known = {**values, "ident": ident, "signature": "x" * 40}
    version = luck.choice(VERSIONS)
    headers = (("OpenStack-API-Version", f"container-infra {version}"),)
    body = CLUSTER_BODIES.get((call.method, below))
    if body is None and call.method in ("POST", "PATCH"):
        body = _of_nothing
    made = None if body is None else body(words, values, luck)
    sent = _json(call.method, _filled(call.path, known), made)
    return Sent(sent.method, sent.path, sent.body, (*sent.headers, *headers))


def _of_nothing(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {}


def _patch(path: str, value: Any, op: str = "replace") -> Make:
    return lambda w, v, luck: [{"op": op, "path": path, "value": value}]


def _template(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {
        "name": f"t{luck.getrandbits(24):x}", "coe": "kubernetes", "image_id": "fedora-coreos-kube",
        "external_network_id": "public", "flavor_id": "m1.small", "master_flavor_id": "m1.small",
        "labels": {"said": words.plain()}, "dns_nameserver": "8.8.8.8", "public": False,
        "docker_volume_size": 5, "keypair_id": "default", "tls_disabled": False, "tags": "a,b",
        "network_driver": "flannel", "floating_ip_enabled": True, "hidden": False,
    }  # fmt: skip


def _cluster(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {
        "name": f"c{luck.getrandbits(24):x}", "cluster_template_id": values["template"],
        "node_count": 1, "master_count": 1, "labels": {"said": words.plain()}, "keypair": "default",
        "merge_labels": True, "create_timeout": 5, "docker_volume_size": 1,
    }  # fmt: skip


def _quota(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {"project_id": values["tenant_id"], "resource": "Cluster", "hard_limit": 50}


def _resize(words: Canaries, values: Mapping[str, str], luck: random.Random) -> Any:
    return {"node_count": 1, "nodes_to_remove": [], "nodegroup": "default-worker"}


CLUSTER_BODIES: Mapping[tuple[str, str], Make] = {
    ("POST", "/clustertemplates"): _template,
    ("PATCH", "/clustertemplates/{ident}"): _patch("/labels", {"a": "b"}),
    ("POST", "/clusters"): _cluster,
    ("PATCH", "/clusters/{ident}"): _patch("/node_count", 1),
    ("POST", "/clusters/{ident}/actions/resize"): _resize,
    ("POST", "/clusters/{ident}/actions/upgrade"): lambda w, v, luck: {
        "cluster_template": v["template"], "max_batch_size": 1, "nodegroup": "default-worker",
    },
    ("POST", GROUP): lambda w, v, luck: {
        "name": "more", "node_count": 1, "min_node_count": 0, "max_node_count": 3, "role": "worker",
        "labels": {"said": w.plain()}, "flavor_id": "m1.small", "image_id": "fedora-coreos-kube",
    },
    ("PATCH", GROUP + "/{group}"): _patch("/max_node_count", 9),
    ("POST", "/certificates"): lambda w, v, luck: {
        "cluster_uuid": v["cluster"], "csr": csr(), "ca_cert_type": "kubernetes",
    },
    ("POST", "/quotas"): _quota,
    ("PATCH", "/quotas/{project_id}/{resource}"): _quota,
    ("POST", "/federations"): lambda w, v, luck: {
        "name": "f", "hostcluster_id": v["cluster"], "properties": {"dns-zone": "e.com."},
    },
    ("PATCH", "/federations/{ident}"): lambda w, v, luck: [
        {"op": "add", "path": "/member_ids", "value": v["cluster"]},
    ],
}  # fmt: skip
