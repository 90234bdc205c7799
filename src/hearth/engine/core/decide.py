"""Decide what the update node does with a record whose definition and values are known.

The decision compares the values of the last success with the desired values, never with the real
object. After a failed update it also compares the values that the update tried to write. Source:
docs/spec/engine.md, section 6.
"""

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hearth.engine.core.record import Held, Record
from hearth.engine.core.walk import unhealthy
from hearth.model.state import Action, Status
from hearth.schema.prop import Prop

Values = Mapping[str, Any]
EXTERNAL = (
    "external_id"  # the part of a definition with the id of an object that the stack does not own
)
_MAKING = (Action.INIT, Action.CREATE)
MustReplace = Callable[[Values, Values, frozenset[str]], str | None]


class Verdict(StrEnum):
    """The result of a decision: what the update node does with a record."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    KEEP = "keep"
    FAIL = "fail"


class Desired(Struct, frozen=True):
    """The desired state of a resource: its definition and its values.

    `definition` is the fingerprint of the definition, `kind` the name of the resource type, and
    `parts` the definition without the properties. `written` are the evaluated properties,
    `properties` the same with names replaced by ids. `secret` names the properties with hidden
    values, and `guarded` those with secrets of other resources.
    """

    definition: str
    kind: str
    parts: Mapping[str, Any]
    written: Mapping[str, Any]
    properties: Mapping[str, Any]
    secret: tuple[str, ...]
    metadata: Mapping[str, Any]
    deletion_policy: str
    requires: frozenset[str]
    guarded: tuple[str, ...] = ()

    @property
    def update_policy(self) -> Mapping[str, Any]:
        """The update policy, empty if there is none."""
        policy: Mapping[str, Any] = self.parts.get("update_policy", {})
        return policy


class Decision(Struct, frozen=True):
    """A verdict with its reason and the properties that differ.

    `changes` are the names of those properties. `late` is true if a replacement is needed only
    because of them. As in Heat, the old record then shows a started update that ended with
    "requires replacement". `before` are the properties from which an update starts.
    """

    verdict: Verdict
    reason: str = ""
    changes: frozenset[str] = frozenset()
    late: bool = False
    before: Values = {}


def decide(
    record: Record,
    desired: Desired,
    schema: Mapping[str, Prop],
    *,
    lost: bool,
    must_replace: MustReplace,
    nested: bool = False,
    always: bool = False,
    check_failed: bool = True,
    substitute: bool = False,
) -> Decision:
    """Return the decision for a record at its update node.

    `schema` are the properties of the type. `lost`: after a failure only a replacement helps.
    `must_replace` returns why the type requires a replacement for these changes, or None. `nested`:
    the resource has a nested stack, which must be updated even if no property differs. `always`:
    every update replaces resources of the type. `check_failed`: a failed check is a reason to
    replace. `substitute`: the desired type can take over an object of the former type.
    """
    if record.new:
        return Decision(Verdict.CREATE)
    recorded = record.held
    if (
        not recorded.kind and EXTERNAL in desired.parts
    ):  # the check of an external object failed before it was adopted
        return Decision(Verdict.CREATE)
    if recorded.kind != desired.kind and not substitute:
        return Decision(Verdict.REPLACE, f"the type changed from {recorded.kind} to {desired.kind}")
    outside, desired_outside = recorded.parts.get(EXTERNAL), desired.parts.get(EXTERNAL)
    if outside != desired_outside:
        subject = f"Update to property external_id of {record.name} ({record.type})"
        return Decision(Verdict.FAIL, f"{subject} is not supported.")
    if outside is not None:  # after a failed first check the object is not adopted yet
        return Decision(Verdict.CREATE if recorded.reference is None else Verdict.KEEP)
    if record.action is Action.DELETE:
        return Decision(Verdict.REPLACE, "its delete has already begun")
    if unhealthy(record) and check_failed:
        return Decision(Verdict.REPLACE, "its last check failed")
    if record.failed and lost:
        return Decision(Verdict.REPLACE, why_lost(record))
    if always:
        return Decision(Verdict.REPLACE, "every update replaces resources of this type")
    changes = to_write(recorded, desired.properties)
    if not changes and not nested and desired.parts == recorded.parts:
        return Decision(Verdict.KEEP)
    return _with_change(record, desired, changes, schema, must_replace)


def _with_change(
    record: Record,
    desired: Desired,
    changes: frozenset[str],
    schema: Mapping[str, Prop],
    must_replace: MustReplace,
) -> Decision:
    frozen = sorted(n for n in changes if n in schema and schema[n].immutable)
    if frozen:
        subject = f"Update to properties {', '.join(frozen)} of {record.name} ({record.type})"
        return Decision(Verdict.FAIL, f"{subject} is not supported.")
    if reason := must_replace(record.held.properties, desired.properties, changes):
        return Decision(Verdict.REPLACE, reason, changes, late=True)
    fixed = sorted(n for n in changes if n in schema and not schema[n].update_allowed)
    if fixed:
        reason = f"{', '.join(fixed)} cannot be changed in place"
        return Decision(Verdict.REPLACE, reason, changes, late=True)
    before = record.held.properties
    return Decision(Verdict.UPDATE, ", ".join(sorted(changes)), changes, before=before)


def why_lost(record: Record) -> str:
    """Return the reason to replace a failed record that no update can mend."""
    failed = f"its {record.action} failed"
    if never_made(record):
        return failed
    return f"{failed}, and its object is gone or in an error state"


def never_made(record: Record) -> bool:
    """Return whether no create of the record has ever succeeded, whatever failed after it."""
    return record.action in _MAKING or record.held.reference is None


def was_made(record: Record) -> bool:
    """Return whether a create of the record has succeeded, also if it was the last action."""
    is_made = record.action is Action.CREATE and record.status is Status.COMPLETE
    return record.held.reference is not None and (is_made or not never_made(record))


def must_examine(record: Record) -> bool:
    """Return whether the object of a failed record must be read before the decision.

    That is so unless the failed action was a create, or an update that the cloud refused: then the
    object is as the last success left it.
    """
    if not record.failed or never_made(record):
        return False
    return record.action is not Action.UPDATE or record.held.attempted is not None


def as_found(record: Record, real: Values, desired: Values, only_grow: Collection[str]) -> Record:
    """Return the record of a failed update with what the update really left.

    `real` are the values read from the object. A value that no update can lower stays if the update
    goes back to the value of the last success; so it counts as that value.
    """
    recorded = record.held
    actual = dict(real)
    for name in real.keys() & set(only_grow):
        before = recorded.properties.get(name)
        if desired.get(name) == before and _larger(real[name], before):
            actual[name] = before
    attempted = None if recorded.attempted is None else {**recorded.attempted, **actual}
    return record.having(
        held=recorded.having(properties={**recorded.properties, **actual}, attempted=attempted)
    )


def to_write(recorded: Held, desired: Values) -> frozenset[str]:
    """Return the names of the properties that an update must write.

    These are the properties whose desired value differs from the value of the last success, or from
    the value that a failed update tried to write.
    """
    changes = differing(recorded.properties, desired)
    if recorded.attempted is None:
        return changes
    return changes | differing(recorded.attempted, desired)


def updatable(
    schema: Mapping[str, Prop], real: Values, recorded: Values, only_grow: Collection[str]
) -> Values:
    """Return the real values of the properties that an update can change back to the recorded ones.

    `only_grow` names those that no update can lower. The other real values are ignored: an object
    is not replaced because somebody has changed it.
    """
    return {
        name: value
        for name, value in real.items()
        if name in schema
        and schema[name].update_allowed
        and not (name in only_grow and _larger(value, recorded.get(name)))
    }


def _larger(real: Any, recorded: Any) -> bool:
    return recorded is not None and real is not None and float(real) > float(recorded)


def differing(before: Values, after: Values) -> frozenset[str]:
    """Return the keys whose values differ between two maps; a missing key counts as a null
    value.
    """
    if before == after:
        return frozenset()
    names = before.keys() | after.keys()
    return frozenset(n for n in names if before.get(n) != after.get(n))


def provably_kept(record: Record, definition: str) -> bool:
    """Return whether the record stays unchanged if all records that it requires stay unchanged.

    `definition` is the fingerprint of the desired definition.
    """
    return (
        record.status is Status.COMPLETE
        and record.action not in (Action.INIT, Action.DELETE, Action.SUSPEND)
        and record.until is None
        and record.replaced_by is None
        and record.held.definition == definition
        and record.held.attempted is None
        and not record.held.asleep
        and not record.held.unhealthy
    )
