"""The API of metering labels and their rules, which cannot be updated."""

from __future__ import annotations

import ipaddress
from typing import Any

from hearth_devcloud.collection import Collection, Field, boolean, nullable, one_of, text
from hearth_devcloud.http import Body, Call, Refusal, Route
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.store import Resource


def _prefix(value: Any) -> str:
    """Check a network in CIDR notation and return it. Raises ValueError."""
    ipaddress.ip_network(str(value), strict=False)
    return str(value)


LABELS = Collection(
    "network",
    "metering_labels",
    "metering_label",
    {
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "shared": Field(boolean, default=False),
    },
    type_name="MeteringLabel",
    path="/v2.0/metering/metering-labels",
)
RULES = Collection(
    "network",
    "metering_label_rules",
    "metering_label_rule",
    {
        "metering_label_id": Field(text(36), required=True),
        "direction": Field(one_of("ingress", "egress"), default="ingress"),
        "excluded": Field(boolean, default=False),
        "remote_ip_prefix": Field(nullable(_prefix)),
        "source_ip_prefix": Field(nullable(_prefix)),
        "destination_ip_prefix": Field(nullable(_prefix)),
    },
    type_name="MeteringLabelRule",
    path="/v2.0/metering/metering-label-rules",
)


class _Fixed(Rest):
    standard = False
    admin_only = True

    @property
    def routes(self) -> list[Route]:
        return [route for route in super().routes if route[0] != "PUT" and "tags" not in route[1]]


class _Labels(_Fixed):
    def gone(self, call: Call, resource: Resource) -> None:
        for rule in call.cloud.store.where(RULES.table, metering_label_id=resource.id):
            call.cloud.store.remove(rule)


class _Rules(_Fixed):
    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        label = labels.find(call, values["metering_label_id"])
        prefix = values["remote_ip_prefix"]
        if not (prefix or values["source_ip_prefix"] or values["destination_ip_prefix"]):
            text_ = "A rule needs a remote_ip_prefix, source_ip_prefix or destination_ip_prefix"
            raise Refusal(400, "MeteringLabelRuleInvalid", text_)
        filters = {"metering_label_id": label.id, "direction": values["direction"]}
        for rule in call.cloud.store.where(RULES.table, **filters):
            theirs = rule.body["remote_ip_prefix"]
            if prefix and theirs and _overlap(prefix, theirs):
                text_ = f"Label rule with remote_ip_prefix {prefix} overlaps another"
                raise Refusal(409, "MeteringLabelRuleOverlaps", text_)
        return super().make(call, project_id, values)


def _overlap(first: str, second: str) -> bool:
    nets = [ipaddress.ip_network(text_, strict=False) for text_ in (first, second)]
    return nets[0].version == nets[1].version and nets[0].overlaps(nets[1])


labels = _Labels(LABELS)
ROUTES = [*labels.routes, *_Rules(RULES).routes]
