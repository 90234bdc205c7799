"""Refusals in the words of every service."""

import json
import os
from pathlib import Path

import pytest

from hearth.cloud.fault import CloudFault, NoAnswer, fault_of

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
    ("busy", "Conflict"),
]


@pytest.mark.parametrize(("body", "kind"), SHAPES)
def test_every_service_is_understood(body, kind):
    fault = fault_of("network", 409, {}, body)
    assert (fault.type, fault.message) == (kind, "busy")


def test_a_page_of_html_and_an_empty_answer_are_named_by_their_status():
    assert fault_of("image", 404, {}, "<html>nothing here</html>").message == "Not Found"
    assert fault_of("identity", 404, {}, None).message == "Not Found"


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
