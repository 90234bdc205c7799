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
from hearth_devcloud.store import Store, Thing

_CORRELATIONS = ("mpls", "nsh")
_LB_FIELDS = tuple(
    f"{layer}_{end}" for layer in ("eth", "ip", "tcp", "udp") for end in ("src", "dst")
)
_TUPLE_FIELDS = {
    f"{end}_{name}"
    for end in ("source", "destination")
    for name in ("ip_prefix", "port_range_min", "port_range_max")
}


def _parameters(defaults: Callable[[], Body], **known: Check) -> Check:
    """Return a check for an object of parameters; null and an empty object mean the defaults."""

    def check(value: Any) -> Body:
        given = mapping(value)
        if unknown := sorted(set(given) - set(known)):
            raise ValueError(f"unexpected keys: {', '.join(unknown)}")
        return {key: known[key](one) for key, one in given.items()} or defaults()

    return check


def _tuples(value: Any) -> Body:
    """Check the n-tuple mapping of a group and return it. Raises ValueError or Refusal 400."""
    given = mapping(value)
    if unknown := sorted(set(given) - {"ingress_n_tuple", "egress_n_tuple"}):
        raise ValueError(f"unexpected keys: {', '.join(unknown)}")
    for one in given.values():
        for key in mapping(one):
            if key not in _TUPLE_FIELDS:
                type_ = "PPGParametersInvalidNTupleMappingParameter"
                raise Refusal(400, type_, f"Unknown key {key} in the n-tuple mapping.")
    return {"ingress_n_tuple": {}, "egress_n_tuple": {}, **given}


def _group_defaults() -> Body:
    return {"lb_fields": [], "ppg_n_tuple_mapping": _tuples({})}


def _chain_defaults() -> Body:
    return {"correlation": "mpls", "symmetric": False}


def _chain_parameters(value: Any) -> Body:
    known = {"correlation": one_of(*_CORRELATIONS), "symmetric": boolean}
    return {**_chain_defaults(), **_parameters(_chain_defaults, **known)(value)}


def _group_parameters(value: Any) -> Body:
    known = {"lb_fields": list_of(one_of(*_LB_FIELDS)), "ppg_n_tuple_mapping": _tuples}
    return {**_group_defaults(), **_parameters(_group_defaults, **known)(value)}


def _pair_defaults() -> Body:
    return {"correlation": None, "weight": 1}


_ids = checks.distinct(uuid, "Duplicate items in the list:")


def _groups_of_chain(value: Any) -> Any:
    found = _ids(value)
    if not found:
        words = "Port Pair Group is not specified in Port Chain."
        raise Refusal(400, "PortPairGroupNotSpecified", words)
    return found


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


def _others(store: Store, collection: Collection, own: Thing | None) -> Iterator[Thing]:
    """Yield the objects of a collection other than `own`."""
    return (one for one in store.all(collection.table) if one is not own)


class _Pairs(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        ends = {"ingress": values["ingress"], "egress": values["egress"]}
        for other in call.cloud.store.where(PAIRS.table, **ends):
            words = f"The port pair {other.id} already has these ports."
            raise Refusal(400, "PortPairIngressEgressInUse", words)
        hosts = {end: self._host(call, end, port_id) for end, port_id in ends.items()}
        if hosts["ingress"] != hosts["egress"]:
            words = "The ingress port and the egress port are not on the same host."
            raise Refusal(400, "PortPairIngressEgressDifferentHost", words)
        return super().make(call, project_id, values)

    @staticmethod
    def _host(call: Call, end: str, port_id: str) -> str:
        """Return the id of the device that has the port. Raises Refusal if there is none."""
        try:
            port = ports.find(call, port_id)
        except Refusal:
            words = f"Port Pair port {port_id} not found."
            raise Refusal(404, "PortPairPortNotFound", words) from None
        device: str = port.body["device_id"]
        if not device:
            words = f"Port Pair {end} port {port_id} does not belong to a host."
            raise Refusal(400, f"PortPair{end.title()}NoHost", words)
        return device

    def gone(self, call: Call, thing: Thing) -> None:
        _free(call, thing, None)


def _free(call: Call, pair: Thing, own: Thing | None) -> None:
    """Raise Refusal 409 if a port pair is in a group other than `own`."""
    if any(pair.id in group.body["port_pairs"] for group in _others(call.cloud.store, GROUPS, own)):
        raise Refusal(409, "PortPairInUse", f"Port Pair {pair.id} in use.")


def _correlations(found: list[Thing]) -> set[str | None]:
    return {pair.body["service_function_parameters"].get("correlation") for pair in found}


class _Groups(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        self._check(call, values["port_pairs"], None)
        number = call.cloud.store.new_serial("network.port_pair_groups")
        return super().make(call, project_id, {**values, "group_id": number})

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        self._check(call, changes.get("port_pairs", []), thing)
        super().change(call, thing, changes)

    @staticmethod
    def _check(call: Call, pair_ids: list[str], own: Thing | None) -> None:
        found = [pairs.find(call, pair_id) for pair_id in pair_ids]
        for pair in found:
            _free(call, pair, own)
        if len(_correlations(found)) > 1:
            words = "The port pairs have different correlation types."
            raise Refusal(400, "InconsistentCorrelations", words)

    def gone(self, call: Call, thing: Thing) -> None:
        for chain in call.cloud.store.all(CHAINS.table):
            if thing.id in chain.body["port_pair_groups"]:
                raise Refusal(409, "PortPairGroupInUse", f"Port Pair Group {thing.id} in use.")


class _Chains(Rest):
    standard = False

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        self._check_groups(call, values, None)
        self._check_classifiers(call, values["flow_classifiers"], None)
        values = {**values, "chain_id": self._number(call.cloud.store, values["chain_id"])}
        return super().make(call, project_id, values)

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        if "port_pair_groups" in changes:
            self._check_groups(call, {**thing.body, **changes}, thing)
        self._check_classifiers(call, changes.get("flow_classifiers", []), thing)
        super().change(call, thing, changes)

    @staticmethod
    def _number(store: Store, wanted: int) -> int:
        """Return the number of a new chain: the wanted one, or the lowest free one if it is 0."""
        used = {chain.body["chain_id"]: chain.id for chain in store.all(CHAINS.table)}
        if wanted in used:
            words = f"The port chain {used[wanted]} has the chain id {wanted}."
            raise Refusal(400, "PortChainChainIdInConflict", words)
        return wanted or next(n for n in range(1, len(used) + 2) if n not in used)

    @staticmethod
    def _check_groups(call: Call, values: Body, own: Thing | None) -> None:
        wanted, store = values["port_pair_groups"], call.cloud.store
        allowed = {None, values["chain_parameters"]["correlation"]}
        for group in [groups.find(call, one) for one in wanted]:
            inside = [store.table(PAIRS.table).get(one) for one in group.body["port_pairs"]]
            if not _correlations([pair for pair in inside if pair is not None]) <= allowed:
                words = f"The group {group.id} has another correlation type than the chain."
                raise Refusal(400, "PortChainInconsistentCorrelations", words)
        for chain in _others(store, CHAINS, own):
            if chain.body["port_pair_groups"] == wanted:
                words = f"Port Pair Group(s) {wanted} in use by Port Chain {chain.id}."
                raise Refusal(409, "InvalidPortPairGroups", words)

    @staticmethod
    def _check_classifiers(call: Call, wanted: list[str], own: Thing | None) -> None:
        mine, store = [classifiers.find(call, one) for one in wanted], call.cloud.store
        for chain in _others(store, CHAINS, own):
            for one in chain.body["flow_classifiers"]:
                if one in wanted:
                    raise Refusal(409, "FlowClassifierInUse", f"Flow Classifier {one} in use.")
                other = store.table("network.flow_classifiers").get(one)
                if other is not None and any(overlap(own_.body, other.body) for own_ in mine):
                    words = f"A flow classifier conflicts with {one} of the port chain {chain.id}."
                    raise Refusal(400, "PortChainFlowClassifierInConflict", words)


pairs = _Pairs(PAIRS)
groups = _Groups(GROUPS)
ROUTES = [*pairs.routes, *groups.routes, *_Chains(CHAINS).routes]
