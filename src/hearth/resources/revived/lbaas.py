"""The types of LBaaS version 2, which work through the load-balancer service Octavia."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import structs

from hearth.resources.base import Made, ResourceContext
from hearth.resources.octavia import l7, load_balancer, pool
from hearth.resources.octavia.base import SERVICE
from hearth.resources.revived.base import Revived
from hearth.schema import STRING, AllowedValues, AtLeastOne, Attr, Prop, Relation, Rule

T = TypeVar("T", Prop, Attr)
POOLS = "/v2/lbaas/pools"
PROTOCOLS = ("TCP", "HTTP", "HTTPS")
ALGORITHMS = ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP")
CHECKS = ("PING", "TCP", "HTTP", "HTTPS")


def among(prop: Prop, values: Iterable[str]) -> Prop:
    """Return a copy of a property that allows only these values."""
    return structs.replace(prop, constraints=(AllowedValues(tuple(values)),))


def without(declared: Mapping[str, T], *names: str) -> dict[str, T]:
    """Return declarations of properties or attributes without those of later releases."""
    return {name: declaration for name, declaration in declared.items() if name not in names}


class LoadBalancer(Revived, load_balancer.LoadBalancer):
    """One address for several servers."""

    type_name = "OS::Neutron::LBaaS::LoadBalancer"
    properties = without(load_balancer.LoadBalancer.properties, "availability_zone", "flavor")
    attributes = without(load_balancer.LoadBalancer.attributes, "flavor_id")
    translation: Sequence[Rule] = load_balancer.LoadBalancer.translation[:1]


class Listener(Revived, load_balancer.Listener):
    """A port on which a load balancer accepts connections."""

    type_name = "OS::Neutron::LBaaS::Listener"
    properties = {
        **without(load_balancer.Listener.properties, "allowed_cidrs"),
        "loadbalancer": Prop(
            STRING,
            "Its load balancer, by name or id; that of default_pool when not given.",
            constraint="octavia.loadbalancer",
        ),
        "protocol": among(
            load_balancer.Listener.properties["protocol"], (*PROTOCOLS, "TERMINATED_HTTPS")
        ),
    }
    relations: Sequence[Relation] = (
        *load_balancer.Listener.relations,
        AtLeastOne("loadbalancer", "default_pool"),
    )

    async def create(self, ctx: ResourceContext) -> Made:
        if not ctx.given("loadbalancer"):
            default_pool = await ctx.cloud.member(SERVICE, POOLS, ctx.properties["default_pool"])
            balancer = default_pool["loadbalancers"][0]["id"]
            ctx = structs.replace(ctx, properties={**ctx.properties, "loadbalancer": balancer})
        return await super().create(ctx)


class Pool(Revived, pool.Pool):
    """Servers among which a load balancer distributes requests."""

    type_name = "OS::Neutron::LBaaS::Pool"
    properties = {
        **without(pool.Pool.properties, "tls_enabled"),
        "lb_algorithm": among(pool.Pool.properties["lb_algorithm"], ALGORITHMS),
        "protocol": among(pool.Pool.properties["protocol"], PROTOCOLS),
    }


class PoolMember(Revived, pool.PoolMember):
    """A server in a pool."""

    type_name = "OS::Neutron::LBaaS::PoolMember"
    properties = without(pool.PoolMember.properties, "monitor_address", "monitor_port", "tags")
    attributes = {
        "address": Attr(STRING, "Its address."),
        "pool_id": Attr(STRING, "Id of its pool."),
    }

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {**super().recordable(ctx), "pool_id": ctx.given("pool")}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return ctx.given("pool") if name == "pool_id" else await super().attribute(ctx, name)


class HealthMonitor(Revived, pool.HealthMonitor):
    """A check that tests the members of a pool regularly."""

    type_name = "OS::Neutron::LBaaS::HealthMonitor"
    properties = {
        **pool.HealthMonitor.properties,
        "type": among(pool.HealthMonitor.properties["type"], CHECKS),
    }


class L7Policy(Revived, l7.L7Policy):
    """An action of a listener for requests that match all rules of the policy."""

    type_name = "OS::Neutron::LBaaS::L7Policy"


class L7Rule(Revived, l7.L7Rule):
    """A condition on requests, which belongs to a policy."""

    type_name = "OS::Neutron::LBaaS::L7Rule"
