"""Commands that meet a stack on its way: cancel, delete."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.clients.covered import runs
from tests.clients.dev import Dev, settled, wait_for

pytestmark = pytest.mark.slow
TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  key: {type: string, default: stack_key}
resources:
  server:
    type: OS::Nova::Server
    properties:
      image: cirros
      flavor: m1.tiny
      key_name: {get_param: key}
      networks: [{network: private}]
"""


@pytest.fixture
def template(tmp_path: Path) -> str:
    path = tmp_path / "server.yaml"
    path.write_text(TEMPLATE)
    return str(path)


@contextlib.contextmanager
def slow_servers(dev: Dev, seconds: float) -> Iterator[None]:
    """Servers take their time until the block ends."""
    rule = {
        "match": {"service": "compute", "method": "POST", "path_regex": "/servers$"},
        "effect": {"slow_s": seconds},
    }
    requests.post(f"{dev.cloud_url}/devcloud/knobs", json={"rules": [rule]}, timeout=10)
    try:
        yield
    finally:
        requests.delete(f"{dev.cloud_url}/devcloud/knobs", timeout=10)


def begun(dev: Dev, count: int) -> None:
    """Wait until so many servers have been made."""

    def look() -> bool | None:
        servers = [entry for entry in dev.ledger() if entry["collection"] == "servers"]
        return True if len(servers) == count else None

    wait_for(look, f"server number {count}")


def test_a_stack_is_deleted_while_it_is_created(dev: Dev, template: str):
    dev.mark()
    with slow_servers(dev, 600):
        made = dev.json("stack", "create", "-t", template, "early")
        begun(dev, 1)
    dev.shell("stack", "delete", "--yes", "early")
    with dev.heat() as heat:
        assert settled(heat, made["id"], "DELETE").stack_status == "DELETE_COMPLETE"
    assert dev.left_over() == []


@runs("stack cancel")
def test_an_update_is_cancelled_and_rolled_back(dev: Dev, template: str):
    """What is in flight ends first: the new server is there for a moment, then it goes."""
    dev.mark()
    made = dev.json("stack", "create", "-t", template, "back")
    with dev.heat() as heat:
        settled(heat, made["id"], "CREATE")
        with slow_servers(dev, 3):
            dev.shell("stack", "update", "-t", template, "--parameter", "key=test_key", "back")
            begun(dev, 2)
            dev.shell("stack", "cancel", "back")
        assert settled(heat, made["id"], "ROLLBACK").stack_status == "ROLLBACK_COMPLETE"
        with dev.sdk() as cloud:
            (server,) = cloud.list_servers()
            assert server.key_name == "stack_key"
        dev.shell("stack", "delete", "--yes", "back")
        assert settled(heat, made["id"], "DELETE").stack_status == "DELETE_COMPLETE"
    assert dev.left_over() == []
