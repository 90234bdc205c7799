"""The network service as tests call it."""

from __future__ import annotations

from typing import Any

from tests.devcloud.running import Served

NOBODY = "11111111-1111-4111-8111-111111111111"


class Network:
    """The network service as one user sees it."""

    def __init__(self, served: Served, user: str = "demo") -> None:
        self.served, self.user = served, user

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        return self.served.call(method, f"/network/v2.0/{path}", body, user=self.user)

    def make(self, path: str, key: str, **fields: Any) -> Any:
        answer = self("POST", path, {key: fields})
        assert answer.status_code == 201, answer.text
        return answer.json()[key]

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        answer = self(method, path, body)
        return answer.status_code, answer.json()["NeutronError"]["type"]

    def routed(self, cidr: str = "10.9.0.0/24") -> tuple[Any, Any, Any]:
        """A network, a subnet, and a router with a way out and a leg there."""
        net = self.make("networks", "network", name="n")
        subnet = self.make("subnets", "subnet", network_id=net["id"], cidr=cidr, ip_version=4)
        listed = self("GET", "networks?name=public").json()["networks"]
        info = {"network_id": listed[0]["id"]}
        router = self.make("routers", "router", external_gateway_info=info)
        leg = {"subnet_id": subnet["id"]}
        assert self("PUT", f"routers/{router['id']}/add_router_interface", leg).status_code == 200
        return net, subnet, router
