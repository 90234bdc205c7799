"""AWS::RDS::DBInstance: what its server gets, who sees the password, and a template instead."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from hearth.resources.registry import builtin_types, default_catalog
from hearth.template import Environment, compile_template
from hearth.template.world import NOWHERE
from tests.clients.dev import Dev, hearth_dev, settled
from tests.resources.fake import context_of

TYPE = "AWS::RDS::DBInstance"
PASSWORD = "correct-horse-battery"
GIVEN = {
    "AllocatedStorage": "5",
    "DBInstanceClass": "db.m1.small",
    "DBName": "wordpress",
    "Engine": "MySQL",
    "MasterUsername": "admin",
    "MasterUserPassword": PASSWORD,
}
TEMPLATE = """
HeatTemplateFormatVersion: '2012-12-12'
Parameters:
  Class: {Type: String, Default: db.m1.small}
  Name: {Type: String, Default: wordpress}
  Password: {Type: String, Default: %s%s}
Resources:
  Database:
    Type: AWS::RDS::DBInstance
    Properties:
      AllocatedStorage: '5'
      DBInstanceClass: {Ref: Class}
      DBName: {Ref: Name}
      DBSecurityGroups: []
      Engine: MySQL
      MasterUsername: admin
      MasterUserPassword: {Ref: Password}
Outputs:
  Address: {Value: {'Fn::GetAtt': [Database, Endpoint.Address]}}
  Port: {Value: {'Fn::GetAtt': [Database, Endpoint.Port]}}
"""
OTHER = """
heat_template_version: 2021-04-16
parameters:
  AllocatedStorage: {type: string}
  DBInstanceClass: {type: string}
  DBName: {type: string}
  DBSecurityGroups: {type: comma_delimited_list, default: []}
  Engine: {type: string}
  KeyName: {type: string, default: ""}
  MasterUserPassword: {type: string, hidden: true}
  MasterUsername: {type: string}
  Port: {type: string, default: "3306"}
outputs:
  Endpoint.Address: {value: {list_join: [".", [{get_param: DBName}, example]]}}
  Endpoint.Port: {value: {get_param: Port}}
"""
slow = pytest.mark.slow


def child(**properties: Any) -> Any:
    ctx = context_of(TYPE, {**GIVEN, **properties})
    return ctx.kind.child(ctx)


def test_its_properties_are_the_parameters_of_the_nested_stack():
    asked = child(DBSecurityGroups=["one", "two"], KeyName=None, Port="3307")
    assert asked.parameters.items() >= {**GIVEN, "Port": "3307"}.items()
    assert asked.parameters["DBSecurityGroups"] == "one,two"
    assert "KeyName" not in asked.parameters
    assert "GRANT ALL PRIVILEGES" in asked.parameters["DBInstanceConfiguration"]
    assert asked.parameters["DBInstanceUserData"].startswith("#!/bin/sh")
    assert PASSWORD not in asked.template


def test_its_password_is_hidden_though_the_template_does_not_hide_it():
    resources = {"db": {"type": TYPE, "properties": GIVEN}}
    module = compile_template(
        {"heat_template_version": "2018-08-31", "resources": resources},
        files={},
        environment=Environment(),
        catalog=default_catalog(),
    )
    program = module.specialise({}, stack_name="s")
    assert program.resources["db"].evaluate(NOWHERE).secret == {"MasterUserPassword"}


@pytest.mark.parametrize("port", ["0", "65536", "mysql", "-1"])
def test_a_port_is_a_number(port: str):
    (found,) = builtin_types()[TYPE].conflicts({**GIVEN, "Port": port})
    assert found.path == ("Port",)


@pytest.mark.parametrize("port", [None, "1", "65535"])
def test_a_port_that_is_one_is_taken(port: str | None):
    assert list(builtin_types()[TYPE].conflicts({**GIVEN, "Port": port})) == []


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


def done(heat: Any, stack_id: str, action: str) -> dict[str, Any]:
    """The outputs of the stack once the action is complete."""
    stack = settled(heat, stack_id, action)
    assert stack.stack_status == f"{action}_COMPLETE", stack.stack_status_reason
    outputs = heat.stacks.get(stack_id).outputs
    return {one["output_key"]: one["output_value"] for one in outputs}


@slow
@pytest.mark.parametrize("echo", ["", ", NoEcho: 'true'"])
def test_a_database_is_made_changed_in_place_and_deleted_and_no_event_has_its_password(
    dev: Dev, echo: str
) -> None:
    template = TEMPLATE % (PASSWORD, echo)
    with dev.heat() as heat, dev.sdk() as cloud:
        dev.mark()
        made = heat.stacks.create(stack_name="rds", template=template)
        stack_id = made["stack"]["id"]
        outputs = done(heat, stack_id, "CREATE")
        (server,) = cloud.compute.servers()
        (addresses,) = server.addresses.values()
        assert outputs == {"Address": addresses[0]["addr"], "Port": "3306"}
        (rule,) = [
            one for one in cloud.network.security_group_rules(direction="ingress", protocol="tcp")
            if one.port_range_min == 3306
        ]  # fmt: skip
        assert rule.port_range_max == 3306

        given = {"Class": "db.m1.medium", "Name": "wiki"}
        heat.stacks.update(stack_id, template=template, parameters=given)
        done(heat, stack_id, "UPDATE")
        (changed,) = cloud.compute.servers()
        assert (changed.id, changed.flavor.name) == (server.id, "m1.medium")

        events = [
            heat.events.get(stack_id, "Database", one.id).to_dict()
            for one in heat.events.list(stack_id, "Database")
        ]
        (nested,) = [
            one.physical_resource_id for one in heat.resources.list(stack_id)
            if one.resource_name == "Database"
        ]  # fmt: skip
        for name in ("server", "configuration", "database"):
            listed = heat.events.list(nested, name)
            events += [heat.events.get(nested, name, one.id).to_dict() for one in listed]
        assert len(events) >= 10
        assert PASSWORD not in json.dumps(events)
        assert PASSWORD not in json.dumps(heat.stacks.get(nested).outputs)

        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
        assert dev.left_over() == []


@slow
def test_a_failure_of_the_script_fails_the_stack(dev: Dev) -> None:
    match = {"service": "agent", "name_regex": "-configuration-"}
    rules = [{"match": match, "effect": {"status": 1, "body": {"deploy_stderr": "no package"}}}]
    knobs = f"{dev.cloud_url}/devcloud/knobs"
    assert requests.post(knobs, json={"rules": rules}, timeout=10).ok
    with dev.heat() as heat:
        made = heat.stacks.create(stack_name="ill", template=TEMPLATE % (PASSWORD, ""))
        stack_id = made["stack"]["id"]
        stack = settled(heat, stack_id, "CREATE")
        requests.delete(knobs, timeout=10)
        assert stack.stack_status == "CREATE_FAILED"
        assert "non-zero status code: 1" in stack.stack_status_reason
        heat.stacks.delete(stack_id)
        settled(heat, stack_id, "DELETE")


@slow
def test_an_operator_puts_another_template_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "hearth"
    (folder / "environment.d").mkdir(parents=True)
    entry = {"resource_registry": {TYPE: "database.yaml"}}
    (folder / "environment.d" / "types.yaml").write_text(json.dumps(entry))
    (folder / "environment.d" / "database.yaml").write_text(OTHER)
    with hearth_dev(folder) as dev, dev.heat() as heat:
        made = heat.stacks.create(stack_name="rds", template=TEMPLATE % (PASSWORD, ""))
        outputs = done(heat, made["stack"]["id"], "CREATE")
        assert outputs == {"Address": "wordpress.example", "Port": "3306"}
