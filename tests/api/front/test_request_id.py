"""Ids of requests, and the line of the log that tells them."""

import re

import pytest

from tests.api.front.conftest import Site

pytestmark = pytest.mark.slow
GLOBAL = "req-11111111-2222-3333-4444-555555555555"


def test_a_clients_own_id_is_noted_beside_ours(hearth: Site):
    reply = hearth.stacks(**{"X-OpenStack-Request-ID": GLOBAL})
    mine = reply.headers["X-OpenStack-Request-ID"]
    assert mine.startswith("req-")
    assert mine != GLOBAL
    line = hearth.told(mine)
    expected = (
        rf" INFO hearth\.access: 127\.0\.0\.1 GET /v1/{hearth.project()}/stacks 200 "
        rf"{len(reply.content)} bytes [0-9.]+ ms {mine} for {GLOBAL} project {hearth.project()}$"
    )
    assert re.search(expected, line), line


@pytest.mark.parametrize("odd", ["req-1", f"{GLOBAL}x", "req-\u00fc", GLOBAL.replace("req-", "")])
def test_what_is_no_id_is_left_out(hearth: Site, odd: str):
    reply = hearth.stacks(**{"X-OpenStack-Request-ID": odd.encode().decode("latin-1")})
    line = hearth.told(reply.headers["X-OpenStack-Request-ID"])
    assert " for " not in line


def test_a_request_that_is_refused_has_a_line_too(hearth: Site):
    reply = hearth.stacks(**{"X-Auth-Token": "stranger"})
    line = hearth.told(reply.headers["X-OpenStack-Request-ID"])
    assert " 401 " in line
    assert line.endswith(" project -")


def test_nothing_that_may_be_secret_is_logged(hearth: Site):
    path = f"/v1/{hearth.project()}/stacks?Signature=s3cret&name=s3cret"
    hearth.call("GET", path)
    hearth.call("GET", "/cfn/v1/?Action=ListStacks&Signature=s3cret&AWSAccessKeyId=s3cret")
    odd = hearth.call("GET", "/v1/line%0d%0abreak%1b[31m")
    assert "line%0D%0Abreak%1B%5B31m" in hearth.told(odd.headers["X-OpenStack-Request-ID"])
    assert hearth.told("/cfn/v1/?Action=ListStacks ")
    assert "s3cret" not in hearth.log.read_text()
    assert hearth.cloud.token() not in hearth.log.read_text()
