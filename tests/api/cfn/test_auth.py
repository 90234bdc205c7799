"""Who signed: where a signature is looked for, and what is said when there is none."""

import asyncio
import time
from typing import Any

import pytest
from starlette.requests import Request

from hearth.agent.agent import signature
from hearth.api.access_rules import ApiCall
from hearth.api.cfn.accepted_keys import AcceptedKeys
from hearth.api.cfn.auth import Gate, KeystoneChecker, NotAuthenticated, RequestSignature, signed
from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import RequestParts
from hearth.cloud.contract import Response
from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.service.caller import Caller

HEADER = (
    "AWS4-HMAC-SHA256 Credential=key4/20260101/r/s/aws4_request, SignedHeaders=host, Signature=h"
)
TOKEN = {
    "user": {"id": "u", "name": "user"},
    "project": {"id": "p", "name": "project"},
    "roles": [{"name": "member"}],
}
V2 = {"Signature": "s", "AWSAccessKeyId": "key2"}


class Keystone:
    """Answers `ec2tokens` with a token or a fault, and keeps what it was asked."""

    def __init__(self, fault: CloudFault | None = None, body: Any = TOKEN) -> None:
        self.fault, self.body, self.asked = fault, body, []

    async def request(self, service: str, method: str, path: str, **more: Any) -> Response:
        self.asked.append((service, method, path, more["json"]["ec2Credentials"]))
        if self.fault is not None:
            raise self.fault
        return Response(200, {"x-subject-token": "token"}, {"token": self.body})


class Tokens:
    async def caller(self, token: str, call: ApiCall) -> Caller | None:
        return Caller("by-token", "", "p") if token == "good" else None


def judged(
    params: dict[str, str],
    *keystones: Keystone,
    method: str = "GET",
    raw: bytes = b"",
    **headers: str,
) -> Caller:
    scope = {
        "type": "http",
        "method": method,
        "path": "/v1/a:b",
        "raw_path": b"/v1/a%3Ab?x=y",
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }
    identities = [
        KeystoneChecker(one, f"http://{n}") for n, one in enumerate(keystones or (Keystone(),))
    ]
    gate = Gate(identities, Tokens(), "http://main")
    return asyncio.run(gate.caller(Request(scope), RequestParts(params, params, raw)))


def refusal(*arguments: Any, **more: Any) -> str:
    with pytest.raises(CfnError) as refused:
        judged(*arguments, **more)
    return refused.value.code


@pytest.mark.parametrize(
    ("params", "header", "found"),
    [
        (V2, "", RequestSignature("s", "key2")),
        (V2 | {"X-Amz-Signature": "q"}, HEADER, RequestSignature("s", "key2")),
        (
            {"X-Amz-Signature": "q", "X-Amz-Credential": "k/d/r"},
            HEADER,
            RequestSignature("q", "k", True),
        ),
        ({}, HEADER, RequestSignature("h", "key4", True)),
        ({"Signature": ""}, HEADER, RequestSignature("h", "key4", True)),
        ({"Signature": "s"}, "", RequestSignature("s", None)),
        ({"AWSAccessKeyId": "key2"}, "Basic abc", None),
    ],
)
def test_a_signature_is_taken_from_the_first_place_that_has_one(params, header, found):
    assert signed(params, header) == found


def test_the_request_is_handed_on_as_the_signer_saw_it():
    keystone = Keystone()
    params = V2 | {"Action": "A", "X-Amz-Signature": "x"}
    caller = judged(params, keystone, raw=b"body", host="h:8000", x_amz_date="d")
    assert caller == Caller("u", "user", "p", frozenset({"member"}), "token", "http://0", "project")
    ((service, method, path, given),) = keystone.asked
    assert (service, method, path) == ("identity", "POST", "/v3/ec2tokens")
    assert given == {
        "access": "key2",
        "signature": "s",
        "host": "h:8000",
        "verb": "GET",
        "path": "/v1/a:b",
        "params": {"AWSAccessKeyId": "key2", "Action": "A"},
        "headers": {"Host": "h:8000", "X-Amz-Date": "d"},
        "body_hash": "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5",
    }


def test_nothing_signed_is_refused_unless_somebody_is_said_to_ask():
    assert refusal({"AWSAccessKeyId": "key2"}) == "IncompleteSignature"
    assert refusal({}, x_auth_token="good") == "IncompleteSignature"
    assert judged({}, x_auth_user="u", x_auth_token="good").user_id == "by-token"
    for more in ({}, {"x_auth_token": "bad"}):
        with pytest.raises(NotAuthenticated):
            judged({}, x_auth_user="u", **more)


@pytest.mark.parametrize(
    ("rules", "passes"),
    [
        (None, True),
        ([], False),
        ([("orchestration", "GET", "/v1/a:b")], False),
        ([("cloudformation", "POST", "/v1/a:b")], False),
        ([("cloudformation", "GET", "/v1/*")], True),
    ],
)
def test_the_access_rules_of_a_credential_hold_for_its_signatures(rules: Any, passes: bool):
    keystone = Keystone()
    if rules is not None:
        named = [dict(zip(("service", "method", "path"), one, strict=True)) for one in rules]
        keystone.body = {**keystone.body, "application_credential": {"access_rules": named}}
    if passes:
        assert judged(V2, keystone).user_id == "u"
    else:
        assert refusal(V2, keystone) == "AccessDenied"


def test_a_signature_goes_before_a_token():
    assert judged(V2, x_auth_user="u", x_auth_token="good").user_id == "u"


def test_a_signature_without_a_key_is_refused_before_keystone_is_asked():
    keystone = Keystone()
    assert refusal({"Signature": "s"}, keystone) == "MissingAuthenticationToken"
    assert keystone.asked == []


def test_what_version_4_does_not_cover_is_refused():
    keystone = Keystone()
    found = refusal({"Action": "DeleteStack"}, keystone, method="POST", authorization=HEADER)
    assert (found, keystone.asked) == ("IncompleteSignature", [])


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (CloudFault("identity", 401, "", "EC2 access key not found."), "InvalidClientTokenId"),
        (CloudFault("identity", 404, "", "Could not find credential"), "InvalidClientTokenId"),
        (CloudFault("identity", 401, "", "EC2 signature not supplied."), "SignatureDoesNotMatch"),
        (CloudFault("identity", 401, "", "requires authentication"), "AccessDenied"),
        (CloudFault("identity", 403, "", "no"), "AccessDenied"),
        (CloudFault("identity", 500, "", "unexpected format"), "AccessDenied"),
        (CloudFault("identity", 503, "", "busy"), "ServiceUnavailable"),
        (NoAnswer("identity", "gone"), "ServiceUnavailable"),
    ],
)
def test_each_refusal_of_keystone_has_its_code(fault, code):
    assert refusal(V2, Keystone(fault)) == code


def test_a_token_without_a_project_is_nobodys():
    assert refusal(V2, Keystone(body={**TOKEN, "project": None})) == "AccessDenied"


def test_of_several_clouds_the_first_that_knows_the_signer_decides():
    unknown = Keystone(CloudFault("identity", 401, "", "EC2 access key not found."))
    down = Keystone(NoAnswer("identity", "gone"))
    first, last = Keystone(), Keystone()
    assert judged(V2, down, unknown, first, last).auth_url == "http://2"
    assert last.asked == []
    assert refusal(V2, down, unknown) == "InvalidClientTokenId"
    assert refusal(V2, unknown, down) == "ServiceUnavailable"


def test_each_request_is_judged_anew():
    keystone = Keystone()
    judged(V2, keystone)
    judged(V2, keystone)
    assert len(keystone.asked) == 2


GUEST = {**TOKEN, "roles": [{"name": "heat_stack_user"}]}
POLL = {
    "Action": "DescribeStackResource", "StackName": "s", "LogicalResourceId": "server",
    "AWSAccessKeyId": "key", "SignatureVersion": "2", "SignatureMethod": "HmacSHA256",
}  # fmt: skip


class Polled:
    """A gate with the polls of one guest, whose secret Hearth knows."""

    def __init__(self, *, body: Any = GUEST, secret: str | None = "secret", kept_s: float = 300):
        self.keystone = Keystone(body=body)
        self.secret = secret
        identity = KeystoneChecker(self.keystone, "http://main")
        self.keys = AcceptedKeys(self.known, kept_s)
        self.gate = Gate((identity,), Tokens(), "http://main", self.keys)

    async def known(self, caller: Caller, params: Any, access: str) -> str | None:
        assert (caller.user_id, access) == ("u", "key")
        return self.secret

    def poll(self, *, secret: str = "secret", host: str = "here:1", **params: str) -> int:
        """Send a poll; return how many times Keystone has been asked so far."""
        scope = {
            "type": "http", "method": "GET", "path": "/v1/", "raw_path": b"/v1/",
            "headers": [(b"host", b"here:1")],
        }  # fmt: skip
        sent = {**POLL, **params}
        sent["Signature"] = signature("GET", f"http://{host}/v1/", sent, secret)
        asked = RequestParts(sent, sent, b"")
        self.caller = asyncio.run(self.gate.caller(Request(scope), asked))
        assert self.caller.user_id == "u"
        return len(self.keystone.asked)


def test_keystone_is_asked_once_about_a_server_that_polls() -> None:
    polled = Polled()
    assert [polled.poll() for _ in range(3)] == [1, 1, 1]
    assert polled.poll(host="here") == 1  # a client that signs without the port
    assert polled.poll(Timestamp=at(-14)) == 1


@pytest.mark.parametrize(
    "altered",
    [
        {"secret": "another"},
        {"host": "elsewhere:1"},
        {"Action": "DescribeStacks"},
        {"SignatureMethod": "HmacSHA1"},
        {"SignatureVersion": "1"},
        {"Timestamp": "yesterday"},
    ],
    ids=str,
)
def test_keystone_decides_about_all_that_is_not_proved_here(altered: dict[str, str]) -> None:
    polled = Polled()
    polled.poll()
    assert polled.poll(**altered) == 2


def test_a_poll_whose_time_is_over_is_left_to_keystone() -> None:
    polled = Polled()
    polled.poll()
    assert polled.poll(Timestamp=at(-16)) == 2


@pytest.mark.parametrize("more", [{"body": TOKEN}, {"secret": None}, {"kept_s": 0}], ids=str)
def test_only_keys_that_hearth_created_are_remembered(more: dict[str, Any]) -> None:
    polled = Polled(**more)
    assert [polled.poll(), polled.poll()] == [1, 2]


def test_an_accepted_key_is_forgotten_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    polled = Polled()
    polled.poll()
    now = time.time()
    monkeypatch.setattr("hearth.api.cfn.accepted_keys.time.time", lambda: now + 301)
    assert polled.poll() == 2


def test_a_changed_parameter_is_not_covered_by_the_signature() -> None:
    polled = Polled()
    polled.poll()
    sent = {**POLL, "Signature": signature("GET", "http://here:1/v1/", POLL, "secret")}
    credentials = {
        "access": "key", "verb": "GET", "host": "here:1", "path": "/v1/",
        "signature": sent["Signature"],
    }  # fmt: skip
    keys = polled.keys
    assert keys.caller({**credentials, "params": POLL}) is not None
    assert keys.caller({**credentials, "params": {**POLL, "LogicalResourceId": "x"}}) is None


def at(minutes: float) -> str:
    """Return a time as clients write it, so many minutes from now."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60 * minutes))
