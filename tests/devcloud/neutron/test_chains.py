"""Service function chains: strict, in use while they are, and as openstacksdk sees them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.devcloud.neutron.caller import NOBODY, Network
from tests.devcloud.running import Served

openstack = pytest.importorskip("openstack")
CLASSIFIERS, PAIRS = "sfc/flow_classifiers", "sfc/port_pairs"
GROUPS, CHAINS = "sfc/port_pair_groups", "sfc/port_chains"


def ports(demo: Network, *devices: str) -> list[str]:
    """Ports of devices, in a network of their own."""
    net = demo.make("networks", "network", name="n")["id"]
    made = (demo.make("ports", "port", network_id=net, device_id=one) for one in devices)
    return [one["id"] for one in made]


def pair(demo: Network, device: str = "one", **more: Any) -> Any:
    ingress, egress = ports(demo, device, device)
    return demo.make(PAIRS, "port_pair", ingress=ingress, egress=egress, **more)


def group(demo: Network, *pairs: Any) -> Any:
    return demo.make(GROUPS, "port_pair_group", port_pairs=[one["id"] for one in pairs])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"protocol": "gre"}, (400, "FlowClassifierInvalidProtocol")),
        ({"ethertype": "ARP"}, (400, "FlowClassifierInvalidEthertype")),
        ({"source_port_range_min": 1}, (400, "FlowClassifierProtocolRequiredWithPorts")),
        ({"source_port_range_min": "x"}, (400, "FlowClassifierInvalidPortValue")),
        ({"destination_port_range_max": 65536}, (400, "FlowClassifierInvalidPortValue")),
        ({"source_ip_prefix": "192.0.2.1/24"}, (400, "HTTPBadRequest")),
        ({"logical_source_port": NOBODY}, (404, "FlowClassifierPortNotFound")),
        ({"logical_source_port": "x"}, (400, "HTTPBadRequest")),
        ({"l7_parameters": {"url": "/"}}, (400, "FlowClassifierInvalidL7Parameter")),
        ({"no_such": 1}, (400, "HTTPBadRequest")),
        ({"name": 1}, (400, "HTTPBadRequest")),
        (
            {"protocol": "tcp", "source_port_range_min": 2, "source_port_range_max": 1},
            (400, "FlowClassifierInvalidPortRange"),
        ),
        (
            {"ethertype": "IPv6", "source_ip_prefix": "192.0.2.0/24"},
            (400, "FlowClassifierIpPrefixFormatConflictWithEthertype"),
        ),
    ],
)
def test_a_wrong_classifier_is_refused(demo: Network, fields: Any, expected: Any) -> None:
    assert demo.refused("POST", CLASSIFIERS, {"flow_classifier": fields}) == expected
    assert demo("GET", CLASSIFIERS).json() == {"flow_classifiers": []}


def test_two_classifiers_of_a_project_never_select_the_same_traffic(
    demo: Network, admin: Network
) -> None:
    web = {"protocol": "tcp", "destination_port_range_min": 80, "destination_port_range_max": 90}
    made = demo.make(CLASSIFIERS, "flow_classifier", **web)
    assert (made["ethertype"], made["l7_parameters"], made["source_port_range_min"]) == (
        "IPv4", {}, None,
    )  # fmt: skip
    conflict = (400, "FlowClassifierInConflict")
    for other in (
        {},
        {"protocol": "tcp"},
        {"protocol": "tcp", "source_ip_prefix": "192.0.2.0/24"},
        {"protocol": "TCP", "destination_port_range_min": 90},
        {"protocol": "tcp", "destination_port_range_max": 80},
    ):
        assert demo.refused("POST", CLASSIFIERS, {"flow_classifier": other}) == conflict
    for other in (
        {"ethertype": "ipv6"},
        {"protocol": "udp"},
        {"protocol": "tcp", "destination_port_range_min": 91},
    ):
        demo.make(CLASSIFIERS, "flow_classifier", **other)
    client, server = ports(demo, "c", "s")
    for port in (client, server):
        found = {**web, "destination_port_range_min": 79, "destination_port_range_max": 79}
        demo.make(CLASSIFIERS, "flow_classifier", **found, logical_source_port=port)
    assert admin.refused("POST", CLASSIFIERS, {"flow_classifier": web}) == conflict
    assert demo.refused("DELETE", f"ports/{client}") == (409, "PortInUse")
    assert demo.refused(
        "PUT", f"{CLASSIFIERS}/{made['id']}", {"flow_classifier": {"protocol": "udp"}}
    ) == (400, "HTTPBadRequest")


def test_the_ports_of_a_pair_are_of_one_machine_and_of_one_pair(
    demo: Network, admin: Network
) -> None:
    ingress, egress, loose, other = ports(demo, "one", "one", "", "two")

    def refused(**fields: Any) -> tuple[int, str]:
        wanted = {"ingress": ingress, "egress": egress, **fields}
        return demo.refused("POST", PAIRS, {"port_pair": wanted})

    assert refused(egress=NOBODY) == (404, "PortPairPortNotFound")
    assert refused(egress=loose) == (400, "PortPairEgressNoHost")
    assert refused(ingress=loose) == (400, "PortPairIngressNoHost")
    assert refused(egress=other) == (400, "PortPairIngressEgressDifferentHost")
    for parameters in ({"correlation": "vlan"}, {"weight": -1}, {"no_such": 1}, "x"):
        assert refused(service_function_parameters=parameters)[0] == 400
    made = demo.make(PAIRS, "port_pair", ingress=ingress, egress=egress)
    assert made["service_function_parameters"] == {"correlation": None, "weight": 1}
    assert refused() == (400, "PortPairIngressEgressInUse")
    assert demo.refused("DELETE", f"ports/{ingress}") == (409, "PortInUse")
    path = f"{PAIRS}/{made['id']}"
    assert demo.refused("PUT", path, {"port_pair": {"egress": other}})[0] == 400
    assert demo("PUT", path, {"port_pair": {"name": "new"}}).json()["port_pair"]["name"] == "new"
    theirs = admin.make("networks", "network", name="n")["id"]
    theirs = [admin.make("ports", "port", network_id=theirs, device_id="three")["id"] for _ in "12"]
    foreign = admin.make(PAIRS, "port_pair", ingress=theirs[0], egress=theirs[1])
    assert demo.refused("GET", f"{PAIRS}/{foreign['id']}") == (404, "PortPairNotFound")
    assert refused(ingress=theirs[0], egress=theirs[1]) == (400, "PortPairIngressEgressInUse")
    assert [one["id"] for one in demo("GET", PAIRS).json()["port_pairs"]] == [made["id"]]


def test_a_pair_is_in_one_group_and_stays_while_it_is(demo: Network) -> None:
    first, second = pair(demo), pair(demo, "two")
    marked = pair(demo, "three", service_function_parameters={"correlation": "nsh"})
    made = group(demo, first)
    path = f"{GROUPS}/{made['id']}"
    assert made["port_pair_group_parameters"] == {
        "lb_fields": [],
        "ppg_n_tuple_mapping": {"ingress_n_tuple": {}, "egress_n_tuple": {}},
    }

    def refused(method: str, path: str, **fields: Any) -> tuple[int, str]:
        return demo.refused(method, path, {"port_pair_group": fields})

    assert refused("POST", GROUPS, port_pairs=[first["id"]]) == (409, "PortPairInUse")
    assert refused("POST", GROUPS, port_pairs=[NOBODY]) == (404, "PortPairNotFound")
    mixed = [second["id"], marked["id"]]
    assert refused("POST", GROUPS, port_pairs=mixed) == (400, "InconsistentCorrelations")
    assert refused("POST", GROUPS, port_pairs=[first["id"]] * 2)[0] == 400
    tuples = {"ppg_n_tuple_mapping": {"ingress_n_tuple": {"no_such": 1}}}
    invalid = (400, "PPGParametersInvalidNTupleMappingParameter")
    assert refused("POST", GROUPS, port_pair_group_parameters=tuples) == invalid
    lb = {"lb_fields": ["ip_ttl"]}
    assert refused("POST", GROUPS, port_pair_group_parameters=lb)[0] == 400
    assert demo.refused("DELETE", f"{PAIRS}/{first['id']}") == (409, "PortPairInUse")
    both = {"port_pair_group": {"port_pairs": [first["id"], second["id"]]}}
    assert demo("PUT", path, both).json()["port_pair_group"]["port_pairs"] == [
        first["id"], second["id"],
    ]  # fmt: skip
    assert demo("DELETE", path).status_code == 204
    assert demo("DELETE", f"{PAIRS}/{first['id']}").status_code == 204


def test_what_a_chain_needs_stays_while_the_chain_is_there(demo: Network) -> None:
    one, two = group(demo, pair(demo)), group(demo, pair(demo, "two"))
    client, other = ports(demo, "c", "d")
    web = {"protocol": "tcp", "destination_port_range_min": 80}
    first = demo.make(CLASSIFIERS, "flow_classifier", **web, logical_source_port=client)
    twin = demo.make(CLASSIFIERS, "flow_classifier", **web, logical_source_port=other)

    def refused(**fields: Any) -> tuple[int, str]:
        return demo.refused("POST", CHAINS, {"port_chain": fields})

    wanted = {"port_pair_groups": [one["id"]], "flow_classifiers": [first["id"]]}
    assert refused(port_pair_groups=[]) == (400, "PortPairGroupNotSpecified")
    assert refused() == (400, "HTTPBadRequest")
    assert refused(port_pair_groups=[NOBODY]) == (404, "PortPairGroupNotFound")
    assert refused(**{**wanted, "flow_classifiers": [NOBODY]}) == (404, "FlowClassifierNotFound")
    assert refused(**wanted, chain_parameters={"correlation": "vlan"})[0] == 400
    chain = demo.make(CHAINS, "port_chain", **wanted)
    assert (chain["chain_parameters"], chain["chain_id"]) == (
        {"correlation": "mpls", "symmetric": False}, 1,
    )  # fmt: skip
    groups = {"port_pair_groups": [two["id"]]}
    assert refused(**wanted) == (409, "InvalidPortPairGroups")
    assert refused(**groups, chain_id=1) == (400, "PortChainChainIdInConflict")
    taken = refused(**groups, flow_classifiers=[first["id"]])
    assert taken == (409, "FlowClassifierInUse")
    overlapping = refused(**groups, flow_classifiers=[twin["id"]])
    assert overlapping == (400, "PortChainFlowClassifierInConflict")
    in_use = demo.refused("DELETE", f"{CLASSIFIERS}/{first['id']}")
    assert in_use == (409, "FlowClassifierInUse")
    assert demo.refused("DELETE", f"{GROUPS}/{one['id']}") == (409, "PortPairGroupInUse")
    path = f"{CHAINS}/{chain['id']}"
    changed = {"port_pair_groups": [two["id"], one["id"]], "flow_classifiers": [twin["id"]]}
    shown = demo("PUT", path, {"port_chain": changed}).json()["port_chain"]
    assert changed.items() <= shown.items()
    assert demo.refused("PUT", path, {"port_chain": {"port_pair_groups": []}})[0] == 400
    fixed = {"port_chain": {"chain_parameters": {"correlation": "nsh"}}}
    assert demo.refused("PUT", path, fixed)[0] == 400
    assert demo("DELETE", path).status_code == 204
    assert demo("DELETE", f"{GROUPS}/{one['id']}").status_code == 204


def test_a_chain_has_the_correlation_of_its_pairs(demo: Network) -> None:
    marked = pair(demo, service_function_parameters={"correlation": "nsh"})
    wanted = {"port_pair_groups": [group(demo, marked)["id"]]}
    refused = demo.refused("POST", CHAINS, {"port_chain": wanted})
    assert refused == (400, "PortChainInconsistentCorrelations")
    demo.make(CHAINS, "port_chain", **wanted, chain_parameters={"correlation": "nsh"})


def test_chains_have_quotas(demo: Network) -> None:
    for number in range(10):
        demo.make(GROUPS, "port_pair_group", name=f"group-{number}")
    assert demo.refused("POST", GROUPS, {"port_pair_group": {}}) == (409, "OverQuota")


def test_openstacksdk_makes_finds_changes_and_deletes_them(fresh: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = openstack.connect(**fresh.client_config()).network
        net = network.create_network(name="n")
        ends = [network.create_port(network_id=net.id, device_id="one").id for _ in "12"]
        classifier = network.create_sfc_flow_classifier(name="web", protocol="tcp")
        made = network.create_sfc_port_pair(name="p", ingress=ends[0], egress=ends[1])
        together = network.create_sfc_port_pair_group(name="g", port_pairs=[made.id])
        chain = network.create_sfc_port_chain(
            name="c", port_pair_groups=[together.id], flow_classifiers=[classifier.id]
        )
        assert network.find_sfc_port_pair("p").ingress == ends[0]
        assert [one.id for one in network.sfc_port_pairs(egress=ends[1])] == [made.id]
        assert network.find_sfc_port_pair_group("g").port_pairs == [made.id]
        network.update_sfc_port_chain(chain, description="d", flow_classifiers=[])
        assert network.get_sfc_port_chain(chain).flow_classifiers == []
        network.delete_sfc_flow_classifier(classifier, ignore_missing=False)
        network.delete_sfc_port_chain(chain, ignore_missing=False)
        network.delete_sfc_port_pair_group(together, ignore_missing=False)
        network.delete_sfc_port_pair(made, ignore_missing=False)
        assert list(network.sfc_port_chains()) == list(network.sfc_port_pairs()) == []
