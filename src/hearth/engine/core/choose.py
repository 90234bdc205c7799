"""Choose the record that is in charge of a resource name at the start of an operation.

Several records may have the same name: the one in charge, older ones that wait for clean-up, and
failed or unfinished replacements. The record with the highest score is chosen; if several have the
same score, the one that changed last. Source: docs/spec/engine.md, section 7.
"""

from collections.abc import Sequence

from hearth.engine.core.record import Record
from hearth.model.state import Action, Status

FAILED = -30
REPLACED = -1
IN_CHARGE_BEFORE = 5
AS_WANTED = 10
BEGUN = 20  # more than the sum of all scores of an older record


def choose(
    candidates: Sequence[Record],
    *,
    fingerprint: str,
    back_to: int | None,
    before: int,
    now: int | None = None,
) -> Record | None:
    """Return the record with which the operation continues; None if a new record must be created.

    `candidates` are the records with the name of the resource. `now` is the revision of this
    operation: a record that this operation created before a takeover is preferred to all others.
    Next, a rollback prefers the record that was in charge at the revision `back_to`. Any other
    operation prefers a complete record whose definition has the desired `fingerprint`, then the
    record that was in charge at the revision `before`. A record whose delete has begun is never
    chosen.
    """
    able = [record for record in candidates if record.action is not Action.DELETE]
    if len(able) < 2:  # nearly always
        return able[0] if able else None

    def score(record: Record) -> tuple[int, float]:
        points = FAILED if record.failed else 0
        points += REPLACED if record.replaced_by else 0
        points += IN_CHARGE_BEFORE if record.in_charge_at(before) else 0
        if now is not None and record.since == now and record.until is None and not record.failed:
            return points + BEGUN, record.updated_at or record.created_at
        complete = record.status is Status.COMPLETE and not record.new
        if back_to is not None:
            points += AS_WANTED if record.in_charge_at(back_to) and not record.failed else 0
        elif complete and record.held.definition == fingerprint:
            points += AS_WANTED
        return points, record.updated_at or record.created_at

    return max(able, key=score)
