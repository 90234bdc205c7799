"""What the suite's tests came to: on the original, here, and where the two may differ.

`original.txt` holds a line per test: result, test, and for what was not passed a reason, apart by
tabs. `exceptions.txt` holds the tests that the original passes and that need not pass here: test
and reason. Lines that begin with `#` are comments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PASSED = "pass"
EXCEPTIONS_MAX = 10


@dataclass(frozen=True)
class Outcome:
    """How one test ended: pass, fail or skip; and why, unless it passed."""

    result: str
    reason: str = ""
    seconds: float = 0.0


NOT_RUN = Outcome("not run", "the suite did not report it")


RESULTS = {"success": PASSED, "xfail": PASSED, "skip": "skip"}
REASON_MAX = 400  # characters


def outcome(status: str, details: Mapping[str, str], seconds: float) -> Outcome:
    """How a test ended, of what its stream says; one that never ended failed."""
    result = RESULTS.get(status, "fail")
    reason = "" if result == PASSED else _reason(details) or status
    return Outcome(result, reason, seconds)


def _reason(details: Mapping[str, str]) -> str:
    """What was raised, in one line, or why the test was left out."""
    for name, text in details.items():
        if name == "reason" or name.startswith("traceback"):
            _, place, raised = text.rpartition('File "')
            lines = (line.strip() for line in raised.splitlines()[2 if place else 0 :])
            return " ".join(line for line in lines if line.strip("^~ "))[:REASON_MAX]
    return ""


class WrongList(Exception):
    """A list that cannot be read or says too much; the message tells where."""


def original_outcomes(text: str) -> dict[str, Outcome]:
    """{test: how it ended on the original}. Raises WrongList."""
    found: dict[str, Outcome] = {}
    for number, line in _lines(text):
        result, _, rest = line.partition("\t")
        test, _, reason = rest.partition("\t")
        if result not in {"pass", "fail", "skip"} or not test or test in found:
            raise WrongList(f"line {number}: not a result, a test of its own and a reason: {line}")
        found[test] = Outcome(result, reason)
    return found


def exceptions(text: str, original: Mapping[str, Outcome]) -> dict[str, str]:
    """{test: reason}: few tests, each passed by the original. Raises WrongList."""
    found: dict[str, str] = {}
    for number, line in _lines(text):
        test, _, reason = line.partition("\t")
        if not reason.strip():
            raise WrongList(f"line {number}: an exception needs a reason: {test}")
        if original.get(test, NOT_RUN).result != PASSED:
            raise WrongList(f"line {number}: the original does not pass {test}")
        if test in found:
            raise WrongList(f"line {number}: {test} is named twice")
        found[test] = reason.strip()
    if len(found) > EXCEPTIONS_MAX:
        raise WrongList(f"{len(found)} exceptions; at most {EXCEPTIONS_MAX} are allowed")
    return found


def _lines(text: str) -> list[tuple[int, str]]:
    lines = enumerate(text.splitlines(), 1)
    return [(number, line) for number, line in lines if line.strip() and line[0] != "#"]


@dataclass(frozen=True)
class Row:
    """A test on both sides."""

    test: str
    original: Outcome
    here: Outcome
    exception: str = ""

    @property
    def required(self) -> bool:
        """It must pass here, whatever the reason why it does not."""
        return self.original.result == PASSED and not self.exception

    @property
    def wrong(self) -> bool:
        return self.required and self.here.result != PASSED

    @property
    def needless(self) -> bool:
        """An exception for what passes: it must go."""
        return bool(self.exception) and self.here.result == PASSED


def compared(
    original: Mapping[str, Outcome],
    here: Mapping[str, Outcome],
    excepted: Mapping[str, str],
    selected: Sequence[str] | None = None,
) -> list[Row]:
    """A row per test of either side, in the order of their names.

    `selected` are the tests that were asked for; without it, all: what was not reported counts.
    """
    tests = set(original) | set(here) if selected is None else set(selected)
    unknown = Outcome("unknown", "not recorded")
    return [
        Row(test, original.get(test, unknown), here.get(test, NOT_RUN), excepted.get(test, ""))
        for test in sorted(tests)
    ]
