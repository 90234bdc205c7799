"""The kinds of work that hostile clients ask for: what they prepare, and what they repeat."""

from collections.abc import Callable

from tests.hostile.clients import HOT, expressions, patterns
from tests.hostile.crowd import Asked, asked
from tests.hostile.tenant import Tenant
from tests.service.clusters.requests import csr

WHOLE, PART = 1.0, 0.2
"""How much a tenant prepares if it is the only one, and if there are eight."""

Kind = Callable[[Tenant, float], list[Asked]]
"""Prepares a tenant's project, and returns the requests that its clients repeat."""


def _validate(text: str) -> Kind:
    def prepare(tenant: Tenant, share: float) -> list[Asked]:
        return [tenant.asks("POST", "/validate", {"template": text})]

    return prepare


def values(count: int, value: str = "x") -> str:
    """A template of many small resources."""
    line = "  r{0}: {{type: OS::Heat::Value, properties: {{value: {1}}}}}\n"
    return HOT + "resources:\n" + "".join(line.format(n, value) for n in range(count))


def _preview(tenant: Tenant, share: float) -> list[Asked]:
    text = values(900) + "".join(f"# {n} {'x' * 90}\n" for n in range(2400))
    return [tenant.asks("POST", "/stacks/preview", {"stack_name": "p", "template": text})]


def _deployments(tenant: Tenant, share: float) -> list[Asked]:
    for _ in range(round(60 * share)):
        config = {"name": "c", "group": "script", "config": "x" * 900_000}
        made = tenant.call("POST", "/software_configs", config)["software_config"]["id"]
        body = {"config_id": made, "server_id": "s", "action": "CREATE", "status": "COMPLETE"}
        tenant.call("POST", "/software_deployments", body)
    return [tenant.asks("GET", "/software_deployments")]


def _of_stack(*paths: str) -> Kind:
    def prepare(tenant: Tenant, share: float) -> list[Asked]:
        place = tenant.stack("many", values(round(900 * share)))
        return [tenant.asks("GET", f"{place}{path}") for path in paths]

    return prepare


def _long_show(tenant: Tenant, share: float) -> list[Asked]:
    many = range(round(180 * share))
    outputs = "".join(f"  o{n}: {{value: {{get_param: p}}}}\n" for n in many)
    text = HOT + f"parameters: {{p: {{type: string, default: {'x' * 100_000}}}}}\noutputs:\n"
    return [tenant.asks("GET", tenant.stack("long", text + outputs))]


def _describe(tenant: Tenant, share: float) -> list[Asked]:
    for number in range(max(1, round(6 * share))):
        text = values(300) + "".join(f"# {n} {'x' * 90}\n" for n in range(3800))
        tenant.stack(f"large-{number}", text)
    one = asked("GET", "/cfn/v1/?Action=DescribeStacks", tenant.token)
    return [one._replace(headers={**one.headers, "X-Auth-User": "x"})]


def _list(tenant: Tenant, share: float) -> list[Asked]:
    for number in range(round(400 * share)):
        body = {"stack_name": f"s{number}", "template": HOT + "resources: {}\n"}
        tenant.call("POST", "/stacks", body)
    return [tenant.asks("GET", "/stacks")]


def _creates(tenant: Tenant, share: float) -> list[Asked]:
    """The same name again and again: created, refused as long as it is there, deleted."""
    body = {"stack_name": "mine", "template": values(3)}
    many = [{**body, "stack_name": f"mine-{n}"} for n in range(40)]
    found = [tenant.asks("POST", "/stacks", one) for one in many]
    return [*found, *(tenant.asks("DELETE", f"/stacks/{one['stack_name']}") for one in many)]


def _signals(tenant: Tenant, share: float) -> list[Asked]:
    place = tenant.stack("handle", HOT + "resources:\n  h: {type: OS::Heat::WaitConditionHandle}\n")
    body = {"reason": "x" * 60_000, "data": "y" * 100_000}
    return [
        tenant.asks("POST", f"{place}/resources/h/signal", {"id": str(n), **body})
        for n in range(20)
    ]


def _dry_runs(tenant: Tenant, share: float) -> list[Asked]:
    template = tenant.cluster_template()
    body = {"name": "c", "cluster_template_id": template, "node_count": 20}
    return [tenant.asks_of_clusters("POST", "/clusters?dry_run=true", body)]


def _certificates(tenant: Tenant, share: float) -> list[Asked]:
    body = {"cluster_uuid": tenant.cluster(), "csr": csr()}
    return [tenant.asks_of_clusters("POST", "/certificates", body)]


def _connections(tenant: Tenant, share: float) -> list[Asked]:
    return [tenant.asks("GET", "/stacks?limit=1")._replace(new_connection=True)]


def _json(tenant: Tenant, share: float) -> list[Asked]:
    bodies = (
        b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":[' + b"[]," * 300_000 + b"[]]}",
        b'{"environment": {"parameters": {' + b'"a": 1,' * 90_000 + b'"b": 1}}}',
    )
    return [tenant.asks("POST", "/validate")._replace(body=one) for one in bodies]


KINDS: dict[str, Kind] = {
    "60 expressions": _validate(expressions(60)),
    "60 patterns": _validate(patterns(60)),
    "previews of 300 kB": _preview,
    "odd JSON": _json,
    "list of deployments": _deployments,
    "events of 900 resources": _of_stack("/events"),
    "900 resources": _of_stack("/resources", "/resources?with_detail=true"),
    "show of 18 MB": _long_show,
    "DescribeStacks": _describe,
    "list of 400 stacks": _list,
    "creates and deletes": _creates,
    "signals": _signals,
    "dry runs of clusters": _dry_runs,
    "certificates": _certificates,
    "new connections": _connections,
}
LONG_ANSWERS = (
    "list of deployments", "events of 900 resources", "900 resources", "show of 18 MB",
    "DescribeStacks", "list of 400 stacks",
)  # fmt: skip
"""The kinds whose answers are more than a connection holds, so it matters who reads them."""
