"""Signed requests become tokens; the figures of version 4 are those of AWS's own example."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hearth_devcloud.keystone import signature
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
    path = "ec2tokens"
    reply = asked(served, path, {"ec2Credentials": given})
    assert reply.status_code == 200
    assert reply.json()["token"]["project"]["name"] == "demo"
    given["signature"] = "wrong"
    assert asked(served, path, {"ec2Credentials": given}).status_code == 401


def asked(served: Served, path: str, body: dict[str, Any], user: str = "admin") -> Any:
    return served.call("POST", f"/identity/v3/{path}", body, user=user)


def signed_by_4(credential: dict[str, Any], date: str) -> dict[str, Any]:
    headers = {"Host": "h:8000", "X-Amz-Date": date}
    scope = f"{date[:8]}/RegionOne/cloudformation/aws4_request"
    signed = signature.version_4(
        credential["secret"],
        verb="POST",
        path="/v1/",
        params={"Action": "DescribeStacks"},
        headers=headers,
        signed_headers="host;x-amz-date",
        scope=scope,
        date=date,
        body_hash=EMPTY,
    )
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential['access']}/{scope}, "
        f"SignedHeaders=host;x-amz-date, Signature={signed}"
    )
    return {
        "access": credential["access"],
        "signature": signed,
        "host": "h:8000",
        "verb": "POST",
        "path": "/v1/",
        "params": {"Action": "DescribeStacks"},
        "headers": headers,
        "body_hash": EMPTY,
    }


def signed_by(credential: dict[str, Any], version: str, time: str | None) -> dict[str, Any]:
    params = {
        "AWSAccessKeyId": credential["access"],
        "Action": "DescribeStacks",
        "SignatureVersion": version,
    }
    if time is not None:
        params["Timestamp"] = time
    secret = credential["secret"]
    signed = {
        "0": lambda: signature.version_0(secret, params),
        "1": lambda: signature.version_1(secret, params),
        "2": lambda: signature.version_2(secret, "GET", "h", "/v1/", params),
    }[version]()
    where = {"host": "h", "verb": "GET", "path": "/v1/"}
    return {"access": credential["access"], "signature": signed, "params": params, **where}


def ago(seconds: float, form: str) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime(form)


@pytest.mark.parametrize(("age_s", "status"), [(0, 200), (890, 200), (910, 401), (-60, 200)])
def test_a_signature_of_version_4_ends_after_a_quarter_of_an_hour(served, age_s, status) -> None:
    given = signed_by_4(pair(served), ago(age_s, "%Y%m%dT%H%M%SZ"))
    reply = asked(served, "ec2tokens", {"credentials": given})
    assert reply.status_code == status


@pytest.mark.parametrize("version", ["0", "1", "2"])
@pytest.mark.parametrize(("age_s", "status"), [(0, 200), (910, 401), (None, 200)])
def test_one_of_an_older_version_ends_if_it_carries_a_time(served, version, age_s, status) -> None:
    time = None if age_s is None else ago(age_s, "%Y-%m-%dT%H:%M:%SZ")
    given = signed_by(pair(served), version, time)
    path = "ec2tokens"
    assert asked(served, path, {"ec2Credentials": given}).status_code == status
    given["params"]["Action"] = "DeleteStack"
    assert asked(served, path, {"ec2Credentials": given}).status_code == 401


def test_a_time_that_is_none_is_refused(served) -> None:
    given = signed_by(pair(served), "2", "soon")
    reply = asked(served, "ec2tokens", {"credentials": given})
    assert reply.status_code == 401


def test_an_s3_string_to_sign_becomes_a_token(served: Served) -> None:
    import base64

    credential = pair(served)
    text = base64.urlsafe_b64encode(b"GET\n\n\n\n/box/key").decode()
    signed = signature.s3(credential["secret"], text)
    given = {"access": credential["access"], "token": text, "signature": signed}
    path = "s3tokens"
    assert asked(served, path, {"credentials": given}).status_code == 200
