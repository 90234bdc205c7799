"""The API of load balancers."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.neutron.ports import new_port, remove_port
from hearth_devcloud.octavia import grown, quotas, tree
from hearth_devcloud.octavia.offers import may_choose
from hearth_devcloud.octavia.parts import Part
from hearth_devcloud.octavia.refusals import bad, only_admins
from hearth_devcloud.store import Resource


class Balancers(Part):
    """The handlers of load balancers.

    A load balancer gets its own VIP port, unless the request names a port.
    """

    apart = ("listeners",)

    def routes(self, root: str) -> list[Route]:
        path = root + "/loadbalancers/{}"
        return [
            *super().routes(root),
            ("GET", path + "/status", self.status),
            ("GET", path + "/statuses", self.status),
            ("GET", path + "/stats", self.stats),
            ("PUT", path + "/failover", self.failover),
        ]

    def balancer(self, call: Call, resource: Resource) -> Resource:
        return resource

    def create(self, call: Call) -> Reply:
        """Handle POST of a load balancer; reply with status 201.

        If the request has `listeners`, these and their pools are created too.
        """
        attributes = call.object(self.collection.singular)
        project_id = (
            attributes.get("project_id") or attributes.get("tenant_id") or call.caller.project_id
        )
        if project_id != call.caller.project_id:
            only_admins(call)
        plan = grown.planned(attributes.get("listeners", []))
        values = self.given(call, creating=True)
        may_choose(call, values)
        quotas.check(call, self.collection, project_id)
        port_id = self._address(call, values, project_id)
        resource = self.insert(call, values, {"own_port": port_id}, project_id)
        grown.grow(call, resource, plan)
        call.cloud.store.later(call.effects.slow_s or 0, resource, "load-balancer.done")
        resource.hidden["fails"] = resource.id if call.effects.error else None
        return Reply(201, {"loadbalancer": self.view(call, resource)})

    def _address(self, call: Call, values: Body, project_id: str | None) -> str | None:
        """Set the VIP fields in `values`; return the id of the VIP port if it was created.

        Return None if the request names the port. Raises Refusal 400.
        """
        store = call.cloud.store
        if values["vip_port_id"]:
            port = store.get(tables.PORTS, values["vip_port_id"])
            if port is None:
                raise bad(f"port {values['vip_port_id']} not found.")
            self._follow(values, port)
            return None
        subnet = store.get(tables.SUBNETS, values["vip_subnet_id"])
        if values["vip_subnet_id"] and subnet is None:
            raise bad(f"subnet {values['vip_subnet_id']} not found.")
        network_id = subnet.body["network_id"] if subnet else values["vip_network_id"]
        network = store.get(tables.NETWORKS, network_id)
        if network is None and network_id:
            raise bad(f"network {network_id} not found.")
        if network is None:
            raise bad("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
        fixed_ip = {"subnet_id": subnet.id} if subnet else {}
        if values["vip_address"]:
            fixed_ip["ip_address"] = values["vip_address"]
        attributes: Body = {"device_owner": "Octavia", "name": "octavia-lb-vip"}
        if fixed_ip:
            attributes["fixed_ips"] = [fixed_ip]
        try:
            port = new_port(call.cloud, network, project_id or "", attributes, implicit=True)
        except Refusal as refused:
            raise bad(refused.message) from None
        self._follow(values, port)
        return port.id

    @staticmethod
    def _follow(values: Body, port: Resource) -> None:
        fixed = port.body["fixed_ips"]
        if not fixed:
            raise bad("The VIP port has no address")
        values.update(
            vip_port_id=port.id,
            vip_network_id=port.body["network_id"],
            vip_subnet_id=fixed[0]["subnet_id"],
            vip_address=fixed[0]["ip_address"],
        )

    def links(self, call: Call, resource: Resource) -> Body:
        store = call.cloud.store
        links_by_kind: Body = {}
        for kind in (tree.LISTENERS, tree.POOLS):
            parts = [t for t in store.all(kind.table) if t.hidden["balancer"] == resource.id]
            links_by_kind[kind.plural] = [{"id": item.id} for item in parts]
        return {**links_by_kind, "vip_vnic_type": "normal"}

    def delete(self, call: Call) -> Reply:
        """Handle DELETE of a load balancer; reply with status 204.

        If it has listeners or pools, the argument `cascade` is required.
        """
        resource = self._own(call)
        parts = tree.below(call.cloud, resource.id)
        if resource.body["provisioning_status"] not in ("ACTIVE", "ERROR"):
            state = resource.body["provisioning_status"]
            raise Refusal(
                409, message=f"Invalid state {state} of loadbalancer resource {resource.id}"
            )
        if parts and (call.argument("cascade") or "").lower() != "true":
            raise bad(f"Cannot delete Load Balancer {resource.id} - it has children")
        for part in parts:
            part.body["provisioning_status"] = "PENDING_DELETE"
        resource.body["provisioning_status"] = "PENDING_DELETE"
        port = call.cloud.store.get(tables.PORTS, resource.hidden["own_port"])
        if port is not None:
            remove_port(call.cloud, port)
        call.cloud.store.later(call.effects.slow_s or 0, resource, "load-balancer.done")
        return Reply(204)

    def failover(self, call: Call) -> Reply:
        """Handle PUT of a failover of a load balancer; reply with status 202."""
        resource = self._own(call)
        tree.change(call, resource, resource, "PENDING_UPDATE")
        return Reply(202)

    def stats(self, call: Call) -> Reply:
        """Handle GET of the statistics of a load balancer, which are always zero."""
        self.find(call, tree.BALANCERS, call.ids[0])
        keys = ("bytes_in", "bytes_out", "active_connections", "total_connections")
        return Reply(200, {"stats": {**dict.fromkeys(keys, 0), "request_errors": 0}})

    def status(self, call: Call) -> Reply:
        """Handle GET of the status tree: the status of a load balancer and all its parts."""
        store = call.cloud.store
        resource = self.find(call, tree.BALANCERS, call.ids[0])

        def brief(part: Resource, *extra: str) -> Body:
            keys = ("id", "name", "operating_status", "provisioning_status", *extra)
            return {key: part.body[key] for key in keys}

        def pool(part: Resource) -> Body:
            view = brief(part)
            for monitor in store.where(tree.MONITORS.table, pool_id=part.id):
                view["health_monitor"] = brief(monitor, "type")
            view["members"] = [
                brief(member, "address", "protocol_port")
                for member in store.all(tree.MEMBERS.table)
                if member.hidden["parent"] == part.id
            ]
            return view

        view = brief(resource)
        view["listeners"] = [
            {
                **brief(listener),
                "pools": [
                    pool(part)
                    for part in store.all(tree.POOLS.table)
                    if part.id == listener.body["default_pool_id"]
                ],
            }
            for listener in store.where(tree.LISTENERS.table, loadbalancer_id=resource.id)
        ]
        return Reply(200, {"statuses": {"loadbalancer": view}})
