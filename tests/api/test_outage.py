"""A request that the database prevents says so, in each API, and that it can be repeated."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError, InterfaceError, InternalError, OperationalError
from starlette.requests import Request

from hearth.api import fault
from hearth.api.cfn import faults as cfn
from hearth.api.clusters import fault as clusters


class ReadOnly(Exception):
    sqlstate = "25006"


GONE = [
    OperationalError("SELECT secret", {}, Exception("gone")),
    InterfaceError("SELECT secret", {}, Exception("closed")),
    InternalError("UPDATE secret", {}, ReadOnly("read-only")),
]
OURS = [
    ValueError("secret"),
    IntegrityError("INSERT secret", {}, Exception("twice")),
    InternalError("SELECT secret", {}, Exception("aborted")),
]


def request() -> Any:
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    return Request({**scope, "state": {"request_id": "req-1"}})


@pytest.mark.parametrize("api", [fault, clusters, cfn], ids=["v1", "clusters", "cfn"])
@pytest.mark.parametrize("problem", [*GONE, *OURS], ids=lambda one: type(one).__name__)
def test_an_outage_is_503_and_a_fault_of_ours_500(api: SimpleNamespace, problem: Exception):
    response = asyncio.run(api.unexpected(request(), problem))
    assert response.status_code == (503 if problem in GONE else 500)
    body = bytes(response.body).decode()
    assert "secret" not in body
    if problem in GONE:
        assert "The database does not respond" in body
        if api is not cfn:
            json.loads(body)
        assert response.headers["Retry-After"] == "1"
