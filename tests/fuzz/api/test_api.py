"""The short form of `make fuzz-api`, and what it would notice."""

import random
from email.message import Message
from pathlib import Path

import pytest

from tests.fuzz.api.calls import APIS, every_call, request_of
from tests.fuzz.api.canaries import Canaries
from tests.fuzz.api.judge import ANSWER_S_MAX, Person, wrong_in_log, wrong_with
from tests.fuzz.api.mutate import mutated
from tests.fuzz.api.run import play, shown
from tests.fuzz.api.tenants import Tenant, prepare, serving
from tests.fuzz.api.wire import Answer, Sent
from tests.walk.credentials import calls

SECONDS = 8.0
MEMBER, READER = Person("one member", "one", secrets=True), Person("one reader", "one")
NOBODY, ADMIN = Person("nobody", None), Person("admin", None, listened=False)
ONE, TWO = (Canaries(name, random.Random(name)) for name in ("one", "two"))
TWO.made["the key"] = "a-key-of-two"


def answer(status: int, text: str, *, kind: str = "application/json", more: str = "") -> Answer:
    headers = Message()
    headers["Content-Type"] = kind
    headers["X-OpenStack-Request-ID"] = "req-x"
    if more:
        headers[more] = "x"
    return Answer(status, headers, text, 0.1)


def fault(person: Person, given: Answer) -> str:
    return wrong_with(person, Sent("GET", "/"), given, [ONE, TWO])[0]


ERROR = '{"error": {"message": "no"}}'


@pytest.mark.parametrize(
    ("person", "given", "what"),
    [
        (MEMBER, answer(500, ERROR), "status 500"),
        (MEMBER, answer(503, '{"error": {"message": "the database"}}'), "status 503"),
        (MEMBER, answer(200, f'["{TWO.plain()}"]'), "leak"),
        (MEMBER, answer(200, '["a-key-of-two"]'), "leak"),
        (READER, answer(200, f'["{ONE.secret()}"]'), "leak"),
        (NOBODY, answer(200, f'["{ONE.plain()}"]'), "leak"),
        (MEMBER, answer(200, "[]", more=TWO.plain()), "leak"),
        (MEMBER, answer(404, '{"error": {}}'), "error without a message"),
        (MEMBER, answer(404, ""), "error without a body"),
        (MEMBER, answer(200, "[NaN]"), "not application/json: ValueError"),
        (MEMBER, answer(400, "<a>\x01</a>", kind="application/xml"),
         "not application/xml: ParseError"),
        (MEMBER, answer(200, "[]", more="X-Evil"), "a header of the client"),
        (MEMBER, Answer(0, Message(), "reset", 0.1), "no answer"),
        (MEMBER, Answer(200, Message(), "[]", ANSWER_S_MAX + 1), "late"),
        (MEMBER, answer(503, '{"error": {"message": "1000 requests are in progress"}}'), ""),
        (MEMBER, answer(200, f'["{ONE.secret()}"]'), ""),
        (READER, answer(200, f'["{ONE.plain()}"]'), ""),
        (ADMIN, answer(200, f'["{ONE.secret()}"]'), ""),
        (MEMBER, answer(404, '{"errors": [{"detail": "no"}]}'), ""),
        (MEMBER, answer(400, "<E><Error><Code>x</Code><Message>y</Message></Error></E>",
                        kind="application/xml"), ""),
    ],
)  # fmt: skip
def test_an_answer_is_judged(person: Person, given: Answer, what: str):
    assert fault(person, given) == what


def test_a_traceback_and_a_word_are_found_in_a_log():
    lines = ["fine", "Traceback (most recent call last):", "  in x", f"INFO {ONE.secret()}"]
    assert len(wrong_in_log(lines, [ONE, TWO])) == 2
    assert wrong_in_log([*lines[:1], ONE.plain()], [ONE, TWO]) == []


def test_each_route_of_each_api_has_a_request():
    tenant = Tenant("one", ONE, kept={"tenant_id": "p", "signal_url": "http://x/cfn/v1/y?z=1"})
    tenant.kept |= dict.fromkeys(("cluster", "template", "federation", "config_id"), "c")
    tenant.kept |= dict.fromkeys(("stack_name", "stack_id", "resource_name", "deployment_id"), "s")
    tenant.spare = dict(tenant.kept)
    known = {(one.method, one.path, one.action) for one in every_call()}
    assert {(method, path, query.partition("=")[2]) for method, path, query in calls()} <= known
    assert {one.api for one in every_call()} == set(APIS)
    for call in every_call():
        for spare in (False, True):
            luck = random.Random(call.name)
            sent = request_of(call, tenant, ONE, spare=spare, luck=luck)
            assert "{" not in sent.path.partition("?")[0], call
            for _ in range(20):
                mutated(sent, luck, ["limit"], ["an-id"]).octets("host")


@pytest.mark.slow
def test_broken_requests_find_no_fault_and_no_word_of_others(tmp_path: Path):
    with serving(tmp_path, "sqlite") as server:
        report = play(prepare(server, 0, whole=False), SECONDS, seed=0)
    assert report.requests > 500
    for api in report.summary().values():
        assert api["asked"] == api["routes"]
        assert api["succeeded"] > 10
    assert (report.faults, report.wrong) == ({}, []), "\n".join(shown(report))


def test_a_traceback_in_the_log_is_told_to_its_end() -> None:
    stamp = "2026-11-29 08:00:00,000"
    traceback = ["Traceback (most recent call last):", *["  File"] * 60, "DataError: the end"]
    lines = [f"{stamp} INFO before", f"{stamp} ERROR fails", *traceback, f"{stamp} INFO after"]
    (found,) = wrong_in_log(lines, [])
    assert found.endswith("DataError: the end")
    assert found.startswith(lines[0])
