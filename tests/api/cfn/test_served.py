"""The query API of a running server, every request really signed."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pytest
import requests

from hearth.api.cfn.actions import ACTIONS
from tests.api.conftest import Caller
from tests.clients.dev import wait_for
from tests.clients.signing import Signer, stamp

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2021-04-16
description: What guests poll
parameters:
  size: {type: number, default: 1, description: How large}
  secret: {type: string, default: hush, hidden: true}
resources:
  value:
    type: OS::Heat::Value
    description: It is "<&>" here
    properties: {value: {"a:b": [1, true], "c d": {get_param: size}}}
  handle:
    type: OS::Heat::WaitConditionHandle
    properties: {signal_transport: CFN_SIGNAL}
    metadata: {key: [1, "<&>"]}
  other: {type: AWS::CloudFormation::WaitConditionHandle}
outputs:
  map: {value: {"x:y": {get_param: size}}, description: A map}
  odd: {value: {"c d": 1}}
  url: {value: {get_attr: [handle, signal]}}
  ref: {value: {get_resource: other}}
"""
SMALL = "heat_template_version: 2021-04-16\n"


def key_pair(api: Caller, user: str = "demo") -> Signer:
    """A key pair of a user for its project, as the dashboard makes them."""
    token, project = api.login(user)
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    me = requests.get(f"{api.dev.auth_url}/auth/tokens", headers=headers, timeout=10)
    path = f"{api.dev.auth_url}/users/{me.json()['token']['user']['id']}/credentials/OS-EC2"
    made = requests.post(path, json={"tenant_id": project}, headers=headers, timeout=10)
    pair = made.json()["credential"]
    return Signer(f"{api.dev.url}/cfn/v1/", pair["access"], pair["secret"])


@dataclass
class Stack:
    """A complete stack, its ARN, and what its guests know."""

    arn: str
    path: str
    guest: Signer
    alarm_url: str


@pytest.fixture(scope="module")
def demo(api: Caller) -> Signer:
    return key_pair(api)


@pytest.fixture(scope="module")
def admin(api: Caller) -> Signer:
    return key_pair(api, "admin")


@pytest.fixture(scope="module")
def stack(api: Caller, demo: Signer) -> Iterator[Stack]:
    reply = demo.ask(
        "CreateStack",
        verb="POST",
        StackName="polled",
        TemplateBody=TEMPLATE,
        TimeoutInMinutes="7",
        OnFailure="ROLLBACK",
        **{
            "Parameters.member.1.ParameterKey": "size",
            "Parameters.member.1.ParameterValue": "5",
        },
    )
    assert reply.status_code == 200, reply.text
    arn = inside(reply).findtext("StackId")
    path = "/stacks/polled/" + arn.rpartition("/")[2]
    shown = api.until(path, "CREATE_COMPLETE")
    outputs = {one["output_key"]: one["output_value"] for one in shown["outputs"]}
    url = json.loads(outputs["url"])["alarm_url"]
    access = re.search("AWSAccessKeyId=([^&]+)", url)[1]
    blob = secret_of(api, access)
    yield Stack(arn, path, Signer(demo.url, access, blob), url)
    api.call("DELETE", path)


def secret_of(api: Caller, access: str) -> str:
    """The other half of a guest's key pair, which only the guest is told."""
    headers = {"X-Auth-Token": api.login("admin")[0]}
    found = requests.get(f"{api.dev.auth_url}/credentials", headers=headers, timeout=10).json()
    blobs = [json.loads(one["blob"]) for one in found["credentials"] if one["type"] == "ec2"]
    return next(blob["secret"] for blob in blobs if blob["access"] == access)


def inside(reply: requests.Response) -> ET.Element:
    """The result element of an answer."""
    assert reply.status_code == 200, reply.text
    assert reply.headers["Content-Type"].startswith("application/xml")
    assert reply.text.startswith("<")
    assert not re.search(r"<\?xml|xmlns", reply.text)
    root = ET.fromstring(reply.text)
    assert root.tag.endswith("Response")
    assert len(root) == 1
    assert root[0].tag == root.tag.replace("Response", "Result")
    return root[0]


def as_tree(element: ET.Element) -> Any:
    """Elements as maps, members as lists, the rest as text."""
    if len(element) and all(one.tag == "member" for one in element):
        return [as_tree(one) for one in element]
    return {one.tag: as_tree(one) for one in element} if len(element) else element.text or ""


def code(reply: requests.Response, status: int = 400) -> str:
    """The code of a refusal, whose form is checked."""
    assert reply.status_code == status, reply.text
    root = ET.fromstring(reply.text)
    assert (root.tag, root[0].tag) == ("ErrorResponse", "Error")
    assert [one.tag for one in root[0]] == ["Type", "Code", "Message"]
    assert root[0].findtext("Type") == ("Server" if status >= 500 else "Sender")
    assert root[0].findtext("Message")
    return root[0].findtext("Code") or ""


def test_a_stack_is_described_with_parameters_and_outputs(demo: Signer, stack: Stack):
    (found,) = as_tree(inside(demo.ask("DescribeStacks", StackName="polled")))["Stacks"]
    parameters = {one["ParameterKey"]: one["ParameterValue"] for one in found["Parameters"]}
    assert parameters["size"] == "5"
    assert parameters["secret"] == "******"
    outputs = {one["OutputKey"]: one for one in found["Outputs"]}
    assert outputs["map"] == {
        "OutputKey": "map",
        "OutputValue": {"x.y": "5"},
        "Description": "A map",
    }
    assert json.loads(outputs["odd"]["OutputValue"]) == {"c d": 1}
    del found["Parameters"], found["Outputs"], found["StackStatusReason"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found.pop("CreationTime"))
    assert found == {
        "StackId": stack.arn,
        "StackName": "polled",
        "Description": "What guests poll",
        "StackStatus": "CREATE_COMPLETE",
        "DisableRollback": "false",
        "TimeoutInMinutes": "7",
        "Capabilities": "",
        "NotificationARNs": "",
    }


def test_a_stack_is_found_by_name_id_and_arn(demo: Signer, stack: Stack):
    for identity in ("polled", stack.arn.rpartition("/")[2], stack.arn):
        for verb in ("GET", "POST"):
            reply = demo.ask("ListStackResources", StackName=identity, verb=verb)
            (value,) = [
                one
                for one in as_tree(inside(reply))["StackResourceSummaries"]
                if one["LogicalResourceId"] == "value"
            ]
            assert value.pop("LastUpdatedTimestamp")
            assert value.pop("PhysicalResourceId")
            assert value == {
                "LogicalResourceId": "value",
                "ResourceType": "OS::Heat::Value",
                "ResourceStatus": "CREATE_COMPLETE",
                "ResourceStatusReason": "state changed",
            }


def test_all_stacks_are_listed(demo: Signer, stack: Stack):
    found = as_tree(inside(demo.ask("ListStacks")))["StackSummaries"]
    (mine,) = [one for one in found if one["StackName"] == "polled"]
    assert mine["TemplateDescription"] == "What guests poll"
    assert "DeletionTime" not in mine
    everything = as_tree(inside(demo.ask("DescribeStacks")))["Stacks"]
    assert "polled" in [one["StackName"] for one in everything]


def test_a_guest_reads_its_metadata(stack: Stack):
    reply = stack.guest.ask("DescribeStackResource", StackName="polled", LogicalResourceId="handle")
    (detail,) = inside(reply)
    assert detail.tag == "StackResourceDetail"
    assert [one.tag for one in detail] == [
        "StackId", "StackName", "LogicalResourceId", "PhysicalResourceId", "ResourceType",
        "ResourceStatus", "ResourceStatusReason", "LastUpdatedTimestamp", "Description", "Metadata",
    ]  # fmt: skip
    assert json.loads(detail.findtext("Metadata") or "null") is not None


def test_a_guest_reads_and_does_nothing_else(stack: Stack):
    for identity in ("polled", stack.arn):
        reply = stack.guest.ask(
            "DescribeStackResource", StackName=identity, LogicalResourceId="value"
        )
        assert code(reply, 403) == "AccessDenied"
    for action in ACTIONS.keys() - {"DescribeStackResource"}:
        reply = stack.guest.ask(action, StackName="polled", TemplateBody=SMALL)
        assert code(reply, 403) == "AccessDenied", action


def test_a_resource_is_described_as_json_where_that_is_asked_for(demo: Signer, stack: Stack):
    asked = {"StackName": "polled", "LogicalResourceId": "value"}
    reply = demo.ask("DescribeStackResource", **asked, ContentType="JSON")
    assert reply.headers["Content-Type"] == "application/json"
    result = reply.json()["DescribeStackResourceResponse"]["DescribeStackResourceResult"]
    detail = result["StackResourceDetail"]
    assert detail["Description"] == 'It is "<&>" here'
    assert detail["Metadata"] == {}
    assert detail["StackId"] == stack.arn
    refused = demo.ask("DescribeStackResource", StackName="nope", ContentType="JSON",
                       LogicalResourceId="x").json()  # fmt: skip
    assert refused["ErrorResponse"]["Error"]["Code"] == "InvalidParameterValue"


def test_resources_are_described_by_stack_or_by_what_they_are(demo: Signer, stack: Stack):
    found = as_tree(inside(demo.ask("DescribeStackResources", StackName="polled")))
    by_name = {one["LogicalResourceId"]: one for one in found["StackResources"]}
    assert set(by_name) == {"value", "handle", "other"}
    assert by_name["value"]["Description"] == 'It is "<&>" here'
    assert "Metadata" not in by_name["value"]
    physical = by_name["value"]["PhysicalResourceId"]
    again = as_tree(inside(demo.ask("DescribeStackResources", PhysicalResourceId=physical)))
    assert again == found
    one = demo.ask("DescribeStackResources", StackName="polled", LogicalResourceId="value")
    assert as_tree(inside(one)) == {"StackResources": [by_name["value"]]}


def test_events_are_told_the_newest_first(demo: Signer, stack: Stack):
    found = as_tree(inside(demo.ask("DescribeStackEvents", StackName=stack.arn)))["StackEvents"]
    times = [one["Timestamp"] for one in found]
    assert times == sorted(times, reverse=True)
    assert all(json.loads(one["ResourceProperties"]) == {} for one in found)
    about = [one["ResourceStatus"] for one in found if one["LogicalResourceId"] == "value"]
    assert about == ["CREATE_COMPLETE", "CREATE_IN_PROGRESS"]
    resources = as_tree(inside(demo.ask("DescribeStackResources", StackName=stack.arn)))
    ids = {
        one["LogicalResourceId"]: one["PhysicalResourceId"] for one in resources["StackResources"]
    }
    ids["polled"] = stack.arn.rpartition("/")[2]
    complete = [one for one in found if one["ResourceStatus"] == "CREATE_COMPLETE"]
    assert {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in complete} == ids
    everything = as_tree(inside(demo.ask("DescribeStackEvents")))["StackEvents"]
    assert {one["EventId"] for one in found} <= {one["EventId"] for one in everything}


def test_the_template_comes_back_as_json(demo: Signer, stack: Stack):
    body = inside(demo.ask("GetTemplate", StackName="polled")).findtext("TemplateBody")
    assert json.loads(body or "")["resources"]["value"]["type"] == "OS::Heat::Value"


def test_a_template_is_validated_and_what_is_wrong_is_an_answer(demo: Signer):
    found = as_tree(inside(demo.ask("ValidateTemplate", TemplateBody=TEMPLATE, verb="POST")))
    assert found["Description"] == "What guests poll"
    assert {one["ParameterKey"]: one for one in found["Parameters"]} == {
        "size": {"ParameterKey": "size", "DefaultValue": "1", "Description": "How large",
                 "NoEcho": "false"},
        "secret": {"ParameterKey": "secret", "DefaultValue": "hush", "Description": "",
                   "NoEcho": "true"},
    }  # fmt: skip
    asked = {"TemplateBody": SMALL + "resources: {a: {type: 'OS::No'}}", "ContentType": "JSON"}
    told = demo.ask("ValidateTemplate", **asked).json()["ValidateTemplateResponse"]
    assert "OS::No" in told["ValidateTemplateResult"]


@pytest.mark.parametrize(
    "wrong",
    [
        "resources: {a: {type: 'OS::No'}}",
        "resources: {a: {type: 'OS::Heat::None'}, b: {}}",
        "resources: {a: {type: 'OS::Heat::RandomString', properties: {zz: 1}}}",
        "resources: {a: {type: no.yaml}}",
        "sauces: {}",
    ],
)
def test_a_failed_validation_is_a_result(demo: Signer, wrong: str):
    reply = demo.ask("ValidateTemplate", TemplateBody=SMALL + wrong)
    assert reply.status_code == 200
    assert (inside(reply).text or "").strip()


@pytest.mark.parametrize(
    "text",
    [
        "zz", "[]", "{", "{}", "a: b", ": : :", "heat_template_version: 2000-01-01",
        SMALL + "parameters: {p: {type: nope}}",
        SMALL + "resources: {a: {type: OS::Heat::Value, properties: {value: {get_resource: b}}}}",
    ],
)  # fmt: skip
def test_what_is_no_template_is_refused(demo: Signer, text: str):
    reply = demo.ask("ValidateTemplate", TemplateBody=text)
    assert (reply.status_code, code(reply)) == (400, "InvalidParameterValue")


@pytest.mark.parametrize("name", ["TemplateUrl", "TemplateURL"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "file:///etc/hostname", "http://["])
def test_a_template_is_not_fetched_unless_the_operator_says_so(demo: Signer, name, url):
    reply = demo.ask("ValidateTemplate", **{name: url})
    assert code(reply) == "InvalidParameterValue"
    assert "disabled" in reply.text


def test_costs_are_told_nowhere(demo: Signer):
    assert inside(demo.ask("EstimateTemplateCost")).findtext("Url") == "about:blank"


def test_a_life_from_create_to_delete(api: Caller, demo: Signer):
    create = {"StackName": "life", "TemplateBody": SMALL, "DisableRollback": "True"}
    arn = inside(demo.ask("CreateStack", **create, verb="POST")).findtext("StackId") or ""
    path = f"/stacks/life/{arn.rpartition('/')[2]}"
    api.until(path, "CREATE_COMPLETE")
    assert code(demo.ask("CreateStack", **create, verb="POST")) == "AlreadyExists"
    assert code(demo.ask("CancelUpdateStack", StackName="life")) == "InvalidParameterValue"
    slow = SMALL + "resources: {wait: {type: OS::Heat::Delay, properties: {min_wait: 2}}}"
    reply = demo.ask("UpdateStack", StackName=arn, TemplateBody=slow, verb="POST")
    assert inside(reply).findtext("StackId") == arn
    (shown,) = as_tree(inside(demo.ask("DescribeStacks", StackName="life")))["Stacks"]
    assert shown["StackStatus"] == "UPDATE_IN_PROGRESS"
    assert as_tree(inside(demo.ask("CancelUpdateStack", StackName="life"))) == ""

    def rolled_back() -> bool | None:
        return api.call("GET", path).json()["stack"]["stack_status"].startswith("ROLLBACK") or None

    wait_for(rolled_back, "the rollback")
    assert as_tree(inside(demo.ask("DeleteStack", StackName="life"))) == ""

    def gone() -> bool | None:
        reply = demo.ask("DescribeStacks", StackName=arn)
        (shown,) = as_tree(inside(reply))["Stacks"]
        return True if shown["StackStatus"] == "DELETE_COMPLETE" else None

    wait_for(gone, "the end of life")
    assert code(demo.ask("DescribeStacks", StackName="life")) == "InvalidParameterValue"


@pytest.mark.parametrize(
    ("action", "params", "wanted"),
    [
        ("Nonsense", {}, "InvalidAction"),
        ("", {}, "InvalidAction"),
        ("describestacks", {}, "InvalidAction"),
        ("GetTemplate", {}, "MissingParameter"),
        ("GetTemplate", {"StackName": "nope"}, "InvalidParameterValue"),
        ("GetTemplate", {"StackName": "<é\ud7ff\uffff>"}, "InvalidParameterValue"),
        ("GetTemplate", {"StackName": "a\x00"}, "InvalidQueryParameter"),
        ("GetTemplate", {"StackName": "arn:openstack:heat::p%00:stacks/a/%00"},
         "InvalidParameterValue"),
        ("GetTemplate", {"StackName": "x" * 5000}, "InvalidParameterValue"),
        ("DescribeStackResource", {"StackName": "polled"}, "MissingParameter"),
        ("DescribeStackResource", {"StackName": "polled", "LogicalResourceId": "no"},
         "InvalidParameterValue"),
        ("DescribeStackResources", {}, "MissingParameter"),
        ("DescribeStackResources", {"PhysicalResourceId": "no"}, "InvalidParameterValue"),
        ("DescribeStackResources", {"StackName": "polled", "PhysicalResourceId": "x"},
         "InvalidParameterCombination"),
        ("CreateStack", {"StackName": "new"}, "MissingParameter"),
        ("CreateStack", {"TemplateBody": SMALL}, "MissingParameter"),
        ("CreateStack", {"StackName": "1", "TemplateBody": SMALL}, "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": "Resources: {}"},
         "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL, "TimeoutInMinutes": "soon"},
         "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL, "TimeoutInMinutes": "9" * 30},
         "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL, "TimeoutInMinutes": "9" * 5000},
         "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL, "DisableRollback": "perhaps"},
         "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL, "OnFailure": "PANIC"},
         "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL, "OnFailure": "DELETE",
                         "DisableRollback": "true"}, "InvalidParameterCombination"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL,
                         "Parameters.member.x.ParameterKey": "a"}, "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL,
                         "Parameters.member.1.ParameterKey": "a"}, "MissingParameter"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL,
                         "Parameters.member.1.ParameterKey": "a",
                         "Parameters.member.1.ParameterValue": "a"}, "InvalidParameterValue"),
        ("CreateStack", {"StackName": "new", "TemplateBody": SMALL + "#" * 600_000},
         "RequestLimitExceeded"),
        ("CreateStack", {"StackName": "new", "TemplateBody": "#" * 4_000_000},
         "RequestLimitExceeded"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(demo: Signer, stack: Stack, action, params, wanted):
    verb = "POST" if action == "CreateStack" else "GET"
    assert code(demo.ask(action, **params, verb=verb)) == wanted


def test_a_stack_of_another_project_is_not_there(
    api: Caller, demo: Signer, admin: Signer, stack: Stack
):
    ident = stack.arn.rpartition("/")[2]
    theirs = stack.arn.replace(api.login("demo")[1], api.login("admin")[1])
    for action in sorted(ACTIONS.keys() - {"CreateStack", "ListStacks", "EstimateTemplateCost",
                                           "ValidateTemplate"}):  # fmt: skip
        for identity in ("polled", ident, stack.arn, theirs):
            more = {"LogicalResourceId": "handle", "TemplateBody": SMALL}
            reply = admin.ask(action, StackName=identity, **more)
            assert code(reply) == "InvalidParameterValue", action
            assert "CREATE_COMPLETE" not in reply.text
        assert code(demo.ask(action, StackName=theirs, **more)) == "InvalidParameterValue"
    physical = as_tree(inside(demo.ask("ListStackResources", StackName="polled")))
    for one in physical["StackResourceSummaries"]:
        reply = admin.ask("DescribeStackResources", PhysicalResourceId=one["PhysicalResourceId"])
        assert code(reply) == "InvalidParameterValue"
    assert "polled" not in admin.ask("ListStacks").text
    assert "polled" not in admin.ask("DescribeStackEvents").text
    names = f"stacks/polled/{ident}/resources/handle"
    for project in api.login("demo")[1], api.login("admin")[1]:
        arn = f"arn:openstack:heat::{project}:{names}"
        assert code(signalled(admin, arn)) == "InvalidParameterValue"


def test_every_version_of_a_signature_is_taken(demo: Signer):
    asked = {"Action": "ListStacks"}
    inside(demo.send(demo.version_1(asked)))
    inside(demo.send(demo.version_4_query(asked)))
    headers = demo.version_4_header("GET", asked)
    inside(requests.get(demo.url, params=asked, headers=headers, timeout=20))
    body = b"Action=ListStacks&StackName=%C3%A9"
    headers = demo.version_4_header("POST", {}, body)
    headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8"
    inside(requests.post(demo.url, data=body, headers=headers, timeout=20))
    without_slash = Signer(demo.url.rstrip("/"), demo.access, demo.secret)
    inside(without_slash.ask("ListStacks"))


def test_a_signature_that_is_not_right_is_refused(demo: Signer):
    asked = {"Action": "ListStacks"}
    good = demo.version_2("GET", asked)
    assert code(demo.send({**good, "Signature": "x"}), 403) == "AccessDenied"
    assert code(demo.send({**good, "Signature": "é"}), 403) == "AccessDenied"
    assert code(demo.send({**good, "Action": "DeleteStack"}), 403) == "AccessDenied"
    assert code(demo.send(good, verb="POST"), 403) == "AccessDenied"
    assert code(demo.send({**good, "AWSAccessKeyId": "nobody"}), 403) == ("InvalidClientTokenId")
    assert code(demo.send({k: v for k, v in good.items() if k != "AWSAccessKeyId"}), 403) == (
        "MissingAuthenticationToken"
    )
    assert code(demo.send(asked)) == "IncompleteSignature"
    assert code(demo.send({**good, "SignatureVersion": "9"}), 403) == "AccessDenied"
    header = demo.version_4_header("GET", asked)
    for broken in ("AWS4-HMAC-SHA256 Signature=x", "AWS4-HMAC-SHA256 Credential=a, Signature=x"):
        headers = {**header, "Authorization": broken}
        reply = requests.get(demo.url, params=asked, headers=headers, timeout=20)
        assert reply.status_code == 403


def test_a_form_that_was_changed_after_signing_is_refused(demo: Signer):
    headers = demo.version_4_header("POST", {}, b"Action=ListStacks")
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    changed = requests.post(demo.url, data=b"Action=EstimateTemplateCost", headers=headers)
    assert code(changed, 403) == "AccessDenied"
    added = f"{demo.url}?StackName=x"
    reply = requests.post(added, data=b"Action=ListStacks", headers=headers, timeout=20)
    assert code(reply) == "IncompleteSignature"


def test_a_signature_that_is_dated_ahead_is_refused(demo: Signer):
    asked = {"Action": "ListStacks"}
    inside(demo.ask("ListStacks", Timestamp=stamp(-800)))
    assert code(demo.ask("ListStacks", Timestamp=stamp(-1000))) == "RequestExpired"
    ahead = stamp(-86400).replace("-", "").replace(":", "")
    assert code(demo.send(demo.version_4_query(asked, ahead))) == "RequestExpired"
    headers = demo.version_4_header("GET", asked, date=ahead)
    reply = requests.get(demo.url, params=asked, headers=headers, timeout=20)
    assert code(reply) == "RequestExpired"


def test_an_old_signature_is_refused_though_it_was_good_once(demo: Signer):
    asked = {"Action": "ListStacks"}
    inside(demo.ask("ListStacks", Timestamp=stamp(800)))
    assert code(demo.ask("ListStacks", Timestamp=stamp(1000)), 403) == "AccessDenied"
    old = stamp(1000).replace("-", "").replace(":", "")
    assert code(demo.send(demo.version_4_query(asked, old)), 403) == "AccessDenied"
    headers = demo.version_4_header("GET", asked, date=old)
    reply = requests.get(demo.url, params=asked, headers=headers, timeout=20)
    assert code(reply, 403) == "AccessDenied"


def test_a_token_is_taken_from_who_says_its_name(api: Caller, demo: Signer):
    headers = {"X-Auth-Token": api.login()[0]}
    asked = {"Action": "ListStacks"}
    assert code(requests.get(demo.url, params=asked, headers=headers, timeout=20)) == (
        "IncompleteSignature"
    )
    headers["X-Auth-User"] = "demo"
    inside(requests.get(demo.url, params=asked, headers=headers, timeout=20))
    headers["X-Auth-Token"] = "stranger"
    reply = requests.get(demo.url, params=asked, headers=headers, timeout=20)
    assert reply.status_code == 401
    assert reply.headers["WWW-Authenticate"].startswith("Keystone uri=")


def test_what_is_no_request_of_this_api_is_refused(api: Caller, demo: Signer):
    base = f"{api.dev.url}/cfn"
    versions = requests.get(f"{base}/", timeout=20)
    assert versions.status_code == 300
    assert versions.json()["versions"][0]["links"][0]["href"] == f"{base}/v1/"
    assert requests.get(f"{base}/v2/", timeout=20).status_code == 404
    for method, path in (("PUT", ""), ("DELETE", ""), ("GET", "signal/x"), ("GET", "nothing"),
                         ("POST", "waitcondition/x")):  # fmt: skip
        reply = requests.request(method, demo.url + path, timeout=20)
        assert code(reply) == "InvalidAction"
    for query in ("Action=%ff", "Action=%c3%28&Signature=x"):
        assert code(requests.get(f"{demo.url}?{query}", timeout=20)) == "InvalidQueryParameter"
    many = "&".join(["a=1"] * 10_001)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    reply = requests.post(demo.url, data=many, headers=kind, timeout=20)
    assert code(reply) == "RequestLimitExceeded"


def test_a_signal_changes_the_metadata_that_the_guest_reads(stack: Stack):
    added = stack.alarm_url + "&ContentType=JSON"  # which is not signed
    assert requests.put(added, json={"id": "1"}, timeout=20).status_code == 403
    reply = requests.put(stack.alarm_url, json={"id": "1", "data": "d\x00"}, timeout=20)
    assert (reply.status_code, reply.text) == (200, "<resource>handle</resource>")
    asked = {"StackName": "polled", "LogicalResourceId": "handle"}
    detail = inside(stack.guest.ask("DescribeStackResource", **asked))[0]
    metadata = json.loads(detail.findtext("Metadata") or "")
    assert metadata["key"] == [1, "<&>"]
    assert metadata["1"]["data"] == "d\x00"


WATCHED = """
heat_template_version: 2021-04-16
parameters: {word: {type: string, default: a}}
resources:
  handle:
    type: OS::Heat::WaitConditionHandle
    description: %s
    properties: {signal_transport: CFN_SIGNAL}
    metadata: {word: {get_param: word}}
  other: {type: OS::Heat::Value, properties: {value: {get_param: word}}}
outputs:
  url: {value: {get_attr: [handle, signal]}}
"""


def test_a_poll_is_answered_anew_after_each_change(api: Caller, demo: Signer):
    def create() -> tuple[str, str]:
        body = {"stack_name": "watched", "template": WATCHED % "One", "timeout_mins": 5}
        made = api.call("POST", "/stacks", body).json()["stack"]
        path = f"/stacks/watched/{made['id']}"
        shown = api.until(path, "CREATE_COMPLETE")
        return path, json.loads(shown["outputs"][0]["output_value"])["alarm_url"]

    path, url = create()
    access = re.search("AWSAccessKeyId=([^&]+)", url)[1]
    guest = Signer(demo.url, access, secret_of(api, access))
    asked = {"StackName": "watched", "LogicalResourceId": "handle"}

    def update(**more: Any) -> None:
        api.call("PUT", path, {"template": WATCHED % "Two", **more})
        api.until(path, "UPDATE_COMPLETE")

    def act(name: str) -> None:
        api.call("POST", f"{path}/actions", {name: None})
        api.until(path, f"{name.upper()}_COMPLETE")

    def signal() -> None:
        assert requests.put(url, json={"id": "1"}, timeout=20).status_code == 200

    seen = []
    for change in (
        lambda: None,
        signal,
        lambda: update(),
        lambda: update(parameters={"word": "b"}),
        lambda: act("suspend"),
        lambda: act("resume"),
        lambda: act("check"),
        lambda: api.call("PATCH", f"{path}/resources/handle", {"mark_unhealthy": True}),
    ):
        change()
        fresh = demo.ask("DescribeStackResource", **asked).text  # a user's is never kept
        for _ in range(3):
            reply = guest.ask("DescribeStackResource", **asked)
            assert (reply.status_code, reply.text) == (200, fresh)
        seen.append(fresh)
    assert len(set(seen)) == len(seen)
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
    create()
    assert guest.ask("DescribeStackResource", **asked).status_code in (400, 403)
    api.call("DELETE", "/stacks/watched")


def signalled(by: Signer, arn: str) -> requests.Response:
    """A signal, signed for this ARN by that key pair."""
    at = Signer(f"{by.url}signal/{quote(arn, safe='')}", by.access, by.secret)
    return requests.post(at.url, params=at.version_2("POST", {}), json={}, timeout=20)


def test_a_signal_is_for_the_resource_that_the_signer_has(demo: Signer, stack: Stack):
    arn = f"{stack.arn}/resources/handle"
    for signer in (demo, stack.guest):
        assert signalled(signer, arn).status_code == 200
        for wrong in (
            arn.replace("polled", "other"),
            arn.replace("heat::", "heat::x"),
            arn.replace("/handle", "/nothing"),
            stack.arn,
            "arn:aws:cloudformation:x",
            arn.replace("/handle", "/\x00"),
        ):
            assert code(signalled(signer, wrong)) == "InvalidParameterValue"
    assert code(signalled(stack.guest, f"{stack.arn}/resources/other"), 403) == "AccessDenied"


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"id": ' + b"[" * 100_000, b'{"a": "\xff"}', b"{" + b" " * 2_000_000,
     b'{"id": "x", "data": "\\ud800"}', b'{"id": "x", "data": NaN}',
     b'{"id": "x", "data": 1' + b"0" * 5000 + b"}"],
)  # fmt: skip
def test_a_signal_that_cannot_be_read_is_refused(stack: Stack, body):
    headers = {"Content-Type": ""}
    reply = requests.put(stack.alarm_url, data=body, headers=headers, timeout=20)
    assert code(reply) in ("InvalidParameterValue", "RequestLimitExceeded")


def test_a_refused_signature_costs_one_call(api: Caller, demo: Signer):
    assert demo.ask("ListStacks").status_code == 200
    api.dev.mark()
    wrong = Signer(demo.url, demo.access, "x" * 32)
    assert wrong.ask("ListStacks").status_code == 403
    account = requests.get(f"{api.dev.cloud_url}/devcloud/ledger?calls=1", timeout=10).json()
    asked = [one["path"] for one in account["calls"] if one["method"] == "POST"]
    assert asked == ["/identity/v3/ec2tokens"]


READERS = """
heat_template_version: 2021-04-16
resources:
  open: {type: OS::Heat::RandomString, metadata: {colour: green}}
  closed: {type: OS::Heat::RandomString}
  policy: {type: OS::Heat::AccessPolicy, properties: {AllowedResources: [open]}}
  reader: {type: AWS::IAM::User, properties: {Policies: [{get_resource: policy}]}}
  reader_key: {type: AWS::IAM::AccessKey, properties: {UserName: {get_resource: reader}}}
  friend: {type: AWS::IAM::User}
  friend_key: {type: AWS::IAM::AccessKey, properties: {UserName: {get_resource: friend}}}
outputs:
  reader:
    value: [{get_resource: reader_key}, {get_attr: [reader_key, SecretAccessKey]}]
  friend:
    value: [{get_resource: friend_key}, {get_attr: [friend_key, SecretAccessKey]}]
"""


def test_a_user_of_the_templates_own_reads_what_its_policies_name(
    api: Caller, demo: Signer, stack: Stack
):
    body = {"stack_name": "readers", "template": READERS}
    made = api.call("POST", "/stacks", body).json()["stack"]
    path = f"/stacks/readers/{made['id']}"
    shown = api.until(path, "CREATE_COMPLETE")
    outputs = {one["output_key"]: one["output_value"] for one in shown["outputs"]}
    reader, friend = (Signer(demo.url, *outputs[name]) for name in ("reader", "friend"))

    def asked(who: Signer, name: str, of: str = "readers") -> requests.Response:
        return who.ask("DescribeStackResource", StackName=of, LogicalResourceId=name)

    told = inside(asked(reader, "open"))[0]
    assert json.loads(told.findtext("Metadata")) == {"colour": "green"}
    assert code(asked(reader, "closed"), 403) == "AccessDenied"
    assert asked(friend, "closed").status_code == 200
    assert asked(friend, "handle", of="polled").status_code >= 400
    assert asked(stack.guest, "open").status_code >= 400
    api.call("DELETE", path)
