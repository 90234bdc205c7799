"""The API of QoS policies and their rules."""

from __future__ import annotations

from functools import partial

from hearth_devcloud.collection import Collection, Field, Invalid, boolean, integer, one_of, text
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.neutron.rest import Rest, explain, not_authorized, touch
from hearth_devcloud.store import Resource

_DIRECTION = Field(one_of("ingress", "egress"), default="egress")

POLICIES = Collection(
    "network",
    "policies",
    "policy",
    {
        "name": Field(text(), required=True),
        "description": Field(text(), default=""),
        "shared": Field(boolean, default=False),
        "is_default": Field(boolean, default=False),
    },
    type_name="QosPolicy",
    path="/v2.0/qos/policies",
)
RULES = {
    kind: Collection("network", f"{kind}_rules", f"{kind}_rule", fields)
    for kind, fields in {
        "bandwidth_limit": {
            "max_kbps": Field(integer(0), required=True),
            "max_burst_kbps": Field(integer(0), default=0),
            "direction": _DIRECTION,
        },
        "dscp_marking": {"dscp_mark": Field(integer(0, 56), required=True)},
        "minimum_bandwidth": {
            "min_kbps": Field(integer(0), required=True),
            "direction": _DIRECTION,
        },
        "minimum_packet_rate": {
            "min_kpps": Field(integer(0), required=True),
            "direction": Field(one_of("any", "egress", "ingress"), default="egress"),
        },
    }.items()
}


class _Policies(Rest):
    admin_only = True

    def view(self, call: Call, resource: Resource, *, created: bool = False) -> Body:
        rules = [
            {**rule.body, "qos_policy_id": resource.id, "type": kind}
            for kind, collection in RULES.items()
            for rule in call.cloud.store.all(collection.table)
            if rule.hidden["policy"] == resource.id
        ]
        return {**resource.body, "rules": rules}

    def gone(self, call: Call, resource: Resource) -> None:
        store = call.cloud.store
        for table in ("networks", "ports", "floatingips"):
            if store.where(f"network.{table}", qos_policy_id=resource.id):
                raise Refusal(409, "QosPolicyInUse", f"QoS Policy {resource.id} is used.")
        for collection in RULES.values():
            for rule in list(store.all(collection.table)):
                if rule.hidden["policy"] == resource.id:
                    store.remove(rule)


def rule_types(call: Call) -> Reply:
    """Handle GET of the supported types of QoS rules."""
    return Reply(200, {"rule_types": [{"type": kind} for kind in RULES]})


def _mine(call: Call, kind: str) -> list[Resource]:
    policy = policies.find(call, call.ids[0])
    rules = call.cloud.store.all(RULES[kind].table)
    return [rule for rule in rules if rule.hidden["policy"] == policy.id]


def _rule(call: Call, kind: str) -> Resource:
    for rule in _mine(call, kind):
        if rule.id == call.ids[1]:
            return rule
    raise Refusal(404, "QosRuleNotFound", f"QoS rule {call.ids[1]} could not be found.")


def create(call: Call, kind: str) -> Reply:
    """Handle POST of a QoS rule; `kind` is its type, such as bandwidth_limit."""
    collection, policy = RULES[kind], policies.find(call, call.ids[0])
    if not call.caller.is_admin:
        raise not_authorized(f"create_policy_{collection.singular}")
    try:
        values = collection.for_create(call.object(collection.singular))
    except Invalid as error:
        raise explain(error, collection, creating=True) from None
    if any(rule.body.get("direction") == values.get("direction") for rule in _mine(call, kind)):
        text_ = f"QoS policy {policy.id} already has a {kind} rule for this direction"
        raise Refusal(409, "QoSRulesConflict", text_)
    body = {**values, "id": call.cloud.store.new_id()}
    resource = Resource(
        body["id"], collection.table, policy.project_id, body, {"policy": policy.id}
    )
    call.cloud.store.insert(resource)
    touch(call.cloud, policy)
    return Reply(201, {collection.singular: body})


def rules(call: Call, kind: str) -> Reply:
    """Handle GET of the rules of a policy that have the type `kind`."""
    return Reply(200, {RULES[kind].plural: [rule.body for rule in _mine(call, kind)]})


def show(call: Call, kind: str) -> Reply:
    """Handle GET of a QoS rule of the type `kind`."""
    return Reply(200, {RULES[kind].singular: _rule(call, kind).body})


def update(call: Call, kind: str) -> Reply:
    """Handle PUT of a QoS rule of the type `kind`."""
    collection, rule = RULES[kind], _rule(call, kind)
    try:
        rule.body.update(collection.for_update(call.object(collection.singular)))
    except Invalid as error:
        raise explain(error, collection, creating=False) from None
    return Reply(200, {collection.singular: rule.body})


def delete(call: Call, kind: str) -> Reply:
    """Handle DELETE of a QoS rule of the type `kind`."""
    call.cloud.store.remove(_rule(call, kind))
    return Reply(204)


def _routes(kind: str) -> list[Route]:
    path = f"/v2.0/qos/policies/{{}}/{RULES[kind].plural}"
    return [
        ("POST", path, partial(create, kind=kind)),
        ("GET", path, partial(rules, kind=kind)),
        ("GET", path + "/{}", partial(show, kind=kind)),
        ("PUT", path + "/{}", partial(update, kind=kind)),
        ("DELETE", path + "/{}", partial(delete, kind=kind)),
    ]


policies = _Policies(POLICIES)
ROUTES: list[Route] = [
    ("GET", "/v2.0/qos/rule-types", rule_types),
    *policies.routes,
    *(route for kind in RULES for route in _routes(kind)),
]
