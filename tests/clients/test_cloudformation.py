"""Unmodified clients of the cfn API: boto3, and what cfn-signal sends."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.api.conftest import Caller
from tests.clients.dev import Dev, wait_for
from tests.clients.signing import Signer
from tests.conftest import lacking

pytestmark = pytest.mark.slow

PLAIN = """
heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: 1}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: size}}}
outputs:
  size: {value: {get_attr: [value, value]}, description: How large}
"""
AWS_WAIT = """
heat_template_version: 2021-04-16
resources:
  handle: {type: AWS::CloudFormation::WaitConditionHandle}
  wait:
    type: AWS::CloudFormation::WaitCondition
    properties: {Handle: {get_resource: handle}, Timeout: "60"}
outputs:
  url: {value: {get_resource: handle}}
  data: {value: {get_attr: [wait, Data]}}
"""


@pytest.fixture(scope="module")
def api(dev: Dev) -> Caller:
    return Caller(dev)


@pytest.fixture(scope="module")
def pair(api: Caller) -> Signer:
    token, project = api.login()
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    me = requests.get(f"{api.dev.auth_url}/auth/tokens", headers=headers, timeout=10).json()
    path = f"{api.dev.auth_url}/users/{me['token']['user']['id']}/credentials/OS-EC2"
    made = requests.post(path, json={"tenant_id": project}, headers=headers, timeout=10).json()
    found = made["credential"]
    return Signer(f"{api.dev.url}/cfn/v1/", found["access"], found["secret"])


@pytest.fixture
def aws(pair: Signer) -> Iterator[Any]:
    """A client of boto3 for the cfn API."""
    try:
        import boto3
    except ImportError:
        lacking("boto3")
    session = boto3.session.Session(pair.access, pair.secret, region_name="RegionOne")
    client = session.client("cloudformation", endpoint_url=pair.url)
    yield client
    client.close()


def ended(aws: Any, what: str, stack: str) -> None:
    """Let the client's own waiter wait."""
    aws.get_waiter(what).wait(StackName=stack, WaiterConfig={"Delay": 0.05, "MaxAttempts": 600})


def test_boto3_takes_a_stack_through_its_life(aws: Any):
    given = [{"ParameterKey": "size", "ParameterValue": "3"}]
    arn = aws.create_stack(
        StackName="boto", TemplateBody=PLAIN, Parameters=given, TimeoutInMinutes=5,
        OnFailure="DO_NOTHING", Capabilities=["CAPABILITY_IAM"],
    )["StackId"]  # fmt: skip
    ended(aws, "stack_create_complete", "boto")
    (shown,) = aws.describe_stacks(StackName=arn)["Stacks"]
    assert shown["DisableRollback"] is True
    assert shown["TimeoutInMinutes"] == 5
    assert shown["Outputs"] == [
        {"OutputKey": "size", "OutputValue": "3", "Description": "How large"}
    ]
    assert "LastUpdatedTime" not in shown
    assert [one["StackName"] for one in aws.list_stacks()["StackSummaries"]] == ["boto"]

    assert aws.update_stack(StackName="boto", TemplateBody=PLAIN)["StackId"] == arn
    ended(aws, "stack_update_complete", "boto")
    (shown,) = aws.describe_stacks()["Stacks"]
    assert shown["Outputs"][0]["OutputValue"] == "1"
    assert shown["LastUpdatedTime"] >= shown["CreationTime"]
    (found,) = aws.describe_stack_resources(StackName="boto")["StackResources"]
    assert found["LogicalResourceId"] == "value"
    (listed,) = aws.list_stack_resources(StackName="boto")["StackResourceSummaries"]
    assert listed["LastUpdatedTimestamp"] == found["Timestamp"]
    detail = aws.describe_stack_resource(StackName="boto", LogicalResourceId="value")
    assert detail["StackResourceDetail"]["PhysicalResourceId"] == found["PhysicalResourceId"]
    events = aws.describe_stack_events(StackName="boto")["StackEvents"]
    assert events[0]["ResourceStatus"] == "UPDATE_COMPLETE"
    assert aws.get_template(StackName="boto")["TemplateBody"]["resources"]["value"]
    (parameter,) = aws.validate_template(TemplateBody=PLAIN)["Parameters"]
    assert (parameter["DefaultValue"], parameter["NoEcho"]) == ("1", False)
    assert aws.estimate_template_cost(TemplateBody=PLAIN)["Url"]

    aws.delete_stack(StackName="boto")
    ended(aws, "stack_delete_complete", arn)


def test_boto3_reads_refusals(aws: Any):
    with pytest.raises(aws.exceptions.ClientError) as refused:
        aws.describe_stacks(StackName="nope")
    assert refused.value.response["Error"]["Code"] == "InvalidParameterValue"
    assert "nope" in refused.value.response["Error"]["Message"]
    with pytest.raises(aws.exceptions.ClientError) as refused:
        aws.get_template_summary(StackName="nope")
    assert refused.value.response["Error"]["Code"] == "InvalidAction"


def test_a_wait_condition_takes_what_cfn_signal_sends(api: Caller):
    reply = api.call("POST", "/stacks", {"stack_name": "signalled", "template": AWS_WAIT})
    path = f"/stacks/signalled/{reply.json()['stack']['id']}"

    def url() -> str:
        return api.call("GET", f"{path}/outputs/url").json()["output"]["output_value"] or ""

    signed = wait_for(lambda: found if (found := url()).startswith("http") else None, "the URL")
    data = {"Status": "SUCCESS", "Reason": "done", "UniqueId": "one", "Data": "all is well"}
    headers = {"Content-Type": ""}  # as curl sends it for cfn-signal: none
    bad = requests.put(signed, data=json.dumps({**data, "More": 1}), headers=headers, timeout=20)
    assert bad.status_code == 400
    assert "<Code>InvalidParameterValue</Code>" in bad.text
    good = requests.put(signed, data=json.dumps(data), headers=headers, timeout=20)
    assert (good.status_code, good.text) == (200, "<resource>handle</resource>")
    api.until(path, "CREATE_COMPLETE")
    shown = api.call("GET", f"{path}/outputs/data").json()["output"]["output_value"]
    assert json.loads(shown) == {"one": "all is well"}
