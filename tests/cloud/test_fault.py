"""Refusals in the words of every service."""

import json
import os
from pathlib import Path

import pytest

from hearth.cloud.fault import (
    CloudFault,
    Misdirected,
    NoAnswer,
    NotFound,
    fault_of,
    of_a_read,
    of_a_write,
    retry_after_s,
)

SHAPES = [
    ({"NeutronError": {"type": "NetworkInUse", "message": "busy", "detail": ""}}, "NetworkInUse"),
    ({"badRequest": {"code": 400, "message": "busy"}}, "badRequest"),
    ({"error": {"code": 401, "title": "Unauthorized", "message": "busy"}}, "Unauthorized"),
    ({"message": "busy", "code": "409 Conflict", "title": "Conflict"}, "Conflict"),
    ({"code": 404, "title": "Not Found", "description": "busy"}, "Not Found"),
    ({"code": 409, "type": "duplicate_zone", "message": "busy"}, "duplicate_zone"),
    ({"faultcode": "Client", "faultstring": "busy", "debuginfo": None}, "Conflict"),
    ({"error_message": {"faultcode": "Client", "faultstring": "busy"}}, "Conflict"),
    ({"error_code": 409, "error_message": "busy", "error_name": 409}, "Conflict"),
]


@pytest.mark.parametrize(("body", "kind"), SHAPES)
def test_every_service_is_understood(body, kind):
    fault = fault_of("network", 409, {}, body)
    assert (fault.type, fault.message) == (kind, "busy")


NUMBERED = {"x-openstack-request-id": "req-1"}
ABOUT_AN_OBJECT = [
    ({}, {"itemNotFound": {"code": 404, "message": "Volume 1 could not be found."}}),
    ({}, {"itemNotFound": {"code": 404, "message": "The resource could not be found."}}),
    ({}, {"NeutronError": {"type": "NetworkNotFound", "message": "Network 1 could not be found"}}),
    ({}, {"error": {"code": 404, "title": "Not Found", "message": "Could not find user: 1."}}),
    ({}, {"message": "No image found with ID 1", "code": "404 Not Found", "title": "Not Found"}),
    ({}, {"code": 404, "title": "Not Found", "description": "Secret not found."}),
    ({}, {"code": 404, "type": "zone_not_found", "message": "Could not find Zone"}),
    ({}, {"faultcode": "Client", "faultstring": "Load Balancer 1 not found."}),
    ({}, {"errors": [{"title": "Not Found", "detail": "Cluster 1 could not be found"}]}),
    ({"x-trans-id": "tx1"}, "<html><h1>Not Found</h1></html>"),
    (NUMBERED, None),  # the answer to a HEAD
    (NUMBERED, {"message": "busy"}),
]
OF_A_ROUTER = [
    "default backend - 404",
    "404 page not found\n",
    "<html><body>404 Not Found<hr>nginx</body></html>",
    None,
    [],
    {},
    {"message": "no Route matched with those values"},
    {"error_msg": "404 Route Not Found"},
    {"timestamp": "2026-01-01", "status": 404, "error": "Not Found", "path": "/volume"},
]
WITHOUT_A_PATH = [
    {"NeutronError": {"type": "HTTPNotFound", "message": "The resource could not be found."}},
    {"message": "The resource could not be found.<br /><br />\n", "code": "404 Not Found",
     "title": "Not Found"},
    {"faultcode": "Client", "faultstring": "The resource could not be found."},
    {"error": {"code": 404, "title": "Not Found",
               "message": "The requested URL was not found on the server. If you entered"}},
]  # fmt: skip


@pytest.mark.parametrize(("headers", "body"), ABOUT_AN_OBJECT)
def test_an_answer_of_the_service_about_the_object_says_that_it_is_gone(headers, body):
    assert isinstance(fault_of("block-storage", 404, headers, body), NotFound)


@pytest.mark.parametrize("status", [400, 403, 404, 405, 408, 409, 410, 413, 418, 451])
@pytest.mark.parametrize("body", OF_A_ROUTER)
def test_the_page_of_a_router_counts_as_no_answer(body, status):
    fault = fault_of("block-storage", status, {"x-request-id": "1", "retry-after": "1"}, body)
    assert isinstance(fault, Misdirected)
    assert fault.passing
    assert fault in (of_a_read(fault), of_a_write(fault))
    assert not fault.not_carried_out
    assert fault.status == 503  # so that nobody takes it for the answer of the service
    assert fault.message.startswith(f"HTTP {status}: the answer did not come from the service")
    assert str(fault) == f"block-storage: {fault.message}"


@pytest.mark.parametrize("status", [400, 403, 409, 413])
def test_a_refusal_of_a_service_without_known_words_remains_one(status):
    for body in (None, "busy", "<html>busy</html>", {"message": "busy"}):
        fault = fault_of("object-store", status, {"x-trans-id": "tx1"}, body)
        assert fault.status == status
        assert not isinstance(fault, NoAnswer)
        assert not fault.passing


def test_a_service_that_waits_in_vain_for_a_call_did_not_refuse_it():
    fault = fault_of("object-store", 408, {"x-trans-id": "tx1"}, "too slow")
    assert isinstance(fault, Misdirected)
    assert fault.message == "HTTP 408: too slow"


def test_a_redirect_is_no_answer_and_names_its_target_without_secrets():
    for status in (300, 301, 302, 303, 304, 307, 308):
        headers = {"location": "https://login.example/?state=secret#secret", **NUMBERED}
        fault = fault_of("compute", status, headers, None)
        assert isinstance(fault, Misdirected)
        assert fault.message == f"HTTP {status}: the answer leads to https://login.example/"
        assert "login" not in fault_of("compute", status, headers, None, brief=True).message
    assert fault_of("image", 300, {}, {"versions": []}).message.endswith("leads to another address")


@pytest.mark.parametrize("body", WITHOUT_A_PATH)
def test_a_path_that_the_service_does_not_have_says_nothing_about_the_object(body):
    fault = fault_of("network", 404, NUMBERED, body)
    assert not isinstance(fault, NotFound | NoAnswer)
    assert not fault.passing


@pytest.mark.parametrize("status", [500, 520, 529])
def test_a_read_is_repeated_after_any_trouble_of_the_service(status):
    fault = fault_of("compute", status, {}, None)
    assert of_a_read(fault).passing
    written = of_a_write(fault)
    assert isinstance(written, NoAnswer)
    assert written.again is (status != 500)


@pytest.mark.parametrize(
    ("text", "pause_s"),
    [("2", 2), ("0", 0.5), ("-5", 0.5), ("999999999", 30), ("inf", 30), ("1e400", 30),
     ("nan", None), ("soon", None), ("", None), ("Fri, 01 Jan 2021 00:00:00 GMT", 0.5),
     ("Fri, 01 Jan 2100 00:00:00 GMT", 30), ("Fri, 99 Jan 2100 00:00:00 GMT", None)],
)  # fmt: skip
def test_a_pause_that_a_service_asks_for_has_bounds(text, pause_s):
    assert retry_after_s({"retry-after": text}) == pause_s
    assert fault_of("compute", 429, {"retry-after": text}, None).retry_after == pause_s


def test_a_used_up_quota_is_no_conflict():
    body = {"NeutronError": {"type": "OverQuota", "message": "no more", "detail": ""}}
    fault = fault_of("network", 409, {}, body)
    assert fault.over_limit
    assert not fault.conflict
    volumes = {"overLimit": {"code": 413, "message": "no more", "retryAfter": "0"}}
    assert fault_of("block-storage", 413, {"retry-after": "0"}, volumes).over_limit


def test_only_what_surely_had_no_effect_may_be_sent_again():
    assert CloudFault("compute", 0, "ConnectFailure", "refused").not_carried_out
    assert fault_of("compute", 429, {}, None).not_carried_out
    assert fault_of("compute", 503, {"retry-after": "2"}, None).not_carried_out
    assert not fault_of("compute", 503, {}, None).not_carried_out
    assert not NoAnswer("compute", "cut").not_carried_out
    assert NoAnswer("compute", "cut").passing


def test_recorded_refusals_keep_their_type_and_message():
    facts = Path(__file__).parents[3] / "shared" / "facts" / "cloud"
    if not facts.is_dir():
        assert not os.environ.get("CI"), "the recorded answers are missing"
        pytest.skip("no recorded answers beside the repository")
    seen = 0
    for file in sorted(facts.glob("*.json")):
        for exchange in json.loads(file.read_text())["exchanges"]:
            answer = exchange["response"]
            if answer["status"] < 400 or not isinstance(answer["body"], dict):
                continue
            fault = fault_of(file.stem, answer["status"], answer["headers"], answer["body"])
            assert fault.type
            assert "<text>" in fault.message, (file.stem, exchange["case"], answer["body"])
            seen += 1
    assert seen > 100
