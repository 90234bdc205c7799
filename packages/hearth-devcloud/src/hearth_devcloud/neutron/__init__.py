"""The emulated network service (Neutron): networks, ports, addresses and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_devcloud.http import Router, Service, at_root, unauthorized
from hearth_devcloud.neutron import (
    agents,
    chains,
    classifiers,
    firewalls,
    floating,
    gateways,
    metering,
    misc,
    networks,
    pools,
    ports,
    qos,
    quotas,
    routers,
    security,
    segments,
    subnets,
    taps,
    trunks,
    vpn,
)
from hearth_devcloud.neutron.rest import refusal, refuse_reader
from hearth_devcloud.store import Resource

SERVICE = Service(
    name="network",
    router=Router(
        networks.ROUTES,
        subnets.ROUTES,
        ports.ROUTES,
        routers.ROUTES,
        floating.ROUTES,
        security.ROUTES,
        trunks.ROUTES,
        qos.ROUTES,
        pools.ROUTES,
        quotas.ROUTES,
        segments.ROUTES,
        vpn.ROUTES,
        firewalls.ROUTES,
        metering.ROUTES,
        taps.ROUTES,
        gateways.ROUTES,
        classifiers.ROUTES,
        chains.ROUTES,
        misc.ROUTES,
    ),
    refusal=refusal,
    open=at_root,
    unauthorized=unauthorized,
    refuse_reader=refuse_reader,
    unknown_type="HTTPNotFound",
    wrong_method_type="HTTPMethodNotAllowed",
)
TRANSITIONS: dict[str, Callable[[Any, Resource], None]] = {
    "network.agent": agents.carried_out,
    "network.floating_ip": floating.follow_port,
    "network.trunk": trunks.settle_trunk,
}
