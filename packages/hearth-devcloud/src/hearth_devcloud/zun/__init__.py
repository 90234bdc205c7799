"""The emulated container service (Zun): containers with ports and volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_devcloud.http import Route, Router, Service, at_version, unauthorized
from hearth_devcloud.store import Resource
from hearth_devcloud.zun import actions, base, containers

_VERSIONS: list[Route] = [("GET", "/", base.versions), ("GET", "/v1", base.version)]

SERVICE = Service(
    name=base.SERVICE,
    router=Router(_VERSIONS, containers.ROUTES, actions.ROUTES),
    refusal=base.refusal,
    open=at_version,
    prepare=base.prepare,
    finish=base.finish,
    microversions=(base.OLDEST, base.NEWEST),
    unauthorized=unauthorized,
)
TRANSITIONS: dict[str, Callable[[Any, Resource], None]] = {
    "container.created": containers.created,
    "container.changed": actions.changed,
    "container.gone": containers.gone,
}
