"""The tables of the store that more than one service uses. Their names begin with the service."""

from __future__ import annotations

from typing import Final

FLAVORS: Final = "compute.flavors"
KEYPAIRS: Final = "compute.keypairs"
SERVERS: Final = "compute.servers"
ENDPOINTS: Final = "identity.endpoints"
ROLES: Final = "identity.roles"
TRUSTS: Final = "identity.trusts"
USERS: Final = "identity.users"
IMAGES: Final = "image.images"
FLOATING_IPS: Final = "network.floatingips"
NETWORKS: Final = "network.networks"
PORTS: Final = "network.ports"
ROUTERS: Final = "network.routers"
SECURITY_GROUP_RULES: Final = "network.security_group_rules"
SECURITY_GROUPS: Final = "network.security_groups"
SUBNETS: Final = "network.subnets"
VOLUME_SNAPSHOTS: Final = "volume.snapshots"
VOLUMES: Final = "volume.volumes"
