"""The API of flow classifiers, which select the traffic of port chains."""

from __future__ import annotations

import ipaddress
from typing import Any

from hearth_devcloud.collection import Collection, Field, mapping, nullable, text, uuid
from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.neutron import checks
from hearth_devcloud.neutron.ports import ports
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.store import Resource

_PROTOCOLS = ("tcp", "udp", "icmp")
_ETHERTYPES = {"ipv4": "IPv4", "ipv6": "IPv6"}
_VERSIONS = {"IPv4": 4, "IPv6": 6}
_ENDS = ("source", "destination")


def _words(value: Any) -> str:
    return "" if value is None else text()(value)


def _protocol(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.lower() in _PROTOCOLS):
        return value and value.lower()
    message = f"Protocol {value} is not supported. Supported protocols are {list(_PROTOCOLS)}."
    raise Refusal(400, "FlowClassifierInvalidProtocol", message)


def _ethertype(value: Any) -> str:
    if value is None:
        return "IPv4"
    if isinstance(value, str) and value.lower() in _ETHERTYPES:
        return _ETHERTYPES[value.lower()]
    message = f"Ethertype {value} is not supported. Supported types are {list(_VERSIONS)}."
    raise Refusal(400, "FlowClassifierInvalidEthertype", message)


def _number(value: Any) -> int | None:
    if value is None:
        return None
    digits = isinstance(value, int | str) and not isinstance(value, bool) and str(value).isdecimal()
    if not digits or int(value) > 65535:
        raise Refusal(400, "FlowClassifierInvalidPortValue", f"Port value {value} is invalid.")
    return int(value)


def _no_parameters(value: Any) -> Body:
    for key in mapping(value):
        message = f"Unknown parameter {key}. There are no supported parameters."
        raise Refusal(400, "FlowClassifierInvalidL7Parameter", message)
    return {}


CLASSIFIERS = Collection(
    "network",
    "flow_classifiers",
    "flow_classifier",
    {
        "name": Field(_words, default=""),
        "description": Field(_words, default=""),
        "ethertype": Field(_ethertype, default="IPv4", update=False),
        "protocol": Field(_protocol, update=False),
        "source_port_range_min": Field(_number, update=False),
        "source_port_range_max": Field(_number, update=False),
        "destination_port_range_min": Field(_number, update=False),
        "destination_port_range_max": Field(_number, update=False),
        "source_ip_prefix": Field(nullable(checks.cidr), update=False),
        "destination_ip_prefix": Field(nullable(checks.cidr), update=False),
        "logical_source_port": Field(nullable(uuid), update=False),
        "logical_destination_port": Field(nullable(uuid), update=False),
        "l7_parameters": Field(_no_parameters, default=dict, update=False),
    },
    type_name="FlowClassifier",
    path="/v2.0/sfc/flow_classifiers",
    quota="flow_classifier",
)


def overlap(first: Body, second: Body) -> bool:
    """Return whether some traffic fits two classifiers, whatever their logical ports are."""
    same_type = first["ethertype"] == second["ethertype"]
    return (
        same_type
        and _alike(first, second, "protocol")
        and all(_meet(first, second, end) for end in _ENDS)
    )


def _alike(first: Body, second: Body, name: str) -> bool:
    return None in (first[name], second[name]) or first[name] == second[name]


def _meet(first: Body, second: Body, end: str) -> bool:
    """Return whether addresses and port numbers at one end of the traffic overlap."""
    prefixes = [first[f"{end}_ip_prefix"], second[f"{end}_ip_prefix"]]
    if None not in prefixes:
        first_net, second_net = map(ipaddress.ip_network, prefixes)
        if first_net.version != second_net.version or not first_net.overlaps(second_net):
            return False
    for low, high in ((first, second), (second, first)):
        bounds = low[f"{end}_port_range_min"], high[f"{end}_port_range_max"]
        if None not in bounds and bounds[0] > bounds[1]:
            return False
    return True


class _Classifiers(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        for end in _ENDS:
            self._check_end(call, values, end)
        for classifier in call.cloud.store.all(CLASSIFIERS.table):
            visible = call.caller.is_admin or classifier.project_id == call.caller.project_id
            logical = (_alike(values, classifier.body, f"logical_{end}_port") for end in _ENDS)
            if visible and overlap(values, classifier.body) and all(logical):
                message = f"The flow classifier conflicts with the flow classifier {classifier.id}."
                raise Refusal(400, "FlowClassifierInConflict", message)
        return super().make(call, project_id, values)

    @staticmethod
    def _check_end(call: Call, values: Body, end: str) -> None:
        low, high = values[f"{end}_port_range_min"], values[f"{end}_port_range_max"]
        if None not in (low, high) and low > high:
            message = f"Invalid port range: {low} is greater than {high}."
            raise Refusal(400, "FlowClassifierInvalidPortRange", message)
        if (low, high) != (None, None) and values["protocol"] not in ("tcp", "udp"):
            message = "A range of ports needs the protocol tcp or udp."
            raise Refusal(400, "FlowClassifierProtocolRequiredWithPorts", message)
        prefix, ethertype = values[f"{end}_ip_prefix"], values["ethertype"]
        if prefix and ipaddress.ip_network(prefix).version != _VERSIONS[ethertype]:
            type_ = "FlowClassifierIpPrefixFormatConflictWithEthertype"
            raise Refusal(400, type_, f"IP prefix {prefix} conflicts with ethertype {ethertype}.")
        port_id = values[f"logical_{end}_port"]
        if port_id is not None and not _there(call, port_id):
            message = f"Flow Classifier Neutron Port {port_id} not found."
            raise Refusal(404, "FlowClassifierPortNotFound", message)

    def gone(self, call: Call, resource: Resource) -> None:
        for chain in call.cloud.store.all("network.port_chains"):
            if resource.id in chain.body["flow_classifiers"]:
                raise Refusal(409, "FlowClassifierInUse", f"Flow Classifier {resource.id} in use.")


def _there(call: Call, port_id: str) -> bool:
    try:
        ports.find(call, port_id)
    except Refusal:
        return False
    return True


classifiers = _Classifiers(CLASSIFIERS)
ROUTES = classifiers.routes
