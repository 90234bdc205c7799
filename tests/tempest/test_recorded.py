"""What counts as passed, and what the lists may say."""

import configparser
from pathlib import Path

import pytest

from tests.conftest import lacking
from tests.tempest.recorded import (
    EXCEPTIONS_MAX,
    Outcome,
    WrongList,
    compared,
    exceptions,
    original_outcomes,
    outcome,
)
from tests.tempest.settings import cluster_conf, tempest_conf
from tests.tempest.suites import SUITES, Suite

HERE = Path(__file__).resolve().parent
THEIRS = HERE.parents[2] / "shared" / "facts" / "tempest_original.txt"
ORIGINAL = {
    "a": Outcome("pass"),
    "b": Outcome("pass"),
    "c": Outcome("skip", "no network"),
}
TRACE = """Traceback (most recent call last):

  File "/x/test_preview.py", line 7, in test_it
    self.assertEqual(1, 2)
    ~~~~~~~~~~~~~~~~^^^^^^

testtools.matchers.MismatchError: !=:
reference = 1
actual    = 2
"""


def test_the_lists_in_the_repository_can_be_read():
    original = original_outcomes((HERE / "original.txt").read_text())
    results = [one.result for one in original.values()]
    assert {name: results.count(name) for name in results} == {"pass": 89, "fail": 4, "skip": 46}
    exceptions((HERE / "exceptions.txt").read_text(), original)


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_the_recorded_result_has_nothing_wrong_and_no_needless_exception(suite: Suite):
    original = suite.original(())
    here = {test: Outcome(*told) for test, told in suite.result().items()}
    rows = compared(original, here, suite.exceptions(original))
    assert [row.test for row in rows if row.wrong or row.needless] == []
    assert all(row.test.startswith(f"{suite.package}.") for row in rows)
    assert len(rows) == {"heat_tempest_plugin": 139, "magnum_tempest_plugin": 60}[suite.package]


def test_tests_that_would_delete_the_users_of_others_run_alone():
    found = SUITES["clusters"].result()
    together, alone = SUITES["clusters"].parted(found)
    assert len(alone) == 7
    assert [test for test in alone if ".rbac." in test] == []
    assert {*together, *alone} == set(found)
    assert SUITES["heat"].parted(found) == (list(found), [])


def test_the_copy_is_that_of_the_shared_folder():
    if not THEIRS.is_file():
        lacking("the shared folder beside the repository")
    assert (HERE / "original.txt").read_bytes() == THEIRS.read_bytes()


def test_what_the_original_passes_must_pass():
    here = {"a": Outcome("pass"), "b": Outcome("fail", "no"), "c": Outcome("fail")}
    rows = {row.test: row for row in compared(ORIGINAL, here, {})}
    assert [test for test, row in rows.items() if row.wrong] == ["b"]
    assert not rows["c"].required


@pytest.mark.parametrize("result", ["skip", "fail"])
def test_a_skip_is_as_wrong_as_a_failure_unless_it_is_named(result):
    here = {"a": Outcome("pass"), "b": Outcome(result, "not set up")}
    assert any(row.wrong for row in compared(ORIGINAL, here, {}))
    assert not any(row.wrong for row in compared(ORIGINAL, here, {"b": "because"}))


def test_a_test_that_was_not_reported_is_wrong_unless_it_was_not_asked_for():
    here = {"a": Outcome("pass")}
    assert [row.test for row in compared(ORIGINAL, here, {}) if row.wrong] == ["b"]
    assert not any(row.wrong for row in compared(ORIGINAL, here, {}, ["a"]))


def test_a_test_that_is_not_recorded_is_told_and_not_required():
    (row,) = compared(ORIGINAL, {"new": Outcome("fail")}, {}, ["new"])
    assert (row.original.result, row.wrong) == ("unknown", False)


def test_an_exception_that_passes_is_needless():
    here = {"a": Outcome("pass"), "b": Outcome("fail")}
    rows = compared(ORIGINAL, here, {"a": "so", "b": "so"})
    assert [row.needless for row in rows] == [True, False, False]


@pytest.mark.parametrize(
    "line", ["a\t", "a", "c\tthe original does not pass it", "x\tunknown", "a\tone\na\ttwice"]
)
def test_an_exception_needs_a_reason_and_a_test_that_the_original_passes(line):
    with pytest.raises(WrongList):
        exceptions(line, ORIGINAL)


def test_there_may_be_few_exceptions():
    original = {f"t{n}": Outcome("pass") for n in range(EXCEPTIONS_MAX + 1)}
    lines = [f"{test}\tbecause" for test in original]
    assert len(exceptions("\n".join(lines[1:]), original)) == EXCEPTIONS_MAX
    with pytest.raises(WrongList, match="at most"):
        exceptions("\n".join(lines), original)


@pytest.mark.parametrize("line", ["ok\ta", "pass\t", "pass\ta\npass\ta"])
def test_a_line_of_the_original_that_says_nothing_is_refused(line):
    with pytest.raises(WrongList, match="line"):
        original_outcomes(line)


def test_a_failure_is_told_in_one_line_without_where_it_was_raised():
    told = "testtools.matchers.MismatchError: !=: reference = 1 actual    = 2"
    assert outcome("fail", {"pythonlogging": "x", "traceback": TRACE}, 1.5) == Outcome(
        "fail", told, 1.5
    )
    assert outcome("skip", {"reason": "not set"}, 0) == Outcome("skip", "not set")
    assert outcome("success", {}, 0) == Outcome("pass")


def test_a_test_that_hangs_failed():
    assert outcome("inprogress", {}, 0) == Outcome("fail", "inprogress")


def test_the_settings_are_those_of_the_cloud():
    conf = configparser.ConfigParser(interpolation=None)
    conf.read_string(tempest_conf("http://127.0.0.1:1/identity", Path("/tmp/x")))
    assert conf["heat_plugin"]["auth_url"] == conf["identity"]["uri_v3"]
    assert conf["service_available"]["neutron"] == "true"
    assert conf["service_available"]["gnocchi"] == "false"


def test_the_tests_of_roles_are_not_left_out():
    conf = configparser.ConfigParser(interpolation=None)
    conf.read_string(cluster_conf("http://127.0.0.1:1/identity", Path("/tmp/x")))
    assert conf["service_available"]["magnum"] == "true"
    assert conf["enforce_scope"]["magnum"] == "true"
    assert conf["auth"]["use_dynamic_credentials"] == "true"
