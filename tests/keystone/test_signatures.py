"""Requests that are signed by a key pair, judged by either Keystone."""

from datetime import UTC, datetime, timedelta

import pytest
import requests

from tests.clients.signing import Signer, stamp
from tests.keystone.identity import Identity, Person
from tests.keystone.site import Site

pytestmark = pytest.mark.slow

LIST = {"Action": "ListStacks", "Version": "2010-05-15"}


@pytest.fixture(scope="module")
def ann(identity: Identity) -> Person:
    return identity.person("ann", "first", "member")


@pytest.fixture(scope="module")
def pair(identity: Identity, ann: Person) -> dict[str, str]:
    token = identity.log_in(ann.name, project=ann.project)
    path = f"/users/{ann.user_id}/credentials/OS-EC2"
    answer = identity.call("POST", path, {"tenant_id": ann.project_id}, token=token)
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["credential"])


@pytest.fixture(scope="module")
def signer(site: Site, pair: dict[str, str]) -> Signer:
    return Signer(site.cfn_url, pair["access"], pair["secret"])


def by_4(signer: Signer, verb: str, date: str | None = None) -> requests.Response:
    """A request with version 4 in its headers."""
    if verb == "GET":
        headers = signer.version_4_header("GET", LIST, date=date)
        return requests.get(signer.url, params=LIST, headers=headers, timeout=20)
    body = "&".join(f"{name}={value}" for name, value in LIST.items()).encode()
    headers = signer.version_4_header("POST", LIST, body, date)
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    return requests.post(signer.url, data=body, headers=headers, timeout=20)


def date_4(before_s: float = 0) -> str:
    return (datetime.now(UTC) - timedelta(seconds=before_s)).strftime("%Y%m%dT%H%M%SZ")


def refused(answer: requests.Response, status: int, code: str) -> None:
    assert (answer.status_code, f"<Code>{code}</Code>" in answer.text) == (status, True), (
        answer.status_code,
        answer.text,
    )


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_good_signature_is_let_in(signer: Signer, verb: str):
    assert signer.ask("ListStacks", verb=verb).status_code == 200
    assert by_4(signer, verb).status_code == 200


def test_one_of_version_1_or_in_the_query_too(signer: Signer):
    timed = {**LIST, "Timestamp": stamp()}
    assert signer.send(signer.version_1(timed)).status_code == 200
    assert signer.send(signer.version_4_query(LIST)).status_code == 200


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_another_secret_or_another_request_is_refused(signer: Signer, verb: str):
    other = Signer(signer.url, signer.access, "x" * 32)
    refused(other.ask("ListStacks", verb=verb), 403, "AccessDenied")
    refused(by_4(other, verb), 403, "AccessDenied")
    changed = {**signer.version_2(verb, LIST), "Action": "DescribeStacks"}
    refused(signer.send(changed, verb), 403, "AccessDenied")


def test_a_key_that_nobody_has_is_told(signer: Signer):
    other = Signer(signer.url, "0" * 32, signer.secret)
    refused(other.ask("ListStacks"), 403, "InvalidClientTokenId")


def test_a_signature_ends_after_a_quarter_of_an_hour(signer: Signer):
    for age_s, good in ((870, True), (930, False), (-60, True)):
        old = signer.version_2("GET", {**LIST, "Timestamp": stamp(age_s)})
        answers = [signer.send(old), by_4(signer, "GET", date_4(age_s)),
                   signer.send(signer.version_4_query(LIST, date_4(age_s)))]  # fmt: skip
        for answer in answers:
            if good:
                assert answer.status_code == 200, (age_s, answer.text)
            else:
                refused(answer, 403, "AccessDenied")


def test_a_pair_that_was_deleted_or_whose_user_is_disabled_is_refused(
    site: Site, identity: Identity
):
    dora = identity.person("dora", "first", "member")
    token = identity.log_in(dora.name, project=dora.project)
    path = f"/users/{dora.user_id}/credentials/OS-EC2"
    pairs = [
        identity.call("POST", path, {"tenant_id": dora.project_id}, token=token).json()[
            "credential"
        ]
        for _ in range(2)
    ]
    first, second = (Signer(site.cfn_url, one["access"], one["secret"]) for one in pairs)
    assert first.ask("ListStacks").status_code == 200
    gone = identity.call("DELETE", f"{path}/{first.access}", token=token)
    assert gone.status_code == 204, gone.text
    refused(first.ask("ListStacks"), 403, "InvalidClientTokenId")
    assert second.ask("ListStacks").status_code == 200
    identity.call("PATCH", f"/users/{dora.user_id}", {"user": {"enabled": False}})
    refused(second.ask("ListStacks"), 403, "AccessDenied")


def test_keystone_is_asked_of_signatures_by_services_only(identity: Identity, ann: Person):
    asked = {"ec2Credentials": {"access": "0" * 32, "signature": "s", "host": "h", "verb": "GET",
                                "path": "/", "params": {}, "headers": {}}}  # fmt: skip
    member = identity.log_in(ann.name, project=ann.project)
    service = identity.log_in("heat", project="service")
    for token, status in (("x", 401), (member, 403), (service, 404)):
        answer = identity.call("POST", "/ec2tokens", asked, token=token)
        assert answer.status_code == status, answer.text
