"""Parameters: one set from query and form, lists by their numbers."""

import asyncio
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import FIELDS_MAX, FORM, RequestParts, members, read
from hearth.service.limits import RequestLimits

LIMIT = 100


def asked(query: str, body: bytes = b"", kind: str = FORM, *, form: bool = True) -> RequestParts:
    sent = [{"type": "http.request", "body": body[:3], "more_body": True},
            {"type": "http.request", "body": body[3:], "more_body": False}]  # fmt: skip

    async def receive() -> dict[str, object]:
        return sent.pop(0)

    services = SimpleNamespace(limits=RequestLimits(max_json_body_size=LIMIT))
    scope = {
        "type": "http",
        "method": "POST",
        "query_string": query.encode("latin-1"),
        "headers": [(b"content-type", kind.encode())],
        "app": SimpleNamespace(state=SimpleNamespace(services=services)),
    }
    return asyncio.run(read(Request(scope, receive), form=form))


def test_query_and_form_are_one_set_and_the_last_of_a_name_counts():
    found = asked("Action=A&StackName=one&StackName=two", b"StackName=three&X=")
    assert found.params == {"Action": "A", "StackName": "three", "X": ""}
    assert found.query == {"Action": "A", "StackName": "two"}


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
def test_a_body_of_another_kind_adds_nothing(kind):
    assert asked("A=1", b"B=2", kind).params == {"A": "1"}
    assert asked("A=1", b"B=2", kind).raw == b"B=2"


def test_a_form_where_none_is_taken_adds_nothing():
    assert asked("A=1", b"B=2", form=False).params == {"A": "1"}


@pytest.mark.parametrize(("query", "body"), [("A=%ff", b""), ("", b"A=%c3%28"), ("", b"A=\xff")])
def test_what_is_not_utf_8_is_refused(query, body):
    with pytest.raises(CfnError) as refused:
        asked(query, body)
    assert refused.value.code == "InvalidQueryParameter"


@pytest.mark.parametrize(
    ("query", "body", "kind"),
    [
        ("", b"A=" + b"x" * 3 * LIMIT, FORM),
        ("", b"x" * (LIMIT + 1), "application/json"),
        ("&".join("a" * (FIELDS_MAX + 1)), b"", FORM),
    ],
)
def test_what_is_too_large_is_refused(query, body, kind):
    with pytest.raises(CfnError) as refused:
        asked(query, body, kind)
    assert refused.value.code == "RequestLimitExceeded"


def test_members_come_in_the_order_of_their_numbers():
    params = {
        "Parameters.member.10.ParameterKey": "b",
        "Parameters.member.2.ParameterKey": "a",
        "Parameters.member.2.ParameterValue": "1",
        "ParametersX.member.1.ParameterKey": "c",
    }
    assert asked(urlencode(params)).params == params
    assert members(params, "Parameters") == [
        {"ParameterKey": "a", "ParameterValue": "1"},
        {"ParameterKey": "b"},
    ]


@pytest.mark.parametrize("key", ["x.ParameterKey", "1", "-1.a", "1234567.a", "²..a", "1."])
def test_a_member_without_number_or_field_is_refused(key):
    with pytest.raises(CfnError) as refused:
        members({f"Parameters.member.{key}": "v"}, "Parameters")
    assert refused.value.code == "InvalidParameterValue"
