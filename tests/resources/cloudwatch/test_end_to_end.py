"""A group of servers that alarms of AWS scale, from the template to the server."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, hearth_dev, settled, wait_for

TEMPLATE = """
HeatTemplateFormatVersion: '2012-12-12'
Parameters:
  Threshold: {Type: Number, Default: 50}
Resources:
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      AvailabilityZones: [nova]
      LaunchConfigurationName: {Ref: Launch}
      MinSize: '1'
      MaxSize: '3'
  Launch:
    Type: AWS::AutoScaling::LaunchConfiguration
    Properties: {ImageId: cirros, InstanceType: m1.tiny}
  Up:
    Type: AWS::AutoScaling::ScalingPolicy
    Properties:
      AdjustmentType: ChangeInCapacity
      AutoScalingGroupName: {Ref: Group}
      Cooldown: '1'
      ScalingAdjustment: '1'
  Busy:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: Scale up if the servers are busy for ten minutes
      MetricName: CPUUtilization
      Namespace: AWS/EC2
      Statistic: Average
      Period: '300'
      EvaluationPeriods: '2'
      Threshold: {Ref: Threshold}
      AlarmActions: [{Ref: Up}]
      Dimensions: [{Name: AutoScalingGroupName, Value: {Ref: Group}}]
      ComparisonOperator: GreaterThanThreshold
Outputs:
  Alarm: {Value: {Ref: Busy}}
"""
PERCENT = 3 * 10**9  # of a processor in five minutes, in nanoseconds
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


def alarms(cloud: Any) -> list[dict[str, Any]]:
    root = cloud.session.get_endpoint(service_type="alarming")
    return list(cloud.session.get(f"{root}/v2/alarms").json())


def test_an_alarm_of_aws_makes_a_group_grow(dev: Dev) -> None:
    with dev.heat() as heat, dev.sdk() as cloud:
        dev.mark()
        made = heat.stacks.create(stack_name="busy", template=TEMPLATE)
        stack_id = made["stack"]["id"]
        stack = settled(heat, stack_id, "CREATE")
        assert stack.stack_status == "CREATE_COMPLETE", stack.stack_status_reason
        (output,) = heat.stacks.get(stack_id).outputs
        assert output["output_value"].startswith("arn:openstack:heat::")

        (alarm,) = alarms(cloud)
        rule = alarm["gnocchi_aggregation_by_resources_threshold_rule"]
        assert (rule["threshold"], rule["evaluation_periods"]) == (50 * PERCENT, 2)
        (asked,) = (one for one in json.loads(rule["query"])["and"] if "like" in one)
        pattern = asked["like"]["display_name"].replace("%", "*")
        (server,) = cloud.compute.servers()
        assert fnmatchcase(server.name, pattern)

        news = {"metric": "cpu", "values": [90 * PERCENT, 90 * PERCENT]}
        answer = requests.post(f"{dev.cloud_url}/devcloud/alarms", json=news, timeout=30).json()
        assert [one["status"] for one in answer["alarms"][0]["notices"]] == [200]
        wait_for(lambda: len(list(cloud.compute.servers())) == 2 or None, "the second server")
        assert all(fnmatchcase(one.name, pattern) for one in cloud.compute.servers())

        same = heat.stacks.preview_update(stack_id, template=TEMPLATE, show_nested=True)
        kept = {one["resource_name"] for one in same["resource_changes"]["unchanged"]}
        assert {"alarm", "Up"} <= kept
        heat.stacks.update(stack_id, template=TEMPLATE, parameters={"Threshold": 70})
        stack = settled(heat, stack_id, "UPDATE")
        assert stack.stack_status == "UPDATE_COMPLETE", stack.stack_status_reason
        (changed,) = alarms(cloud)
        assert changed["alarm_id"] == alarm["alarm_id"]
        rule = changed["gnocchi_aggregation_by_resources_threshold_rule"]
        assert rule["threshold"] == 70 * PERCENT
        assert asked in json.loads(rule["query"])["and"]

        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
        assert dev.left_over() == []


RESTARTED = """
HeatTemplateFormatVersion: '2012-12-12'
Resources:
  Server:
    Type: AWS::EC2::Instance
    Properties: {ImageId: cirros, InstanceType: m1.tiny}
  Restart:
    Type: OS::Heat::HARestarter
    Properties: {InstanceId: {Ref: Server}}
  Failure:
    Type: AWS::CloudWatch::Alarm
    Properties:
      MetricName: ServiceFailure
      Namespace: system/linux
      Statistic: SampleCount
      Period: '300'
      EvaluationPeriods: '1'
      Threshold: '2'
      AlarmActions: [{Ref: Restart}]
      ComparisonOperator: GreaterThanThreshold
"""


def test_an_alarm_for_a_retired_restarter_and_for_all_servers_of_the_project(dev: Dev) -> None:
    with dev.heat() as heat, dev.sdk() as cloud:
        dev.mark()
        made = heat.stacks.create(stack_name="ha", template=RESTARTED)
        stack_id = made["stack"]["id"]
        stack = settled(heat, stack_id, "CREATE")
        assert stack.stack_status == "CREATE_COMPLETE", stack.stack_status_reason
        (alarm,) = alarms(cloud)
        rule = alarm["gnocchi_aggregation_by_resources_threshold_rule"]
        assert (rule["metric"], rule["aggregation_method"]) == ("ServiceFailure", "count")
        assert {"=": {"project_id": cloud.current_project_id}} in json.loads(rule["query"])["and"]
        assert alarm["alarm_actions"] == []
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
        assert dev.left_over() == []
