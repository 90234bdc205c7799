"""The emulated shared file system service (Manila): shares, their types, networks and access."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_devcloud.http import Route, Router, Service, at_version, unauthorized
from hearth_devcloud.manila import (
    actions,
    base,
    metadata,
    networks,
    quotas,
    security,
    shares,
    snapshots,
    types,
)
from hearth_devcloud.store import Resource

_VERSIONS: list[Route] = [("GET", "/", base.versions), ("GET", base.PATH, base.versions)]

SERVICE = Service(
    name=base.SERVICE,
    router=Router(
        _VERSIONS,
        actions.ROUTES,
        metadata.ROUTES,
        networks.ROUTES,
        quotas.ROUTES,
        security.ROUTES,
        shares.ROUTES,
        snapshots.ROUTES,
        types.ROUTES,
    ),
    refusal=base.refusal,
    open=at_version,
    prepare=base.prepare,
    finish=base.finish,
    microversions=(base.OLDEST, base.NEWEST),
    unauthorized=unauthorized,
    refuse_reader=base.refuse_reader,
)
TRANSITIONS: dict[str, Callable[[Any, Resource], None]] = {
    "share.ready": shares.ready,
    "share.gone": shares.gone,
    "share.stuck": shares.stuck,
    "share.resized": actions.resized,
    "share.allowed": actions.allowed,
    "share.denied": actions.denied,
    "share.snapshot": snapshots.ready,
    "share.snapshot_gone": snapshots.gone,
}
