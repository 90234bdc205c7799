"""A base class for collections whose changes take effect later, as an agent would apply them."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Refusal
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.store import Thing


class Pending(Rest):
    """The handlers of a collection whose objects have a PENDING status for a time after a change.

    `busy` is the HTTP status and the error type if a request changes a pending object; None allows
    such changes.
    """

    standard = False
    busy: tuple[int, str] | None = None

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        thing = super().make(call, project_id, {**values, "status": "PENDING_CREATE"})
        self.begin(call, thing)
        return thing

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        self.steady(thing)
        thing.body.update(changes)
        thing.body["status"] = "PENDING_UPDATE"
        self.begin(call, thing)

    def steady(self, thing: Thing) -> None:
        """Raise Refusal with the status and type in `busy` if the object is pending."""
        if self.busy is not None and thing.body["status"].startswith("PENDING"):
            status, type_ = self.busy
            kind = self.collection.type_name
            raise Refusal(status, type_, f"{kind} {thing.id} is in {thing.body['status']} state.")

    @staticmethod
    def begin(call: Call, thing: Thing) -> None:
        """Schedule the transition with which the agent applies the change of an object."""
        thing.hidden["fails"] = call.effects.error
        call.cloud.store.later(call.effects.slow_s or 0, thing, "network.agent")


def carried_out(cloud: Cloud, thing: Thing) -> None:
    """Complete the pending change of an object: set its final status, or remove it."""
    if thing.body["status"] == "PENDING_DELETE":
        cloud.store.remove(thing)
        return
    up = thing.hidden.get("works", "ACTIVE") if thing.body.get("admin_state_up", True) else "DOWN"
    thing.body["status"] = "ERROR" if thing.hidden.get("fails") else up
