"""Pools and addresses."""

from __future__ import annotations

import ipaddress

import pytest

from hearth_devcloud.http import Refusal
from hearth_devcloud.neutron.addresses import eui64, pools_without, take
from hearth_devcloud.store import Resource


def subnet(start: str, end: str) -> Resource:
    body = {"network_id": "n", "allocation_pools": [{"start": start, "end": end}]}
    return Resource("s", "network.subnets", "p", body)


def test_the_pools_are_all_hosts_but_the_gateway() -> None:
    net = ipaddress.ip_network("10.0.0.0/29")
    assert pools_without(net, "10.0.0.1") == [{"start": "10.0.0.2", "end": "10.0.0.6"}]
    assert pools_without(net, "10.0.0.3") == [
        {"start": "10.0.0.1", "end": "10.0.0.2"},
        {"start": "10.0.0.4", "end": "10.0.0.6"},
    ]


def test_addresses_are_given_out_once_until_none_is_left() -> None:
    small = subnet("10.0.0.2", "10.0.0.4")
    assert [take(small, f"p{n}") for n in range(3)] == ["10.0.0.2", "10.0.0.3", "10.0.0.4"]
    with pytest.raises(Refusal, match="No more IP addresses"):
        take(small, "p3")
    del small.hidden["used"]["10.0.0.3"]
    assert take(small, "p4") == "10.0.0.3"


def test_a_wanted_address_that_is_taken_is_refused() -> None:
    small = subnet("10.0.0.2", "10.0.0.4")
    take(small, "p", "10.0.0.3")
    with pytest.raises(Refusal) as refused:
        take(small, "q", "10.0.0.3")
    assert refused.value.type == "IpAddressAlreadyAllocated"


def test_a_host_makes_its_own_address_of_its_mac() -> None:
    assert eui64("2001:db8:1::/64", "fa:16:3e:9e:3c:d2") == "2001:db8:1:0:f816:3eff:fe9e:3cd2"
