"""Clients that disconnect before their body has arrived."""

import socket
import time
from urllib.parse import urlsplit

import pytest

from tests.api.front.conftest import Site

pytestmark = pytest.mark.slow

BROKEN_CHUNK = b"10\r\n{\r\n\r\nno number\r\n"


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize(
    "path", ["/v1/{project}/stacks", "/cfn/v1/", "/container-infra/v1/clusters"]
)
def test_half_a_body_is_no_error_of_the_service(hearth: Site, path: str, broken: bool):
    """The client leaves, or sends what is no HTTP, and the log has no traceback."""
    before, place = len(hearth.log.read_text()), urlsplit(hearth.url)
    assert place.hostname is not None
    assert place.port is not None
    length = "Transfer-Encoding: chunked" if broken else "Content-Length: 100"
    head = (
        f"POST {path.format(project=hearth.project())} HTTP/1.1\r\nHost: x\r\n"
        f"X-Auth-Token: {hearth.token()['X-Auth-Token']}\r\n{length}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port), 10) as link:
        link.sendall(head.encode())
        time.sleep(0.3)  # the service waits for the body
        link.sendall(BROKEN_CHUNK if broken else b"{")
        time.sleep(0.3)
    assert hearth.stacks().status_code == 200
    hearth.told("/stacks 200")
    said = hearth.log.read_text()[before:]
    assert "Traceback" not in said
    assert " ERROR " not in said
