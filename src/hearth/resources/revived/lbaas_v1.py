"""The types of LBaaS version 1, which work through the load-balancer service Octavia.

A pool of version 1 has its own address. In Octavia it is a load balancer with one listener, whose
default pool it is. A health monitor of version 1 exists without a pool, so it is no object in
Octavia: the pool that refers to it creates one with its properties.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.model.span import Span
from hearth.resources import capabilities
from hearth.resources.base import (
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.collection import POLL_S, forgiving
from hearth.resources.elb.load_balancer import address_of
from hearth.resources.mark import mark
from hearth.resources.octavia import pool
from hearth.resources.octavia.base import SERVICE, OctaviaResource, lbaas
from hearth.resources.properties import ADMIN_STATE_UP, DESCRIPTION, FIXED_NAME, NAME
from hearth.resources.revived.base import Revived
from hearth.resources.revived.lbaas import ALGORITHMS, CHECKS, POOLS, PROTOCOLS, among, without
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtLeastOne,
    Attr,
    Each,
    Findings,
    Length,
    OnlyFor,
    Prop,
    Range,
    Relation,
    Replace,
    RequiredFor,
    Resolve,
    Rule,
    Support,
    SupportStatus,
    coerce_all,
)

MONITORS = "/v2/lbaas/healthmonitors"
IN_POOL = {
    "admin_state_up": "admin_state_up",
    "description": "description",
    "lb_method": "lb_algorithm",
    "name": "name",
}
"""The properties of a pool that are fields of the pool of Octavia, and the names there."""

PORT = Prop(INTEGER, "The port.", required=True, constraints=(Range(min=0, max=65535),))
COOKIES = Prop(
    MAP,
    "How requests of one client reach the same member.",
    schema={
        "cookie_name": Prop(STRING, "Name of the cookie, for APP_COOKIE."),
        "type": Prop(
            STRING,
            "How requests of the same client are recognised.",
            required=True,
            constraints=(AllowedValues(["SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"]),),
        ),
    },
)
VIP = Prop(
    MAP,
    "The address of the pool, and the port on which it accepts requests.",
    required=True,
    schema={
        "address": Prop(
            STRING, "The address; the service chooses one when not given.", constraint="ip_addr"
        ),
        "admin_state_up": Prop(BOOLEAN, "true: it is enabled.", default=True),
        "connection_limit": Prop(INTEGER, "Maximum number of connections; -1 is no limit."),
        "description": Prop(STRING, "Description of the load balancer."),
        "name": FIXED_NAME,
        "protocol_port": PORT,
        "session_persistence": COOKIES,
        "subnet": Prop(
            STRING,
            "Subnet of the address, by name or id; that of the pool when not given.",
            constraint="neutron.subnet",
        ),
    },
)


class HealthMonitor(Revived, capabilities.Immediate, has_show=False):
    """The properties of a check, for the pools that refer to it.

    A change replaces it, so that the pools notice the change.
    """

    type_name = "OS::Neutron::HealthMonitor"
    properties = {
        name: Prop(
            prop.kind, prop.description, required=prop.required, constraints=prop.constraints
        )
        for name, prop in without(pool.HealthMonitor.properties, "pool", "tenant_id").items()
    } | {
        "admin_state_up": Prop(BOOLEAN, "true: it is enabled.", default=True),
        "type": among(pool.HealthMonitor.properties["type"], CHECKS),
    }
    attributes = {name: Attr(prop.kind, prop.description) for name, prop in properties.items()}

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {name: ctx.given(name) for name in self.attributes}


class Pool(Revived, OctaviaResource, capabilities.Adopts):
    """Servers among which an address distributes requests: a load balancer with one listener.

    Its reference is the id of the pool, its physical id that of the load balancer.
    """

    type_name = "OS::Neutron::Pool"
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "description": DESCRIPTION,
        "lb_method": Prop(
            STRING,
            "Load-balancing algorithm.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(ALGORITHMS),),
        ),
        "monitors": Prop(
            LIST,
            "The health monitor, an OS::Neutron::HealthMonitor of the same stack; at most one.",
            default=[],
            update_allowed=True,
            constraints=(Length(max=1),),
        ),
        "name": NAME,
        "protocol": Prop(
            STRING,
            "Protocol of the address and of the members.",
            required=True,
            constraints=(AllowedValues(PROTOCOLS),),
        ),
        "provider": Prop(STRING, "Accepted for compatibility: the default provider is used."),
        "subnet": Prop(
            STRING, "Subnet of the members, by name or id.", constraint="neutron.subnet"
        ),
        "subnet_id": Prop(
            STRING,
            "Another name of subnet.",
            support=Support(SupportStatus.HIDDEN),
            constraint="neutron.subnet",
        ),
        "vip": VIP,
    }
    attributes = {
        "admin_state_up": Attr(BOOLEAN, "Whether it is enabled.", cached=False),
        "description": Attr(STRING, "Description.", cached=False),
        "lb_method": Attr(STRING, "Load-balancing algorithm.", cached=False),
        "members": Attr(LIST, "Ids of its members.", cached=False),
        "name": Attr(STRING, "Its name.", cached=False),
        "protocol": Attr(STRING, "Protocol.", cached=False),
        "provider": Attr(STRING, "Provider of the load balancer.", cached=False),
        "subnet_id": Attr(STRING, "Id of the subnet of the members.", cached=False),
        "tenant_id": Attr(STRING, "Id of its project.", cached=False),
        "vip": Attr(MAP, "The address: address, id, port_id, subnet_id and more.", cached=False),
    }
    translation: Sequence[Rule] = (
        Replace(("subnet",), value_path=("subnet_id",)),
        Resolve(("subnet",), "neutron.subnet"),
        Resolve(("vip", "subnet"), "neutron.subnet"),
    )
    relations: Sequence[Relation] = (
        AtLeastOne("subnet", "subnet_id"),
        Each(
            "vip",
            Each(
                "session_persistence",
                RequiredFor("cookie_name", "type", "APP_COOKIE"),
                OnlyFor("cookie_name", "type", "APP_COOKIE"),
            ),
        ),
    )
    collection = lbaas("loadbalancers", "loadbalancer")

    # steps

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("pool", self.note_pool),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps = []
        if ctx.changed & IN_POOL.keys():
            steps.append(Step("pool", self.change_pool, poll=self.poll))
        if "monitors" in ctx.changed:
            steps.append(Step("drop-monitor", self.drop_monitor, poll=self.unwatched))
            steps.append(Step("monitor", self.add_monitor, poll=self.poll))
        return tuple(steps)

    def adopt_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("pool", self.note_pool),)

    def fields(self, ctx: ResourceContext) -> Body:
        """Return the fields of the load balancer, with its listener, its pool and its monitor."""
        properties, vip = ctx.properties, ctx.properties["vip"]
        name = vip.get("name") or ctx.wanted_name
        below = {
            **self.pool_fields(ctx, frozenset(IN_POOL)),
            "protocol": properties["protocol"],
            "session_persistence": _without_null(vip.get("session_persistence") or {}) or None,
            "healthmonitor": self.monitor(ctx),
        }
        listener = {
            "name": name,
            "protocol": properties["protocol"],
            "protocol_port": vip["protocol_port"],
            "connection_limit": vip.get("connection_limit"),
            "default_pool": _without_null(below),
        }
        balancer = {
            "name": name,
            "description": vip.get("description"),
            "admin_state_up": vip.get("admin_state_up"),
            "vip_address": vip.get("address"),
            "vip_subnet_id": vip.get("subnet") or properties["subnet"],
            "tags": [mark(ctx)],
            "listeners": [_without_null(listener)],
        }
        return _without_null(balancer)

    def pool_fields(self, ctx: ResourceContext, names: frozenset[str]) -> Body:
        """Return the fields of the pool for the properties in `names`."""
        fields = {IN_POOL[name]: ctx.given(name) for name in names & IN_POOL.keys()}
        if "name" in fields:
            fields["name"] = ctx.wanted_name
        if "description" in fields:
            fields["description"] = fields["description"] or ""
        return fields

    def monitor(self, ctx: ResourceContext) -> Body | None:
        """Return the fields of the health monitor; None if there is none.

        Raises CloudFault if the property does not refer to a health monitor of the stack.
        """
        for reference in ctx.given("monitors") or ():
            properties = ctx.properties_of(str(reference)) or {}
            findings = Findings()
            fields = coerce_all(HealthMonitor.properties, properties, Span(), findings)
            if findings.problems:
                expectation = (
                    "expected the reference of an OS::Neutron::HealthMonitor of this stack"
                )
                message = f"monitors: {expectation}, got {reference}"
                raise CloudFault(SERVICE, 400, "BadRequest", message)
            return _without_null(fields)
        return None

    async def note_pool(self, ctx: ResourceContext) -> Made | None:
        """Record the id of the pool; an adopted load balancer may have none."""
        path = f"{POOLS}?loadbalancer_id={ctx.physical}"
        for row in await ctx.cloud.listing(SERVICE, path):
            return Made(data={"pool": str(row["id"])})
        return None

    async def change_pool(self, ctx: ResourceContext) -> Made | None:
        """Change the fields of the pool."""
        fields = self.pool_fields(ctx, ctx.changed)
        path = f"{POOLS}/{segment(ctx.data['pool'])}"
        await ctx.cloud.request(SERVICE, "PUT", path, json={"pool": fields}, idempotent=True)
        return None

    async def drop_monitor(self, ctx: ResourceContext) -> Made | None:
        """Delete the health monitor, if there is one."""
        if (monitor_id := (await self._pool(ctx)).get("healthmonitor_id")) is not None:
            path = f"{MONITORS}/{segment(monitor_id)}"
            await forgiving(ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True))
        return None

    async def unwatched(self, ctx: ResourceContext) -> Progress:
        """Report whether the pool has no health monitor any more."""
        monitor_id = (await self._pool(ctx)).get("healthmonitor_id")
        return await self.poll(ctx) if monitor_id is None else Later(POLL_S)

    async def add_monitor(self, ctx: ResourceContext) -> Made | None:
        """Create the health monitor; an earlier call may have created it already."""
        fields = self.monitor(ctx)
        if fields is None or (await self._pool(ctx)).get("healthmonitor_id") is not None:
            return None
        body = {"healthmonitor": {**fields, "pool_id": ctx.data["pool"], "tags": [mark(ctx)]}}
        await ctx.cloud.request(SERVICE, "POST", MONITORS, json=body)
        return None

    async def drop(self, ctx: ResourceContext, physical_id: str) -> None:
        path = f"{self.url(ctx, physical_id)}?cascade=true"
        await ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True)

    # shown

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.data.get("pool") or super().reference(ctx)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "vip":
            return self._vip(ctx, await self.show(ctx) or {})
        if name == "provider":
            return (await self.show(ctx) or {}).get("provider")
        if name == "subnet_id":
            return ctx.given("subnet")
        body = await self._pool(ctx)
        match name:
            case "show":
                return body
            case "members":
                return [member["id"] for member in body["members"]]
            case "tenant_id":
                return body.get("project_id")
            case _:
                return body.get(IN_POOL.get(name, name))

    def _vip(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Body:
        vip = ctx.properties["vip"]
        return {
            "address": body.get("vip_address"),
            "admin_state_up": body.get("admin_state_up"),
            "id": body.get("id"),
            "name": body.get("name"),
            "pool_id": ctx.data.get("pool"),
            "port_id": body.get("vip_port_id"),
            "protocol": ctx.given("protocol"),
            "protocol_port": vip["protocol_port"],
            "subnet_id": body.get("vip_subnet_id"),
        }

    async def _pool(self, ctx: ResourceContext) -> Body:
        return dict(await ctx.cloud.member(SERVICE, POOLS, ctx.data["pool"]))

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return an empty map if the load balancer exists: its fields are not those of the pool."""
        return None if await self.show(ctx) is None else {}


class PoolMember(Revived, pool.PoolMember):
    """A server in a pool."""

    type_name = "OS::Neutron::PoolMember"
    properties = {
        "address": pool.PoolMember.properties["address"],
        "admin_state_up": ADMIN_STATE_UP,
        "pool_id": Prop(STRING, "The pool, by id.", required=True, constraint="octavia.pool"),
        "protocol_port": PORT,
        "weight": Prop(
            INTEGER,
            "Weight: its share of the requests, relative to other members.",
            update_allowed=True,
            constraints=(Range(min=0, max=256),),
        ),
    }
    attributes = {
        "address": Attr(STRING, "Its address."),
        "admin_state_up": Attr(BOOLEAN, "Whether it is enabled."),
        "pool_id": Attr(STRING, "Id of its pool."),
        "protocol_port": Attr(INTEGER, "Its port."),
        "tenant_id": Attr(STRING, "Id of its project."),
        "weight": Attr(INTEGER, "Its weight."),
    }
    translation: Sequence[Rule] = (Resolve(("pool_id",), "octavia.pool"),)
    collection = lbaas("pools/{pool_id}/members", "member")
    not_sent = frozenset({"pool_id"})

    def fields(self, ctx: ResourceContext) -> Body:
        fields = super().fields(ctx)
        subnet = (ctx.properties_of(ctx.properties["pool_id"]) or {}).get("subnet")
        return {**fields, "subnet_id": subnet} if subnet else fields

    def changed_fields(self, ctx: ResourceContext) -> Body:
        fields = super().changed_fields(ctx)
        if "weight" in fields and fields["weight"] is None:
            fields["weight"] = 1
        return fields

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {**super().recordable(ctx), "pool_id": ctx.given("pool_id")}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "pool_id":
            return ctx.given("pool_id")
        return await super().attribute(ctx, name)


class LoadBalancer(Revived, capabilities.BalancerType, OctaviaResource, capabilities.GivesWay):
    """Makes servers members of a pool, by their ids.

    A group of servers can have it as load balancer.
    """

    type_name = "OS::Neutron::LoadBalancer"
    properties = {
        "members": Prop(LIST, "The servers, by id.", update_allowed=True),
        "pool_id": Prop(STRING, "The pool, by id.", required=True, constraint="octavia.pool"),
        "protocol_port": Prop(
            INTEGER,
            "Port of the servers.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=0, max=65535),),
        ),
    }
    attributes = {"show": Attr(MAP, "Its members.", cached=False)}
    translation: Sequence[Rule] = (Resolve(("pool_id",), "octavia.pool"),)
    collection = lbaas("pools/{pool_id}/members", "member")
    known_by = "a tag of each member, which stays"

    # steps: each looks at the members that have the tag, so it can be repeated

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("members", self.settle, poll=self.settled),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("members", self.settle, poll=self.settled),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("members", self.clear, poll=self.cleared),)

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the step that deletes the old members: a pool has each address and port once."""
        return self.delete_steps(ctx) if ctx.physical_id else ()

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.create_steps(ctx)

    async def settle(self, ctx: ResourceContext) -> Made:
        """Set the servers in the property `members` as members."""
        await self.set_instances(ctx, ctx.given("members") or [])
        return Made(physical_id=ctx.physical_name, data={"tag": self.tag(ctx)})

    async def clear(self, ctx: ResourceContext) -> Made | None:
        """Delete all members."""
        await self.set_instances(ctx, [])
        return None

    async def set_instances(self, ctx: ResourceContext, instances: Sequence[str]) -> None:
        """Make these servers the members that carry the tag of the resource.

        The service accepts one change at a time. If it refuses the next one as a conflict (see
        `busy`), the engine repeats the step, which then continues with the rest.
        """
        port = ctx.properties["protocol_port"]
        addresses = [await address_of(ctx, server) for server in dict.fromkeys(instances)]
        subnets = {(address, port): subnet for address, subnet in addresses}
        current = {
            (member["address"], member["protocol_port"]): member for member in await self.alive(ctx)
        }
        for endpoint in sorted(current.keys() - subnets.keys()):
            await forgiving(self.drop(ctx, str(current[endpoint]["id"])))
        for address, _ in sorted(subnets.keys() - current.keys()):
            fields = {
                "address": address,
                "protocol_port": port,
                "subnet_id": subnets[address, port],
                "tags": [self.tag(ctx)],
            }
            await ctx.cloud.request(SERVICE, "POST", self.path(ctx), json={"member": fields})

    def tag(self, ctx: ResourceContext) -> str:
        """Return the tag of the members; a resource that was adopted keeps the old one."""
        return ctx.data.get("tag") or mark(ctx)

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        return await self.tagged(ctx, self.tag(ctx))

    async def alive(self, ctx: ResourceContext) -> list[Body]:
        """Return the members that carry the tag and are not being deleted."""
        statuses = ("DELETED", "PENDING_DELETE")
        return [
            member
            for member in await self.ours(ctx)
            if member.get("provisioning_status") not in statuses
        ]

    async def settled(self, ctx: ResourceContext) -> Progress:
        """Report whether no change of a member is pending: ready, not yet, or failed."""
        for member in await self.ours(ctx):
            now = self.progress(ctx, member)
            if not isinstance(now, Ready):
                return now
        return Ready()

    async def cleared(self, ctx: ResourceContext) -> Progress:
        """Report whether all members are deleted."""
        return Later(POLL_S) if await self.ours(ctx) else Ready()

    async def checked(self, ctx: ResourceContext) -> Progress:
        lacking = len(set(ctx.given("members") or [])) - len(await self.alive(ctx))
        if lacking > 0:
            return Failed(f"{lacking} members are missing in pool {ctx.properties['pool_id']}")
        return await self.settled(ctx)

    # shown

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return {"members": await self.ours(ctx)}

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return an empty map: a missing member makes a check fail, not an update replace it."""
        return {}

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        """Return nothing: each step looks at all members that carry the tag."""
        return ()


def _without_null(fields: Mapping[str, Any]) -> Body:
    return {name: value for name, value in fields.items() if value is not None}
