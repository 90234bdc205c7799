"""Handlers of the routes for the engines and the release of Hearth."""

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

import hearth
from hearth.api.answer import JSONResponse
from hearth.api.v1.context import services_of
from hearth.model.problem import Rejected
from hearth.service.problems import HTTPServiceUnavailable
from hearth.store.claim import HEARTBEAT_S
from hearth.store.engines import EngineRow, engines


async def index(request: Request) -> Response:
    """List the engines, each with the time of its last heartbeat. If no engine is alive, the
    response is 503.
    """
    found = await services_of(request).store.read(engines)
    if not any(one.up for one in found):
        words = "No engine is running: operations wait until one starts."
        raise Rejected([HTTPServiceUnavailable(None, words)])
    return JSONResponse({"services": [_view(one) for one in found]})


def _view(one: EngineRow) -> dict[str, object]:
    return {
        "id": one.id,
        "binary": "hearth-engine",
        "engine_id": one.id,
        "host": one.host,
        "hostname": one.host,
        "topic": "engine",
        "report_interval": HEARTBEAT_S,
        "created_at": _time(one.started_at),
        "updated_at": _time(one.beat_at),
        "deleted_at": None,
        "status": "up" if one.up else "down",
    }


def _time(seconds: float) -> str:
    """Return a time as UTC text with microseconds and without a time zone.

    Heat uses this format only for services.
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


async def build_info(request: Request) -> Response:
    """Show the release of this process, as the revision of both the API and the engine."""
    about = {"revision": f"hearth-{hearth.__version__}"}
    return JSONResponse({"api": about, "engine": about})
