"""A base class for collections whose changes take effect later, as an agent would apply them."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Refusal
from hearth_devcloud.neutron.rest import Rest
from hearth_devcloud.store import Resource


class Pending(Rest):
    """The handlers of a collection whose objects have a PENDING status for a time after a change.

    `busy` is the HTTP status and the error type if a request changes a pending object; None allows
    such changes.
    """

    standard = False
    busy: tuple[int, str] | None = None

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        resource = super().make(call, project_id, {**values, "status": "PENDING_CREATE"})
        self.begin(call, resource)
        return resource

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        self.steady(resource)
        resource.body.update(changes)
        resource.body["status"] = "PENDING_UPDATE"
        self.begin(call, resource)

    def steady(self, resource: Resource) -> None:
        """Raise Refusal with the status and type in `busy` if the object is pending."""
        if self.busy is not None and resource.body["status"].startswith("PENDING"):
            status, type_ = self.busy
            kind = self.collection.type_name
            raise Refusal(
                status, type_, f"{kind} {resource.id} is in {resource.body['status']} state."
            )

    @staticmethod
    def begin(call: Call, resource: Resource) -> None:
        """Schedule the transition with which the agent applies the change of an object."""
        resource.hidden["fails"] = call.effects.error
        call.cloud.store.later(call.effects.slow_s or 0, resource, "network.agent")


def carried_out(cloud: Cloud, resource: Resource) -> None:
    """Complete the pending change of an object: set its final status, or remove it."""
    if resource.body["status"] == "PENDING_DELETE":
        cloud.store.remove(resource)
        return
    up = (
        resource.hidden.get("works", "ACTIVE")
        if resource.body.get("admin_state_up", True)
        else "DOWN"
    )
    resource.body["status"] = "ERROR" if resource.hidden.get("fails") else up
