"""Handlers of the routes for the engines and the release of Hearth."""

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

import hearth
from hearth.api.answer import JSONResponse
from hearth.api.v1.context import services_of
from hearth.model.problem import rejection
from hearth.service.problems import HTTPServiceUnavailable
from hearth.store.claim import HEARTBEAT_S
from hearth.store.engines import EngineRow, engines


async def index(request: Request) -> Response:
    """List the engines, each with the time of its last heartbeat. If no engine is alive, the
    response is 503.
    """
    engine_rows = await services_of(request).store.read(engines)
    if not any(engine.up for engine in engine_rows):
        message = "No engine is running: operations wait until one starts."
        raise rejection(HTTPServiceUnavailable, message)
    return JSONResponse({"services": [_view(engine) for engine in engine_rows]})


def _view(engine: EngineRow) -> dict[str, object]:
    return {
        "id": engine.id,
        "binary": "hearth-engine",
        "engine_id": engine.id,
        "host": engine.host,
        "hostname": engine.host,
        "topic": "engine",
        "report_interval": HEARTBEAT_S,
        "created_at": _time(engine.started_at),
        "updated_at": _time(engine.beat_at),
        "deleted_at": None,
        "status": "up" if engine.up else "down",
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
