"""One place has one problem and one notice at the most."""

from hearth.model.span import Span
from hearth.template.check.report import Report

HERE = Span("t", 3, 5, "resources.a")
NOWHERE = Span("t", 0, 0, "resources.a")


def test_the_first_problem_of_a_place_counts():
    report = Report()
    report.wrong(HERE, "cycle", "one")
    report.wrong(Span("t", 3, 5, "elsewhere"), "wrong-type", "two")
    report.notice(HERE, "deprecated", "three")
    report.notice(HERE, "deprecated", "four")
    assert [problem.text for problem in report.problems] == ["one", "three"]


def test_without_a_place_the_words_count():
    report = Report()
    for words in ("one", "two", "one"):
        report.wrong(NOWHERE, "cycle", words)
    assert [problem.text for problem in report.problems] == ["one", "two"]
