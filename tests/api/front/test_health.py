"""What monitors are told."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from starlette.responses import PlainTextResponse

from hearth.api.front.front import Front
from hearth.api.front.health import Healthcheck
from hearth.config.front import FrontSettings, Health
from hearth.store.database import Store
from hearth.store.engines import engines
from hearth.store.seal import sealer_from_secret
from tests.api.front.conftest import Site

pytestmark = pytest.mark.slow


def ask(hearth: Site, path: str = "/healthcheck", **headers: str) -> requests.Response:
    return requests.get(f"{hearth.url}{path}", headers=headers, timeout=20)


def test_a_process_that_answers_is_well(hearth: Site):
    for url in (hearth.url, hearth.cfn_url):
        reply = requests.get(f"{url}/healthcheck", timeout=10)
        assert (reply.status_code, reply.text) == (200, "OK")
    assert requests.head(f"{hearth.url}/healthcheck", timeout=10).status_code == 200
    assert ask(hearth, Accept="application/json").json() == {"detailed": False, "reasons": ["OK"]}
    assert "/healthcheck" not in hearth.log.read_text()


def test_a_file_takes_a_process_out_of_the_balancer(hearth: Site, tmp_path: Path):
    away, ported = tmp_path / "away", tmp_path / "ported"
    port = urlsplit(hearth.url).port
    hearth.reload(
        healthcheck={
            "backends": "disable_by_file,disable_by_files_ports",
            "disable_by_file_path": str(away),
            "disable_by_file_paths": f"{port}:{ported}",
        }
    )
    assert ask(hearth).text == "OK"
    away.touch()
    assert (ask(hearth).status_code, ask(hearth).text) == (503, "DISABLED BY FILE")
    away.unlink()
    ported.touch()
    assert ask(hearth).status_code == 503
    assert requests.get(f"{hearth.cfn_url}/healthcheck", timeout=10).status_code == 200
    hearth.reload(healthcheck={"backends": "enable_by_files", "enable_by_file_paths": str(away)})
    assert ask(hearth).text == "FILE PATH MISSING"
    away.touch()
    assert ask(hearth).text == "OK"


def test_in_detail_it_tells_what_each_check_found(hearth: Site):
    hearth.reload(healthcheck={"backends": "database", "detailed": "true"})
    assert ask(hearth).text == "database: OK"
    asked = {"Accept": "application/json"}
    assert ask(hearth, **asked).json() == {
        "detailed": True,
        "reasons": [{"class": "database", "reason": "OK", "details": ""}],
    }


def test_it_is_asked_where_and_from_where_the_operator_says(hearth: Site):
    hearth.reload(healthcheck={"path": "/alive", "allowed_source_ranges": "192.0.2.0/24"})
    assert ask(hearth, "/alive").status_code == 401
    hearth.reload(
        healthcheck={
            "path": "/alive",
            "allowed_source_ranges": "127.0.0.0/8",
            "ignore_proxied_requests": "true",
        }
    )
    assert ask(hearth, "/alive").status_code == 200
    assert ask(hearth, "/alive", **{"X-Forwarded-For": "127.0.0.1"}).status_code == 401
    assert ask(hearth, "/healthcheck").status_code == 404


def test_a_database_that_is_away_is_told(tmp_path: Path):
    store = Store(f"sqlite:///{tmp_path}/hearth.db", sealer_from_secret("test secret"))
    settings = FrontSettings(health=Health(backends=("database",)))
    app = Healthcheck(PlainTextResponse("elsewhere"), Front(settings), lambda: store.read(engines))
    try:
        status, said = asyncio.run(asked_of(app))
    finally:
        store.close()
    assert (status, said) == (503, b"NOT REACHED")  # no migration made its tables


async def asked_of(app: Any) -> tuple[int, bytes]:
    """What an application answers to GET /healthcheck."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    scope = {"type": "http", "method": "GET", "path": "/healthcheck", "headers": []}
    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]
