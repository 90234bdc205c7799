"""Parameters: one set from query and form, lists by their numbers."""

import asyncio
from types import SimpleNamespace
from urllib.parse import parse_qsl, quote, quote_plus, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import Request

from hearth.api.cfn.faults import CfnError
from hearth.api.cfn.query import (
    FIELDS_MAX,
    FORM,
    RequestParts,
    _pairs,
    _poll,
    members,
    read,
)
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


SIGNED = "AWSAccessKeyId=key&Action=DescribeStackResource&Signature=x%2B&StackName="
VALUES = st.text(st.sampled_from("aZ09-_.~ :/+%&=é\0"), max_size=6)
RAW = st.text(st.sampled_from("aZ0-_.~%2Bb&&==+é;"), max_size=30)


def _scope(query: str, *headers: tuple[bytes, bytes]) -> Request:
    return Request(
        {"type": "http", "method": "GET", "query_string": query.encode(), "headers": headers}
    )


@given(VALUES, st.booleans())
def test_a_poll_is_read_as_any_request_and_signed_as_it_is_written(name: str, plus: bool) -> None:
    encoded = quote_plus(name) if plus else quote(name, safe="-_~")
    query = SIGNED + encoded
    poll = _poll(_scope(query), query.encode())
    assert (poll is None) == ("\0" in name or (plus and " " in name))
    if poll is not None:
        assert poll.params == _pairs(query.encode())
        covered = sorted(key for key in poll.params if key != "Signature")
        text = "&".join(f"{key}={quote(poll.params[key], safe='-_~')}" for key in covered)
        assert poll.canonical == text


@given(RAW)
@example("Action=Other")
def test_a_query_is_read_as_a_poll_or_not_at_all(text: str) -> None:
    query = SIGNED + text
    poll = _poll(_scope(query), query.encode())
    if poll is not None:
        assert poll.params == dict(parse_qsl(query, keep_blank_values=True, errors="strict"))


@pytest.mark.parametrize("name", [b"content-length", b"transfer-encoding"])
def test_a_request_with_a_body_is_no_poll(name: bytes) -> None:
    assert _poll(_scope(SIGNED), SIGNED.encode()) is not None
    assert _poll(_scope(SIGNED, (name, b"1")), SIGNED.encode()) is None
