"""The environment files of a cluster's stack: one for each of six features, in a fixed order.

If several files map the same type name, the last file wins, so the order matters. Source:
tests/facts/magnum/environments.json; docs/spec/clusters.md, 4.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import product


class Balancer(Enum):
    """The kind of load balancer in front of the masters; each value names an environment file."""

    NONE = "no_master_lb"
    OCTAVIA = "with_master_lb_octavia"
    NEUTRON = "with_master_lb"  # clouds without a load balancer service


@dataclass(frozen=True)
class FeatureChoice:
    """The features of a cluster that select its environment files, one file for each feature.

    `volume` is true if nodes have a volume for containers, `etcd_volume` if masters have one for
    etcd. `floating_ip` is that of the nodes, `balancer_floating_ip` that of the load balancer.
    """

    private_network: bool
    etcd_volume: bool
    volume: bool
    balancer: Balancer
    floating_ip: bool
    balancer_floating_ip: bool

    def __post_init__(self) -> None:
        """Raise ValueError if the load balancer has a floating IP but there is no load balancer."""
        if self.balancer is Balancer.NONE and self.balancer_floating_ip:
            raise ValueError("balancer_floating_ip is set, but there is no load balancer")


def chosen(
    *,
    private_network: bool,
    etcd_volume: bool,
    volume: bool,
    balancer: Balancer,
    floating_ip: bool,
    balancer_floating_ip: bool,
) -> FeatureChoice:
    """Return the features with invalid combinations corrected; the arguments are the fields of the
    result.

    If nodes have floating IPs, the load balancer has one too, whatever its label says, as in
    Magnum. Without a load balancer there is no such floating IP.
    """
    with_balancer = balancer is not Balancer.NONE
    return FeatureChoice(
        private_network=private_network,
        etcd_volume=etcd_volume,
        volume=volume,
        balancer=balancer,
        floating_ip=floating_ip,
        balancer_floating_ip=with_balancer and (floating_ip or balancer_floating_ip),
    )


def environment_files(choice: FeatureChoice) -> tuple[str, ...]:
    """Return the names of the six environment files, in the order in which they apply."""
    names = (
        "with_private_network" if choice.private_network else "no_private_network",
        "with_etcd_volume" if choice.etcd_volume else "no_etcd_volume",
        "with_volume" if choice.volume else "no_volume",
        choice.balancer.value,
        "enable_floating_ip" if choice.floating_ip else "disable_floating_ip",
        "enable_lb_floating_ip" if choice.balancer_floating_ip else "disable_lb_floating_ip",
    )
    return tuple(f"{name}.yaml" for name in names)


def choices() -> Iterator[FeatureChoice]:
    """Yield each of the 64 valid combinations of features."""
    earlier = set()
    for network, etcd, volume, balancer, node_ip, balancer_ip in product(
        (False, True), (False, True), (False, True), Balancer, (False, True), (False, True)
    ):
        choice = chosen(
            private_network=network,
            etcd_volume=etcd,
            volume=volume,
            balancer=balancer,
            floating_ip=node_ip,
            balancer_floating_ip=balancer_ip,
        )
        if choice not in earlier:
            earlier.add(choice)
            yield choice
