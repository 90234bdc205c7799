"""What is wrong with an answer, and with what a process logged."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from xml.etree import ElementTree as ET

from tests.fuzz.api.canaries import Canaries, heard
from tests.fuzz.api.wire import Answer, Sent

ANSWER_S_MAX = 30.0
EXCERPT = 300
STAMPED = re.compile(r"\d{4}-\d\d-\d\d ")  # the next line of the log
ALLOWED: tuple[tuple[int, str, str], ...] = (
    (503, r"requests are in progress", "the limit of requests at once: docs/operating.md"),
)
"""Errors of servers that are no fault: the status, what their text matches, and why."""


@dataclass(frozen=True)
class Person:
    """Who asks; `tenant` is None for somebody of no tenant, who has no token or a wrong one.

    An administrator may see all tenants, so nobody listens to the answers.
    """

    name: str
    tenant: str | None
    secrets: bool = False
    listened: bool = True


def wrong_with(
    person: Person, sent: Sent, answer: Answer, canaries: list[Canaries]
) -> tuple[str, str]:
    """Return a short name of what is wrong and an excerpt; two empty texts if it is nothing."""
    if answer.status == 0:
        return "no answer", answer.text
    if answer.seconds > ANSWER_S_MAX:
        return "late", f"{answer.seconds:.1f} s"
    if answer.status >= 500 and not _is_allowed(answer):
        return f"status {answer.status}", answer.text[:EXCERPT]
    whole = f"{answer.headers}\n{answer.text}"
    if person.listened:
        words = heard(whole, person.tenant, secrets=person.secrets, all_of=canaries)
        if words:
            return "leak", f"{answer.status}: {', '.join(sorted(set(words)))[:EXCERPT]}"
    if (words_of_form := malformed(sent, answer)) != "":
        return words_of_form, f"{answer.status} {whole[:EXCERPT]}"
    return "", ""


def _is_allowed(answer: Answer) -> bool:
    return any(
        answer.status == status and re.search(pattern, answer.text)
        for status, pattern, _ in ALLOWED
    )


def malformed(sent: Sent, answer: Answer) -> str:
    """Return what is wrong with the form of an answer; an empty text if it is nothing."""
    if "x-evil" in {name.lower() for name in answer.headers}:
        return "a header of the client"
    if "evil.example" in str(answer.headers):
        return "believes a header"
    if not answer.text:
        ours = answer.headers.get("x-openstack-request-id") is not None
        bodiless = sent.method == "HEAD" or answer.status < 400
        return "error without a body" if ours and not bodiless else ""
    kind = answer.headers.get_content_type()
    try:
        if kind == "application/json":
            found = json.loads(answer.text, parse_constant=_no_number)
        elif kind == "application/xml":
            found = ET.fromstring(answer.text)
        else:
            return "" if kind in ("text/plain", "text/html") else f"content type {kind}"
    except (ValueError, ET.ParseError, RecursionError) as problem:
        return f"not {kind}: {type(problem).__name__}"
    if answer.status >= 400 and not _explained(found):
        return "error without a message"
    return ""


def _no_number(text: str) -> float:
    raise ValueError(text)


def _explained(found: object) -> bool:
    """Whether the body of an error has a message in the form of one of the APIs."""
    if isinstance(found, ET.Element):
        return bool(found.findtext("Error/Code")) and bool(found.findtext("Error/Message"))
    if not isinstance(found, dict):
        return False
    if isinstance(several := found.get("errors"), list):
        return bool(several) and bool(several[0].get("detail"))
    error = found.get("error") or found.get("ErrorResponse", {}).get("Error")
    return isinstance(error, dict) and bool(error.get("message") or error.get("Message"))


def wrong_in_log(lines: Sequence[str], canaries: list[Canaries]) -> list[str]:
    """Return the tracebacks in a log, and its lines with secrets. It may contain other words: the
    reason of a failure names what failed.
    """
    found = []
    for at, line in enumerate(lines):
        if line.startswith("Traceback"):
            whole = takewhile(lambda one: not STAMPED.match(one), lines[at:])
            found.append("\n".join([*lines[max(0, at - 2) : at], *whole]))
        elif words := [
            word
            for word in heard(line, None, secrets=False, all_of=canaries)
            if "-plain-" not in word
        ]:
            found.append(f"{', '.join(words)} in: {line[:EXCERPT]}")
    return found
