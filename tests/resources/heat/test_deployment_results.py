"""What signals of deployments come to."""

import pytest

from hearth.model.state import Status
from hearth.resources.heat.deployment_results import TOO_DEEP, results_of

NOTHING = {"deploy_stdout": None, "deploy_stderr": None, "deploy_status_code": None}
OUTPUTS = [
    {"name": "result", "type": "String", "error_output": False},
    {"name": "trouble", "type": "String", "error_output": True},
]


def test_outputs_are_kept_and_what_nobody_declared_is_not():
    sent = {"result": {"a": 1}, "other": 1, "deploy_stdout": "out", "deploy_status_code": 0}
    found = results_of(sent, OUTPUTS)
    assert (found.status, found.reason) == (Status.COMPLETE, "Outputs received")
    assert found.output_values == {
        **NOTHING, "result": {"a": 1}, "deploy_stdout": "out", "deploy_status_code": 0,
    }  # fmt: skip
    assert found.event_text("d1") == "deployment d1 succeeded"


@pytest.mark.parametrize("sent", [None, {}, {"deploy_status_code": ""}])
def test_a_signal_that_says_nothing_is_a_success(sent):
    found = results_of(sent, OUTPUTS)
    assert (found.status, found.reason) == (Status.COMPLETE, "Outputs received")
    assert found.output_values == {**NOTHING, **(sent or {})}


@pytest.mark.parametrize("code", [0, "0", 0.0, None])
def test_these_codes_are_no_failure(code):
    assert results_of({"deploy_status_code": code}, []).status is Status.COMPLETE


@pytest.mark.parametrize("code", [1, "1", -1, "many", [0], 10**400])
def test_these_codes_are(code):
    found = results_of({"deploy_status_code": code}, [])
    assert found.status is Status.FAILED
    assert found.reason == (
        f"deploy_status_code : Deployment exited with non-zero status code: {code}"
    )
    assert found.output_values["deploy_status_code"] == code
    assert found.event_text("d1") == f"deployment d1 failed ({code})"


def test_a_value_of_an_error_output_is_a_failure_even_if_it_is_empty():
    found = results_of({"trouble": ""}, OUTPUTS)
    assert (found.status, found.reason) == (Status.FAILED, "trouble : ")
    assert found.event_text("d1") == "deployment d1 failed"
    assert results_of({"trouble": {"a": 1}}, OUTPUTS).reason == 'trouble : {"a": 1}'


def test_all_reasons_are_told():
    found = results_of({"deploy_status_code": 2, "trouble": "no disk", "result": 1}, OUTPUTS)
    assert found.reason == (
        "deploy_status_code : Deployment exited with non-zero status code: 2, trouble : no disk"
    )
    assert found.output_values == {
        **NOTHING, "deploy_status_code": 2, "trouble": "no disk", "result": 1
    }  # fmt: skip


def test_what_cannot_be_kept_is_made_so():
    deep = 1
    for _ in range(200):
        deep = [deep]
    found = results_of({"deploy_stdout": "a\ud800b", "result": deep}, OUTPUTS)
    assert found.output_values["deploy_stdout"] == "a?b"
    assert found.output_values["result"] == TOO_DEEP
