"""A user whose only role is reader: reads everywhere, writes where the service knows no reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from hearth_devcloud.cloud import SERVICES
from hearth_devcloud.testing import Login, TestCloud

CLIENT = {"Client-ID": "11111111-1111-4111-8111-111111111111"}


@dataclass(frozen=True)
class Row:
    """A read and a write of a service, and the answer to the write."""

    read: str
    write: tuple[str, str, Any]
    answer: Any
    status: int = 403
    read_status: int = 200


POLICY = "Policy doesn't allow this to be performed."
ROWS = {
    "alarming": Row(
        "/v2/alarms",
        ("POST", "/v2/alarms", {"name": "a", "type": "event", "event_rule": {}}),
        {
            "error_message": {
                "debuginfo": None,
                "faultcode": "Client",
                "faultstring": "RBAC Authorization Failed",
            }
        },
    ),
    "application-container": Row(
        "/v1/containers", ("POST", "/v1/containers", {"image": "cirros"}), None, status=202
    ),
    "baremetal": Row("/v1/nodes", ("POST", "/v1/nodes", {}), None, read_status=403),
    "compute": Row(
        "/v2.1/servers",
        ("POST", "/v2.1/servers", {"server": {}}),
        {"forbidden": {"code": 403, "message": POLICY}},
    ),
    "database": Row(
        "/v1.0/PROJECT/instances",
        ("POST", "/v1.0/PROJECT/instances", {"instance": {}}),
        None,
        status=400,  # the body is checked
    ),
    "dns": Row(
        "/v2/zones",
        ("POST", "/v2/zones", {"name": "example.com.", "email": "a@example.com"}),
        {"code": 403, "type": "forbidden", "message": "The action is disallowed by policy"},
    ),
    "identity": Row(
        "/v3/auth/projects",
        ("POST", "/v3/projects", {"project": {"name": "x"}}),
        {
            "error": {
                "code": 403,
                "title": "Forbidden",
                "message": "You are not authorized to perform the requested action.",
            }
        },
    ),
    "image": Row(
        "/v2/images",
        ("POST", "/v2/images", {"name": "x"}),
        {
            "code": "403 Forbidden",
            "title": "Forbidden",
            "message": "You are not authorized to complete this action.",
        },
    ),
    "key-manager": Row(
        "/v1/secrets",
        ("POST", "/v1/secrets", {"name": "x"}),
        {
            "code": 403,
            "title": "Forbidden",
            "description": "Secret attempt not allowed - please review your user/project "
            "privileges",
        },
    ),
    "load-balancer": Row(
        "/v2/lbaas/loadbalancers",
        ("POST", "/v2/lbaas/loadbalancers", {"loadbalancer": {}}),
        {
            "faultcode": "Client",
            "debuginfo": None,
            "faultstring": "Policy does not allow this request to be performed.",
        },
    ),
    "messaging": Row("/v2/queues", ("PUT", "/v2/queues/q", {}), None, status=201),
    "network": Row(
        "/v2.0/networks",
        ("POST", "/v2.0/networks", {"network": {"name": "n"}}),
        {
            "NeutronError": {
                "type": "PolicyNotAuthorized",
                "message": "rule:create_network is disallowed by policy",
                "detail": "",
            }
        },
    ),
    "object-store": Row(
        "/v1/AUTH_PROJECT",
        ("PUT", "/v1/AUTH_PROJECT/c", None),
        "<html><h1>Forbidden</h1></html>",
    ),
    "placement": Row(
        "/usages?project_id=PROJECT", ("PUT", "/resource_classes/X", None), None, status=405
    ),
    "reservation": Row(
        "/v1/leases",
        ("POST", "/v1/leases", {"name": "x"}),
        {
            "error_code": 403,
            "error_name": 403,
            "error_message": "Policy doesn't allow blazar:leases:post to be performed",
        },
    ),
    "shared-file-system": Row(
        "/v2/shares",
        ("POST", "/v2/shares", {"share": {}}),
        {
            "forbidden": {
                "code": 403,
                "message": "Policy doesn't allow this action to be performed.",
            }
        },
    ),
    "volume": Row(
        "/v3/PROJECT/volumes",
        ("POST", "/v3/PROJECT/volumes", {"volume": {"size": 1}}),
        {"forbidden": {"code": 403, "message": POLICY}},
    ),
    "workflow": Row(
        "/v2/workflows",
        ("POST", "/v2/workflows", None),
        None,
        status=415,  # the body is checked
    ),
}
HEADERS = {
    "OpenStack-API-Version": "placement 1.9, container 1.40",
    "Accept": "application/json",
    **CLIENT,
}


class Reader:
    """Calls of a user, mostly one who only reads."""

    def __init__(self, cloud: TestCloud, login: Login) -> None:
        self.url, self.project = cloud.url, login.project_id
        domain = {"id": "default"}
        user = {"name": login.username, "domain": domain, "password": login.password}
        auth = {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": login.project_name, "domain": domain}},
        }
        address = f"{login.auth_url}/auth/tokens"
        token = requests.post(address, json={"auth": auth}, timeout=10)
        self.headers = {"X-Auth-Token": token.headers["X-Subject-Token"], **HEADERS}

    def __call__(self, method: str, path: str, body: Any = None) -> requests.Response:
        address = self.url + path.replace("PROJECT", self.project)
        return requests.request(method, address, json=body, headers=self.headers, timeout=10)


@pytest.fixture(scope="module")
def cloud() -> Iterator[TestCloud]:
    with TestCloud() as cloud:
        yield cloud


@pytest.fixture(scope="module")
def reader(cloud: TestCloud) -> Reader:
    return Reader(cloud, cloud.project("library", "reader"))


@pytest.fixture(scope="module")
def member(cloud: TestCloud) -> Reader:
    return Reader(cloud, cloud.project("workshop"))


def test_each_service_has_a_row() -> None:
    assert sorted(ROWS) == sorted(SERVICES)
    without = {name for name, service in SERVICES.items() if service.refuse_reader is None}
    by_themselves = {"identity", "baremetal", "object-store"}  # their own rules refuse
    assert {name for name, row in ROWS.items() if row.status != 403} == without - by_themselves


@pytest.mark.parametrize("service", sorted(ROWS))
def test_a_reader_reads_and_does_not_write(reader: Reader, service: str) -> None:
    row = ROWS[service]
    read = reader("GET", f"/{service}{row.read}")
    assert read.status_code == row.read_status, read.text
    method, path, body = row.write
    written = reader(method, f"/{service}{path}", body)
    assert written.status_code == row.status, written.text
    match row.answer:
        case dict():
            shown = written.json()
            shown.pop("request_id", None)
            assert shown == row.answer
        case str():
            assert written.text == row.answer


@pytest.mark.parametrize(
    ("method", "path", "policy"),
    [
        ("POST", "security-groups", "create_security_group"),
        ("POST", "qos/policies", "create_policy"),
        ("PUT", "ports/x", "update_port"),
        ("DELETE", "ports/x", "delete_port"),
        ("PUT", "routers/x/add_router_interface", "add_router_interface"),
    ],
)
def test_neutron_names_the_policy(reader: Reader, method: str, path: str, policy: str) -> None:
    refused = reader(method, f"/network/v2.0/{path}", {})
    message = f"rule:{policy} is disallowed by policy"
    assert (refused.status_code, refused.json()["NeutronError"]["message"]) == (403, message)


def test_a_reader_has_key_pairs_and_credentials(reader: Reader) -> None:
    made = reader("POST", "/compute/v2.1/os-keypairs", {"keypair": {"name": "mine"}})
    assert made.status_code == 200
    user = made.json()["keypair"]["user_id"]
    path = f"/identity/v3/users/{user}/application_credentials"
    body = {"application_credential": {"name": "mine"}}
    assert reader("POST", path, body).status_code == 201


def test_a_list_in_the_form_of_an_action_is_a_read(reader: Reader) -> None:
    answer = reader("POST", "/shared-file-system/v2/shares/x/action", {"os-access_list": None})
    assert answer.status_code == 404


def test_an_acl_lets_a_reader_write(reader: Reader, member: Reader) -> None:
    path = f"/object-store/v1/AUTH_{member.project}/box"
    assert member("PUT", path).status_code == 201
    assert reader("PUT", f"{path}/o").status_code == 403
    acl = {**member.headers, "X-Container-Write": f"{reader.project}:*"}
    requests.post(member.url + path, headers=acl, timeout=10)
    assert reader("PUT", f"{path}/o").status_code == 201


def test_a_member_writes(member: Reader) -> None:
    body = {"network": {"name": "n"}}
    assert member("POST", "/network/v2.0/networks", body).status_code == 201
