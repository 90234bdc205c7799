"""The resources that the scenarios create, change and delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hearth.model.state import Action

UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass(frozen=True)
class Thing:
    """A resource, and the calls for it.

    `kind` is its name in the audit log, `paths` the path of its collection, `detail` the path of
    the list in which Hearth searches for it.
    """

    name: str
    rtype: str
    kind: str
    service: str  # in the catalogue
    path: str
    properties: dict[str, Any]
    lookup: str = ""  # the path of a list in which a name is looked up

    @property
    def collection(self) -> str:
        """The pattern for paths of creates."""
        return rf"^/{self.path}$"

    @property
    def member(self) -> str:
        """The pattern for paths of the object."""
        return rf"^/{self.path}/{UUID}(\?.*)?$"

    @property
    def listed(self) -> str:
        """The pattern for paths of lists."""
        return rf"^/{self.path}(/detail)?(\?.*)?$"

    @property
    def any(self) -> str:
        """The pattern for all paths of the service."""
        return rf"^/{self.path.partition('/')[0]}/"

    def template(self, name: str) -> dict[str, Any]:
        """Return a template with the object, which has this name."""
        thing = {"type": self.rtype, "properties": {**self.properties, "name": name}}
        outputs = {"all": {"value": {"get_attr": ["thing", "show"]}}}
        return {
            "heat_template_version": "2021-04-16",
            "resources": {"thing": thing},
            "outputs": outputs,
        }


VOLUME = Thing(
    "volume",
    "OS::Cinder::Volume",
    "volume.volumes",
    "block-storage",
    "volume/v3/[^/]+/volumes",
    {"size": 1, "volume_type": "lvmdriver-1"},
    r"^/volume/v3/[^/]+/types",
)
NET = Thing("net", "OS::Neutron::Net", "network.networks", "network", "network/v2.0/networks", {})
SERVER = Thing(
    "server",
    "OS::Nova::Server",
    "compute.servers",
    "compute",
    "compute/v2.1/servers",
    {"image": "cirros", "flavor": "m1.tiny", "networks": [{"network": "private"}]},
    r"^/compute/v2.1/flavors",
)
BALANCER = Thing(
    "load balancer",
    "OS::Octavia::LoadBalancer",
    "load-balancer.loadbalancers",
    "load-balancer",
    r"load-balancer/v2(\.0)?/lbaas/loadbalancers",
    {"vip_subnet": "private-subnet"},
    r"^/network/v2.0/subnets",
)
THINGS = (VOLUME, NET, SERVER, BALANCER)
POLLED = (VOLUME, SERVER, BALANCER)  # a net is ready when its create is answered
PHASES = (Action.CREATE, Action.UPDATE, Action.CHECK, Action.DELETE)
