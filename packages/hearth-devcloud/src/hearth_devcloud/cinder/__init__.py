"""The emulated block storage service (Cinder): volumes, snapshots and backups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_devcloud.cinder import (
    actions,
    attachments,
    base,
    misc,
    quotas,
    snapshots,
    transfers,
    types,
    volumes,
)
from hearth_devcloud.http import Call, Route, Router, Service, unauthorized
from hearth_devcloud.store import Resource


def _is_open(call: Call) -> bool:
    return len(call.segments) < 2 and call.segments != ["volumes"]


_VERSIONS: list[Route] = [("GET", "/", base.versions), ("GET", "/v3", base.versions)]

SERVICE = Service(
    name="volume",
    router=Router(
        _VERSIONS,
        volumes.ROUTES,
        actions.ROUTES,
        attachments.ROUTES,
        snapshots.ROUTES,
        types.ROUTES,
        quotas.ROUTES,
        transfers.ROUTES,
        misc.ROUTES,
    ),
    refusal=base.refusal,
    open=_is_open,
    prepare=base.prepare,
    finish=base.finish,
    microversions=(base.OLDEST, base.NEWEST),
    unauthorized=unauthorized,
    refuse_reader=base.forbidden,
)
TRANSITIONS: dict[str, Callable[[Any, Resource], None]] = {
    "volume.ready": volumes.ready,
    "volume.deleted": volumes.gone,
    "volume.detached": attachments.detached,
}
