"""The API of service function chains: port pairs, groups of port pairs, and port chains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hearth_devcloud.collection import (
    READ_ONLY,
    Check,
    Collection,
    Field,
    boolean,
    integer,
    list_of,
    mapping,
    one_of,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.neutron import checks
from hearth_devcloud.neutron.classifiers import classifiers, overlap
from hearth_devcloud.neutron.ports import ports
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.store import Resource, Store

_CORRELATIONS = ("mpls", "nsh")
_LB_FIELDS = tuple(
    f"{layer}_{end}" for layer in ("eth", "ip", "tcp", "udp") for end in ("src", "dst")
)
_TUPLE_FIELDS = {
    f"{end}_{name}"
    for end in ("source", "destination")
    for name in ("ip_prefix", "port_range_min", "port_range_max")
}


def _parameters(defaults: Callable[[], Body], **checks_by_name: Check) -> Check:
    """Return a check for an object of parameters; null and an empty object mean the defaults."""

    def check(value: Any) -> Body:
        parameters = mapping(value)
        if unknown := sorted(set(parameters) - set(checks_by_name)):
            raise ValueError(f"unexpected keys: {', '.join(unknown)}")
        return {
            key: checks_by_name[key](parameter) for key, parameter in parameters.items()
        } or defaults()

    return check


def _tuples(value: Any) -> Body:
    """Check the n-tuple mapping of a group and return it. Raises ValueError or Refusal 400."""
    tuples = mapping(value)
    if unknown := sorted(set(tuples) - {"ingress_n_tuple", "egress_n_tuple"}):
        raise ValueError(f"unexpected keys: {', '.join(unknown)}")
    for tuple_fields in tuples.values():
        for key in mapping(tuple_fields):
            if key not in _TUPLE_FIELDS:
                type_ = "PPGParametersInvalidNTupleMappingParameter"
                raise Refusal(400, type_, f"Unknown key {key} in the n-tuple mapping.")
    return {"ingress_n_tuple": {}, "egress_n_tuple": {}, **tuples}


def _group_defaults() -> Body:
    return {"lb_fields": [], "ppg_n_tuple_mapping": _tuples({})}


def _chain_defaults() -> Body:
    return {"correlation": "mpls", "symmetric": False}


def _chain_parameters(value: Any) -> Body:
    checks_by_name = {"correlation": one_of(*_CORRELATIONS), "symmetric": boolean}
    return {**_chain_defaults(), **_parameters(_chain_defaults, **checks_by_name)(value)}


def _group_parameters(value: Any) -> Body:
    checks_by_name = {"lb_fields": list_of(one_of(*_LB_FIELDS)), "ppg_n_tuple_mapping": _tuples}
    return {**_group_defaults(), **_parameters(_group_defaults, **checks_by_name)(value)}


def _pair_defaults() -> Body:
    return {"correlation": None, "weight": 1}


_ids = checks.distinct(uuid, "Duplicate items in the list:")


def _groups_of_chain(value: Any) -> Any:
    group_ids = _ids(value)
    if not group_ids:
        message = "Port Pair Group is not specified in Port Chain."
        raise Refusal(400, "PortPairGroupNotSpecified", message)
    return group_ids


_NAMED = {"name": Field(text(), default=""), "description": Field(text(), default="")}
PAIRS = Collection(
    "network",
    "port_pairs",
    "port_pair",
    {
        **_NAMED,
        "ingress": Field(uuid, required=True, update=False),
        "egress": Field(uuid, required=True, update=False),
        "service_function_parameters": Field(
            _parameters(
                _pair_defaults, correlation=one_of(None, *_CORRELATIONS), weight=integer(0)
            ),
            default=_pair_defaults,
            update=False,
        ),
    },
    type_name="PortPair",
    path="/v2.0/sfc/port_pairs",
    quota="port_pair",
)
GROUPS = Collection(
    "network",
    "port_pair_groups",
    "port_pair_group",
    {
        **_NAMED,
        "group_id": READ_ONLY,
        "port_pairs": Field(_ids, default=list),
        "port_pair_group_parameters": Field(
            _group_parameters, default=_group_defaults, update=False
        ),
    },
    type_name="PortPairGroup",
    path="/v2.0/sfc/port_pair_groups",
    quota="port_pair_group",
)
CHAINS = Collection(
    "network",
    "port_chains",
    "port_chain",
    {
        **_NAMED,
        "chain_id": Field(integer(0, 65535), default=0, update=False),
        "port_pair_groups": Field(_groups_of_chain, required=True),
        "flow_classifiers": Field(_ids, default=list),
        "chain_parameters": Field(_chain_parameters, default=_chain_defaults, update=False),
    },
    type_name="PortChain",
    path="/v2.0/sfc/port_chains",
    quota="port_chain",
)


def _others(store: Store, collection: Collection, current: Resource | None) -> Iterator[Resource]:
    """Yield the objects of a collection other than `current`."""
    return (resource for resource in store.all(collection.table) if resource is not current)


class _Pairs(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        ends = {"ingress": values["ingress"], "egress": values["egress"]}
        for pair in call.cloud.store.where(PAIRS.table, **ends):
            message = f"The port pair {pair.id} already has these ports."
            raise Refusal(400, "PortPairIngressEgressInUse", message)
        hosts = {end: self._host(call, end, port_id) for end, port_id in ends.items()}
        if hosts["ingress"] != hosts["egress"]:
            message = "The ingress port and the egress port are not on the same host."
            raise Refusal(400, "PortPairIngressEgressDifferentHost", message)
        return super().make(call, project_id, values)

    @staticmethod
    def _host(call: Call, end: str, port_id: str) -> str:
        """Return the id of the device that has the port. Raises Refusal if there is none."""
        try:
            port = ports.find(call, port_id)
        except Refusal:
            message = f"Port Pair port {port_id} not found."
            raise Refusal(404, "PortPairPortNotFound", message) from None
        device: str = port.body["device_id"]
        if not device:
            message = f"Port Pair {end} port {port_id} does not belong to a host."
            raise Refusal(400, f"PortPair{end.title()}NoHost", message)
        return device

    def gone(self, call: Call, resource: Resource) -> None:
        _free(call, resource, None)


def _free(call: Call, pair: Resource, current: Resource | None) -> None:
    """Raise Refusal 409 if a port pair is in a group other than `current`."""
    if any(
        pair.id in group.body["port_pairs"] for group in _others(call.cloud.store, GROUPS, current)
    ):
        raise Refusal(409, "PortPairInUse", f"Port Pair {pair.id} in use.")


def _correlations(pairs: list[Resource]) -> set[str | None]:
    return {pair.body["service_function_parameters"].get("correlation") for pair in pairs}


class _Groups(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        self._check(call, values["port_pairs"], None)
        number = call.cloud.store.new_serial("network.port_pair_groups")
        return super().make(call, project_id, {**values, "group_id": number})

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        self._check(call, changes.get("port_pairs", []), resource)
        super().change(call, resource, changes)

    @staticmethod
    def _check(call: Call, pair_ids: list[str], current: Resource | None) -> None:
        port_pairs = [pairs.find(call, pair_id) for pair_id in pair_ids]
        for pair in port_pairs:
            _free(call, pair, current)
        if len(_correlations(port_pairs)) > 1:
            message = "The port pairs have different correlation types."
            raise Refusal(400, "InconsistentCorrelations", message)

    def gone(self, call: Call, resource: Resource) -> None:
        for chain in call.cloud.store.all(CHAINS.table):
            if resource.id in chain.body["port_pair_groups"]:
                raise Refusal(409, "PortPairGroupInUse", f"Port Pair Group {resource.id} in use.")


class _Chains(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        self._check_groups(call, values, None)
        self._check_classifiers(call, values["flow_classifiers"], None)
        values = {**values, "chain_id": self._number(call.cloud.store, values["chain_id"])}
        return super().make(call, project_id, values)

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if "port_pair_groups" in changes:
            self._check_groups(call, {**resource.body, **changes}, resource)
        self._check_classifiers(call, changes.get("flow_classifiers", []), resource)
        super().change(call, resource, changes)

    @staticmethod
    def _number(store: Store, number: int) -> int:
        """Return the number of a new chain: the wanted one, or the lowest free one if it is 0."""
        used = {chain.body["chain_id"]: chain.id for chain in store.all(CHAINS.table)}
        if number in used:
            message = f"The port chain {used[number]} has the chain id {number}."
            raise Refusal(400, "PortChainChainIdInConflict", message)
        return number or next(n for n in range(1, len(used) + 2) if n not in used)

    @staticmethod
    def _check_groups(call: Call, values: Body, current: Resource | None) -> None:
        group_ids, store = values["port_pair_groups"], call.cloud.store
        correlations = {None, values["chain_parameters"]["correlation"]}
        for group in [groups.find(call, group_id) for group_id in group_ids]:
            inside = [store.table(PAIRS.table).get(pair_id) for pair_id in group.body["port_pairs"]]
            if not _correlations([pair for pair in inside if pair is not None]) <= correlations:
                message = f"The group {group.id} has another correlation type than the chain."
                raise Refusal(400, "PortChainInconsistentCorrelations", message)
        for chain in _others(store, CHAINS, current):
            if chain.body["port_pair_groups"] == group_ids:
                message = f"Port Pair Group(s) {group_ids} in use by Port Chain {chain.id}."
                raise Refusal(409, "InvalidPortPairGroups", message)

    @staticmethod
    def _check_classifiers(call: Call, classifier_ids: list[str], current: Resource | None) -> None:
        chosen, store = (
            [classifiers.find(call, classifier_id) for classifier_id in classifier_ids],
            call.cloud.store,
        )
        for chain in _others(store, CHAINS, current):
            for used_id in chain.body["flow_classifiers"]:
                if used_id in classifier_ids:
                    raise Refusal(409, "FlowClassifierInUse", f"Flow Classifier {used_id} in use.")
                classifier = store.table("network.flow_classifiers").get(used_id)
                if classifier is not None and any(
                    overlap(new.body, classifier.body) for new in chosen
                ):
                    message = (
                        f"A flow classifier conflicts with {used_id} of the port chain {chain.id}."
                    )
                    raise Refusal(400, "PortChainFlowClassifierInConflict", message)


pairs = _Pairs(PAIRS)
groups = _Groups(GROUPS)
ROUTES = [*pairs.routes, *groups.routes, *_Chains(CHAINS).routes]
