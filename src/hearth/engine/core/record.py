"""A record: Hearth's data on one physical resource, existing or planned.

Records are immutable: each change creates a new object, and an engine loads thousands of them at
once.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hearth.model.state import Action, Status

COLLECTED = frozenset({"attributes", "outputs", "outputs_list"})
"""The attributes of a group that have an entry for each attribute of the members."""


class Held(Struct, frozen=True, omit_defaults=True):
    """The definition and the results of the last successful action on a record.

    An unfinished or failed create already has its desired values here, but no `definition`.
    `definition` is the fingerprint of the definition, `kind` the name of its type, and `parts` the
    definition without the properties. `written` are the evaluated properties, `properties` the same
    with names replaced by ids. `secret` names the properties with hidden values, `guarded` those
    with secrets of other resources. `guarded_outputs` names the outputs of a nested stack, and the
    attributes of its resources, with hidden values or secrets, and `hidden_outputs` those of them
    with hidden values. `attributes` are the recorded values, and
    `reference` is the value of get_resource; None before the first success. `attempted` are the
    properties of a failed update: the object may have some of them already. It is None if the cloud
    refused the update, so that it changed nothing. `asleep` is true if the object is suspended but
    a later state has replaced the SUSPEND action in the record, for example because a user marked
    the resource as unhealthy. `unhealthy` is true if the last check failed, or a user marked the
    resource, but a later state has replaced the failed CHECK.
    """

    definition: str = ""
    kind: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    secret: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    guarded_outputs: tuple[str, ...] = ()
    hidden_outputs: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    reference: str | None = None
    deletion_policy: str = "Delete"
    attempted: Mapping[str, Any] | None = None
    asleep: bool = False
    unhealthy: bool = False

    def having(self, **changes: Any) -> "Held":
        return replace(self, **changes)

    def hides(self, attribute: str) -> bool:
        """Return whether an attribute of a nested stack contains a hidden value of that stack."""
        names = self.hidden_outputs
        return attribute.rpartition(".")[2] in names or bool(names and attribute in COLLECTED)


class Record(Struct, frozen=True):
    """One row of the table `resource`.

    A record is in charge of its name from revision `since` up to, but not including, revision
    `until`; if `until` is None, it is in charge now. `requires` are the ids of the records that it
    needed at its last create or update. `traversal` is the traversal that last worked on it.
    `replaces` and `replaced_by` are ids of records with the same name.
    """

    id: str
    name: str
    type: str
    since: int
    created_at: float
    action: Action = Action.INIT
    status: Status = Status.COMPLETE
    reason: str = ""
    until: int | None = None
    physical_id: str | None = None
    traversal: str | None = None
    replaces: str | None = None
    replaced_by: str | None = None
    requires: frozenset[str] = frozenset()
    held: Held = Held()
    updated_at: float | None = None

    @property
    def state(self) -> str:
        """Return the state as `ACTION_STATUS`."""
        return f"{self.action}_{self.status}"

    @property
    def failed(self) -> bool:
        return self.status is Status.FAILED

    @property
    def new(self) -> bool:
        """Return whether no call has been sent for the record yet.

        That is also true of an object that is not adopted yet, even if a check, a user or a failure
        has changed the action of its record.
        """
        begun = self.leaving or self.held.reference is not None or bool(self.held.parts)
        return self.action is Action.INIT or not (begun or self.physical_id is None)

    @property
    def leaving(self) -> bool:
        """Return whether the delete of the record has begun."""
        return self.action is Action.DELETE

    def in_charge_at(self, revision: int) -> bool:
        return self.since <= revision and (self.until is None or revision < self.until)

    def having(self, **changes: Any) -> "Record":
        return replace(self, **changes)
