"""Signed requests become tokens; the figures of version 4 are those of AWS's own example."""

from __future__ import annotations

import hashlib
from typing import Any

from hearth.devcloud.keystone import signature
from tests.devcloud.running import Served

EMPTY = hashlib.sha256(b"").hexdigest()


def pair(served: Served) -> dict[str, Any]:
    demo = served.cloud.store.where("identity.users", name="demo")[0]
    project = served.cloud.store.where("identity.projects", name="demo")[0]
    path = f"/identity/v3/users/{demo.id}/credentials/OS-EC2"
    found: dict[str, Any] = served.call("POST", path, {"tenant_id": project.id}).json()
    credential: dict[str, Any] = found["credential"]
    return credential


def test_version_4_gives_the_signature_of_the_published_example() -> None:
    signed = signature.version_4(
        "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        verb="GET",
        path="/",
        params={"Action": "ListUsers", "Version": "2010-05-08"},
        headers={
            "Host": "iam.amazonaws.com",
            "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
            "X-Amz-Date": "20150830T123600Z",
        },
        signed_headers="content-type;host;x-amz-date",
        scope="20150830/us-east-1/iam/aws4_request",
        date="20150830T123600Z",
        body_hash=EMPTY,
    )
    assert signed == "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"


def test_a_request_signed_by_version_2_becomes_a_token(served: Served) -> None:
    credential = pair(served)
    params = {
        "AWSAccessKeyId": credential["access"],
        "Action": "DescribeStackResource",
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
    }
    signed = signature.version_2(credential["secret"], "GET", "h", "/v1/", params)
    given = {
        "access": credential["access"],
        "signature": signed,
        "host": "h:8000",
        "verb": "GET",
        "path": "/v1/",
        "params": {**params, "Signature": signed},
    }
    path = f"{served.url}/identity/v3/ec2tokens"
    reply = served.session.post(path, json={"ec2Credentials": given})
    assert reply.status_code == 200
    assert reply.json()["token"]["project"]["name"] == "demo"
    given["signature"] = "wrong"
    assert served.session.post(path, json={"ec2Credentials": given}).status_code == 401


def test_a_request_signed_by_version_4_becomes_a_token(served: Served) -> None:
    credential = pair(served)
    headers = {"Host": "h:8000", "X-Amz-Date": "20260101T000000Z"}
    scope = "20260101/RegionOne/cloudformation/aws4_request"
    signed = signature.version_4(
        credential["secret"],
        verb="POST",
        path="/v1/",
        params={"Action": "DescribeStacks"},
        headers=headers,
        signed_headers="host;x-amz-date",
        scope=scope,
        date="20260101T000000Z",
        body_hash=EMPTY,
    )
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential['access']}/{scope}, "
        f"SignedHeaders=host;x-amz-date, Signature={signed}"
    )
    given = {
        "access": credential["access"],
        "signature": signed,
        "host": "h:8000",
        "verb": "POST",
        "path": "/v1/",
        "params": {"Action": "DescribeStacks"},
        "headers": headers,
        "body_hash": EMPTY,
    }
    path = f"{served.url}/identity/v3/ec2tokens"
    assert served.session.post(path, json={"credentials": given}).status_code == 200


def test_an_s3_string_to_sign_becomes_a_token(served: Served) -> None:
    import base64

    credential = pair(served)
    text = base64.urlsafe_b64encode(b"GET\n\n\n\n/box/key").decode()
    signed = signature.s3(credential["secret"], text)
    given = {"access": credential["access"], "token": text, "signature": signed}
    path = f"{served.url}/identity/v3/s3tokens"
    assert served.session.post(path, json={"credentials": given}).status_code == 200
