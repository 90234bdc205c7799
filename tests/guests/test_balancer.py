"""A stack with a load balancer that carries: two servers answer a third one, and the page's."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hearth_devcloud.sandbox import fabric, haproxy
from tests.clients.dev import Dev, hearth_dev, settled, wait_for
from tests.clients.pages import DOCS, blocks, differing
from tests.conftest import lacking
from tests.devcloud.sandbox.machines import need_namespaces

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Neutron::SecurityGroup
    properties: {rules: [{protocol: tcp, port_range_min: 8080, port_range_max: 8080}]}
  one: &server
    type: OS::Nova::Server
    properties: &properties
      image: host
      flavor: m1.tiny
      networks: [{network: private}]
      security_groups: [{get_resource: group}]
      user_data_format: RAW
      user_data: |
        #!/usr/bin/python3
        import http.server, os, socket
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(socket.gethostname().encode())
            def log_message(self, *_):
                pass
        if os.fork() == 0:
            os.setsid()
            http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
  two: *server
  balancer:
    type: OS::Octavia::LoadBalancer
    properties: {vip_subnet: private-subnet}
  listener:
    type: OS::Octavia::Listener
    properties: {loadbalancer: {get_resource: balancer}, protocol: HTTP, protocol_port: 80}
  pool:
    type: OS::Octavia::Pool
    properties: {listener: {get_resource: listener}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}
  monitor:
    type: OS::Octavia::HealthMonitor
    properties: {pool: {get_resource: pool}, type: HTTP, delay: 1, timeout: 1, max_retries: 1}
  first:
    type: OS::Octavia::PoolMember
    properties: {pool: {get_resource: pool}, protocol_port: 8080,
      address: {get_attr: [one, first_address]}, subnet: private-subnet}
  second:
    type: OS::Octavia::PoolMember
    properties: {pool: {get_resource: pool}, protocol_port: 8080,
      address: {get_attr: [two, first_address]}, subnet: private-subnet}
  asking:
    type: OS::Nova::Server
    properties:
      image: host
      flavor: m1.tiny
      networks: [{network: private}]
      user_data_format: RAW
      user_data:
        str_replace:
          params: {ADDRESS: {get_attr: [balancer, vip_address]}}
          template: |
            #!/usr/bin/python3
            import time, urllib.request
            while True:
                try:
                    with urllib.request.urlopen("http://ADDRESS/", timeout=2) as reply:
                        print("answer:", reply.read().decode(), flush=True)
                except OSError as problem:
                    print("nothing:", problem, flush=True)
                time.sleep(0.1)
outputs:
  one: {value: {get_resource: one}}
  two: {value: {get_resource: two}}
  names: {value: [{get_attr: [one, name]}, {get_attr: [two, name]}]}
  asking: {value: {get_resource: asking}}
  pool: {value: {get_resource: pool}}
  second: {value: {get_resource: second}}
"""


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    need_namespaces()
    if fabric.programs()[0] is None:
        lacking("ip of iproute2")
    if haproxy.program() is None:
        pytest.skip("needs haproxy: load balancers carry nothing without it")
    with hearth_dev(tmp_path_factory.mktemp("hearth"), "--servers", "sandbox") as running:
        yield running


def test_members_answer_until_one_is_stopped(dev: Dev):
    with dev.heat() as heat, dev.sdk() as cloud:
        made = heat.stacks.create(stack_name="web", template=yaml.safe_load(TEMPLATE))
        stack_id = made["stack"]["id"]
        state = settled(heat, stack_id, "CREATE")
        assert state.stack_status == "CREATE_COMPLETE", state.stack_status_reason
        shown = heat.stacks.get(stack_id).outputs
        found: dict[str, Any] = {one["output_key"]: one["output_value"] for one in shown}

        def answers(last: int) -> list[str]:
            said = cloud.compute.get_server_console_output(found["asking"])["output"]
            return [line for line in said.splitlines() if ":" in line][-last:]

        both = {f"answer: {name}" for name in found["names"]}
        wait_for(lambda: set(answers(4)) == both or None, "answers of both")
        cloud.compute.stop_server(found["two"])

        def status() -> bool | None:
            member = cloud.load_balancer.get_member(found["second"], found["pool"])
            return member.operating_status == "ERROR" or None

        wait_for(status, "an error of the second member")
        only = {f"answer: {found['names'][0]}"}
        wait_for(lambda: set(answers(20)) == only or None, "answers of the first alone")
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"


def test_the_commands_of_the_page_print_what_it_shows(
    dev: Dev, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if shutil.which("curl") is None:
        lacking("curl")
    page = DOCS / "devcloud.md"
    assert len([shown for _, shown in blocks(page) if shown]) == 2
    assert differing(page, dev, tmp_path, monkeypatch) == []
