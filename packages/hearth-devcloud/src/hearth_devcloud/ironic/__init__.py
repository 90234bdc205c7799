"""The emulated bare metal service (Ironic): nodes, their ports and port groups.

Only administrators can use it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_devcloud.http import Route, Router, Service, at_version, unauthorized
from hearth_devcloud.ironic import base, nodes, ports
from hearth_devcloud.store import Resource, Store


def plant(store: Store) -> None:
    """Create the initial nodes and port groups."""
    nodes.plant(store)
    ports.plant(store)


_VERSIONS: list[Route] = [("GET", "/", base.versions), ("GET", "/v1", base.version)]

SERVICE = Service(
    name=base.SERVICE,
    router=Router(_VERSIONS, nodes.ROUTES, ports.ROUTES),
    refusal=base.refusal,
    open=at_version,
    prepare=base.prepare,
    finish=base.finish,
    microversions=(base.OLDEST, base.NEWEST),
    unauthorized=unauthorized,
)
TRANSITIONS: dict[str, Callable[[Any, Resource], None]] = {
    "baremetal.provisioned": nodes.provisioned,
    "baremetal.powered": nodes.powered,
}
