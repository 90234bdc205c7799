"""AWS::RDS::DBInstance on a server that boots: another server uses the database."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from hearth.resources.heat.agent_text import agent_text
from tests.clients.dev import Dev, hearth_dev, settled
from tests.conftest import lacking
from tests.devcloud.sandbox.machines import need_namespaces
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
NEEDED = ("mariadbd", "mariadb-install-db", "mysql")
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  password: {type: string, hidden: true}
  port: {type: string, default: "3306"}
resources:
  database:
    type: AWS::RDS::DBInstance
    properties:
      AllocatedStorage: "5"
      DBInstanceClass: db.m1.small
      DBName: a wiki`s
      Engine: MySQL
      MasterUsername: o'admin
      MasterUserPassword: {get_param: password}
      Port: {get_param: port}
  server:
    type: OS::Nova::Server
    properties:
      image: host
      flavor: m1.tiny
      user_data_format: SOFTWARE_CONFIG
      software_config_transport: POLL_SERVER_HEAT
      user_data: {get_file: agent.sh}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: address}, {name: port}, {name: MYSQL_PWD}]
      outputs: [{name: seen}]
      config: |
        #!/bin/sh
        set -eu
        export MYSQL_PWD
        query() { mysql --no-defaults -N -h "$address" -P "$port" -u "o'admin" 'a wiki`s'; }
        echo 'CREATE TABLE IF NOT EXISTS page (number INT); INSERT INTO page VALUES (1);' | query
        echo 'SELECT COUNT(*) FROM page' | query >"$heat_outputs_path.seen"
  use:
    type: OS::Heat::SoftwareDeployment
    properties:
      actions: [CREATE, UPDATE]
      config: {get_resource: config}
      server: {get_resource: server}
      input_values:
        address: {get_attr: [database, Endpoint.Address]}
        port: {get_attr: [database, Endpoint.Port]}
        MYSQL_PWD: {get_param: password}
outputs:
  seen: {value: {get_attr: [use, seen]}}
"""
ENVIRONMENT = {"parameter_defaults": {"DBInstanceImage": "host"}}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    need_namespaces()
    absent = [name for name in NEEDED if shutil.which(name, path="/usr/bin:/usr/sbin") is None]
    if absent:
        lacking(f"{', '.join(absent)} (package mariadb-server)")
    with hearth_dev(tmp_path_factory.mktemp("hearth"), "--servers", "sandbox") as running:
        yield running


def test_another_server_uses_the_database_and_what_is_in_it_stays(dev: Dev) -> None:
    with dev.heat() as heat:

        def seen(action: str, **given: str) -> str:
            body: dict[str, Any] = {
                "template": TEMPLATE,
                "files": {"agent.sh": agent_text(user_data=True)},
                "environment": ENVIRONMENT,
                "parameters": given,
            }
            if action == "CREATE":
                heat.stacks.create(stack_name="wiki", **body)
            else:
                heat.stacks.update("wiki", **body)
            stack = settled(heat, "wiki", action)
            assert stack.stack_status == f"{action}_COMPLETE", stack.stack_status_reason
            (output,) = heat.stacks.get("wiki").outputs
            return str(output["output_value"]).strip()

        assert seen("CREATE", password="it's a \\secret") == "1"
        assert seen("UPDATE", password="another", port="3307") == "2"
        stack_id = heat.stacks.get("wiki").id
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
        assert dev.left_over() == []
