"""The emulated placement service: what the hypervisors of Nova have, and what servers use of it.

It has the read API only. Nova itself decides here where servers go.
"""

from __future__ import annotations

from hearth_devcloud.http import Route, Router, Service, at_root, unauthorized
from hearth_devcloud.placement import allocations, base, candidates, names, providers

_VERSIONS: list[Route] = [("GET", "/", base.versions)]

SERVICE = Service(
    name=base.SERVICE,
    router=Router(_VERSIONS, providers.ROUTES, allocations.ROUTES, candidates.ROUTES, names.ROUTES),
    refusal=base.refusal,
    open=at_root,
    prepare=base.prepare,
    finish=base.finish,
    microversions=(base.OLDEST, base.NEWEST),
    unauthorized=unauthorized,
)
