"""Tables about the engine's behaviour, generated from its rules and constants."""

from collections.abc import Iterable, Sequence

from hearth.engine.core import walk
from hearth.engine.core.choose import AS_WANTED, BEGUN, FAILED, IN_CHARGE_BEFORE, REPLACED
from hearth.engine.core.record import Held, Record
from hearth.engine.core.retry import CREATE_RETRIES_MAX
from hearth.engine.core.rules import RequestKind, idle, refusal
from hearth.engine.worker.engine import SILENT_MAX_S
from hearth.engine.worker.node.calls import PASSING_MAX, PASSING_PAUSE_S
from hearth.engine.worker.ports import LOOK_S, ORPHAN_WATCH_S
from hearth.engine.worker.stack_worker import PARKED_S, TAKEOVERS_MAX
from hearth.model.state import Action, Status
from hearth.store.claim import HEARTBEAT_S, LEASE_S

STACK_ACTIONS = [action for action in Action if action is not Action.INIT]
BEGIN, END = "<!-- made by `hearth docs engine` -->", "<!-- end -->"


def engine_tables() -> str:
    """Return all tables of docs/engine.md as Markdown."""
    return "\n\n".join(
        [
            "### Requests by stack state\n\n" + _requests(),
            "### Lifecycle actions by resource state\n\n" + _lifecycle_actions(),
            "### The record in charge of a name\n\n" + _scores(),
            "### Times and limits\n\n" + _numbers(),
        ]
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)


def _requests() -> str:
    """Return the table of responses to each request in each stack state.

    States with the same responses share a row.
    """
    by_answers: dict[tuple[str, ...], list[str]] = {}
    for action in STACK_ACTIONS:
        for status in Status:
            answers = tuple(_answer(request, action, status) for request in RequestKind)
            by_answers.setdefault(answers, []).append(f"{action}_{status}")
    head = ["state", *(request.value.replace("_", " ") for request in RequestKind)]
    return _table(head, ([", ".join(states), *answers] for answers, states in by_answers.items()))


def _answer(request: RequestKind, action: Action, status: Status) -> str:
    if (problem := refusal(request, "s", action, status)) is not None:
        return "409" if problem.kind == "ActionInProgress" else "400"
    if idle(request, action, status):
        return "nothing to do"
    if request is RequestKind.DELETE and action is Action.DELETE and status is Status.IN_PROGRESS:
        return "joins it"
    if request in (RequestKind.CANCEL, RequestKind.CANCEL_WITHOUT_ROLLBACK):
        return "stops it"
    return "takes over" if status is Status.IN_PROGRESS else "accepted"


def _lifecycle_actions() -> str:
    states: dict[tuple[str, ...], list[str]] = {}
    for action in Action:
        for status in (Status.COMPLETE, Status.FAILED):
            if action in (Action.ROLLBACK, Action.RESTORE):
                continue
            if (action, status) in ((Action.INIT, Status.FAILED), (Action.DELETE, Status.COMPLETE)):
                continue
            record = Record(
                "i", "n", "T", 1, 0.0, action, status, physical_id="p", held=Held(reference="p")
            )
            answers = tuple(
                walk.verdict(record, walked, handled=True).value for walked in sorted(walk.WALKS)
            )
            states.setdefault(answers, []).append(f"{action}_{status}")
    head = ["state of the resource", *(action.lower() for action in sorted(walk.WALKS))]
    return _table(head, ([", ".join(names), *answers] for answers, names in states.items()))


def _scores() -> str:
    lines = [
        ("failed", FAILED),
        ("was replaced", REPLACED),
        ("was in charge when the operation began", f"+{IN_CHARGE_BEFORE}"),
        (
            "has the desired definition, or was in charge in the revision of a rollback",
            f"+{AS_WANTED}",
        ),
        ("was created by this operation", f"+{BEGUN}"),
    ]
    return _table(["a record that", "score"], lines)


def _numbers() -> str:
    lines = [
        ("time between two renewals of a lease", f"{HEARTBEAT_S:g} s"),
        ("validity of a lease", f"{LEASE_S:g} s"),
        ("time without a renewal after which an engine sends no write call", f"{SILENT_MAX_S:g} s"),
        ("time between two searches for work without a wake-up", f"{LOOK_S:g} s"),
        (
            "takeovers of a stack in one operation; one more fails the operation",
            TAKEOVERS_MAX,
        ),
        ("retries of a create", CREATE_RETRIES_MAX),
        ("retries of a call that had no effect", f"{PASSING_MAX}, {PASSING_PAUSE_S:g} s apart"),
        ("time in which Hearth searches for the orphan of a lost call", f"{ORPHAN_WATCH_S:g} s"),
        ("shortest wait for which a stack is parked", f"{PARKED_S:g} s"),
    ]
    return _table(["what", "value"], lines)
